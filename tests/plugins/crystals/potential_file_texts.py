"""Small potential files with tables of closed forms, and a disordered crystal of two species."""

from collections.abc import Sequence
from itertools import product

import numpy as np

STRETCH = np.array([[1.02, 0.0, 0.0], [0.03, 0.99, 0.0], [-0.02, 0.04, 1.01]])
FCC = 0.5 * np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
FRACTIONS = np.sqrt([2.0, 3.0, 5.0])
CUTOFF = 4.5


def crystal(a: float, diamond: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions (n, 3) of two sheared cells by one by one, edge vectors, and species (n,) in turn."""
    basis = np.concatenate([FCC, FCC + 0.25]) if diamond else FCC
    x = a * (np.arange(2)[:, None, None] * [1.0, 0.0, 0.0] + basis + 0.125).reshape(-1, 3)
    number = np.arange(1, len(x) + 1)[:, None]
    shaken = x + 0.12 * a * (number * FRACTIONS % 1.0 - 0.5)
    return shaken @ STRETCH, np.diag([2.0 * a, a, a]) @ STRETCH, np.arange(len(x)) * 3 // 2 % 2


def closed_forms(i: int, j: int, r: np.ndarray, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F of species i, the density of i at j, and r phi of both, which is symmetric, at these places."""
    end = np.maximum(1.0 - r / CUTOFF, 0.0) ** 2
    F = -(1.5 + 0.4 * i) * np.sqrt(rho + 0.1 + 0.2 * i) + 0.03 * rho
    density = (30.0 + 7.0 * i + 3.0 * i * j) * np.exp(-0.8 * r) * end
    return F, density, (60.0 + 15.0 * (i + j) + 9.0 * i * j) * np.exp(-1.9 * r) * r * end


def numbers(values: np.ndarray, each: int = 5) -> str:
    rows = (values[k : k + each] for k in range(0, len(values), each))
    return "".join(" ".join(repr(float(one)) for one in row) + "\n" for row in rows)


def setfl(
    elements: Sequence[str] = ("Ni", "Al"), fs: bool = False, nrho: int = 23, nr: int = 41, most: float = 16.0
) -> str:
    """A file of alloy, or of Finnis and Sinclair; most: the last density."""
    r, rho, n = np.linspace(0.0, CUTOFF, nr), np.linspace(0.0, most, nrho), len(elements)
    masses = {"Ni": (28, 58.69), "Al": (13, 26.98), "Cu": (29, 63.55)}
    text = "UNITS: metal\nclosed forms\n\n" + f"{n} {' '.join(elements)}\n"
    text += f"{nrho} {float(rho[1])!r} {nr} {float(r[1])!r} {CUTOFF}\n"
    for i, name in enumerate(elements):
        text += f"{masses[name][0]} {masses[name][1]} 3.6 fcc\n" + numbers(closed_forms(i, 0, r, rho)[0])
        for j in range(n if fs else 1):
            text += numbers(closed_forms(i, j, r, rho)[1])
    for i, j in product(range(n), range(n)):
        text += numbers(closed_forms(i, j, r, rho)[2]) if j <= i else ""
    return text


def funcfl(number: int, nrho: int, nr: int, most: float, end: float) -> str:
    """A file of one element, with an effective charge Z(r); its tables end 0.3 angstrom beyond the cutoff."""
    r, rho, i = np.linspace(0.0, end, nr), np.linspace(0.0, most, nrho), number % 2
    F, density, _ = closed_forms(i, 0, r, rho)
    charge = (6.0 + i) * np.exp(-0.9 * r) * np.maximum(1.0 - r / end, 0.0)
    sizes = f"{nrho} {float(rho[1])!r} {nr} {float(r[1])!r} {end - 0.3:.3f}"
    return f"a comment\n{number} {50.0 + i} 3.6 FCC\n{sizes}\n" + "".join(map(numbers, (F, charge, density)))


SW = """# UNITS: metal   epsilon sigma a lambda gamma costheta0 A B p q tol
Ga Ga Ga 1.20 2.10 1.6 32.5 1.2 -0.333333333333 7.917 0.72 4.0 0.0 0.0
N  N  N  1.20 1.30 1.8 32.5 1.1 -0.25 7.917 0.72 4.0 0.5 0.003
Ga Ga N  1.61 0.0  0.0 30.5 0.0 -0.333333333333 0.0   0.0  0.0 0.0 0.0
Ga N  N  2.17 1.695 1.8 32.5 1.2 -0.3
         7.917 0.72 4.0 0.0 0.0      # on two lines
N  Ga Ga 2.17 1.695 1.8 31.5 0.9 -0.4 7.917 0.72 4.0 0.0 0.0
N  Ga N  1.50 0.0   0.0 32.5 0.0 -0.35 0.0   0.0  0.0 0.0 0.0
N  N  Ga 1.50 0.0   0.0 32.5 0.0 -0.35 0.0   0.0  0.0 0.0 0.0
Ga N  Ga 1.61 0.0   0.0 30.5 0.0 -0.333333333333 0.0   0.0  0.0 0.0 0.0
"""
SILICON_SW = "Si Si Si 2.1683 2.0951 1.80 21.0 1.20 -0.333333333333 7.049556277 0.6022245584 4.0 0.0 0.0\n"
TERSOFF = """# UNITS: metal   m gamma lambda3 c d costheta0 n beta lambda2 B R D lambda1 A
C  C  C  3.0 1.0 0.8 38049  4.3484 -.57058 .72751 0.00000015724 2.2119 346.7 1.95 0.15 3.4879 1393.6
Si Si Si 3.0 1.0 1.3 100390 16.217 -.59825 .78734 0.0000011 1.73222 471.18 2.85 0.15 2.4799 1830.8
Si Si C  1.0 0.9 0.6 100390 16.217 -.59825 0.0 0.0 0.0 0.0 2.36 0.15 0.0 0.0
Si C  C  3.0 1.0 0.0 100390 16.217 -.59825 .787340 0.0000011 1.97205 395.126 2.36 0.15 2.9839 1597.3111
C  Si Si 1.0 1.0 0.7 38049  4.3484 -.57058 .72751 0.00000015724 1.97205 390.0 2.36 0.15 2.9839 1597.3111
C  Si C  3.0 1.1 0.0 38049  4.3484 -.57058 0.0 0.0 0.0 0.0 1.95 0.15 0.0 0.0
C  C  Si 3.0 1.0 0.0 38049  4.3484 -.57058 0.0 0.0 0.0 0.0 2.36 0.15 0.0 0.0
Si C  Si 3.0 1.0 0.0 100390 16.217 -.59825 0.0 0.0 0.0 0.0 2.85 0.15 0.0 0.0
"""
SILICON_TERSOFF = (
    "Si Si Si 3.0 1.0 1.7322 100390 16.217 -.59825 .78734 1.1e-6 1.7322 471.18 2.85 0.15 2.4799 1830.8\n"
)

FILES = {
    "NiAl.eam.alloy": setfl(),
    "NiAl.eam.fs": setfl(fs=True),
    "NiAl_short.eam.alloy": setfl(most=9.0),
    "Ni.eam": funcfl(28, 31, 50, 20.0, 4.5),
    "Al.eam": funcfl(13, 22, 37, 15.0, 4.1),
    "GaN.sw": SW,
    "Si.sw": SILICON_SW,
    "SiC.tersoff": TERSOFF,
    "Si.tersoff": SILICON_TERSOFF,
}
CASES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], float]] = {
    "alloy": ("eam/alloy", ("* * NiAl.eam.alloy Ni Al",), ("Ni", "Al"), 3.5),
    "fs": ("eam/fs", ("* * NiAl.eam.fs Ni Al",), ("Ni", "Al"), 3.5),
    "dense": ("eam/alloy", ("* * NiAl_short.eam.alloy Ni Al",), ("Ni", "Al"), 3.5),
    "funcfl": ("eam", ("1 1 Ni.eam", "2 2 Al.eam"), ("Ni", "Al"), 3.5),
    "sw": ("sw", ("* * GaN.sw Ga N",), ("Ga", "N"), 4.5),
    "tersoff": ("tersoff", ("* * SiC.tersoff Si C",), ("Si", "C"), 4.5),
    "one element, sw": ("sw", ("* * Si.sw Si Si",), ("Si", "Si"), 5.2),
    "one element, tersoff": ("tersoff", ("* * Si.tersoff Si Si",), ("Si", "Si"), 5.2),
}
"""By name: LAMMPS's pair style, its pair_coeff lines, the elements of both types, the lattice constant."""


def state(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, edge vectors and species of a case."""
    style, *_, a = CASES[name]
    return crystal(a, style in ("sw", "tersoff"))
