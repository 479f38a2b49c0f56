"""Tables of the embedded-atom method in files of LAMMPS: `setfl` (alloy, Finnis-Sinclair) and `funcfl`.

    setfl      lines 1 to 3    comments
               line 4          number of elements, their symbols line 5          nrho, drho, nr, dr, cutoff
               each element    a line with atomic number, mass, lattice constant, lattice; nrho numbers
               F(rho);
                               nr numbers of the density that it gives, to all elements alike (alloy), or nr
                               for each element in turn (Finnis-Sinclair)
               pairs           nr numbers r phi(r) for i = 1, 2, ... and j = 1 ... i
    funcfl     line 1          a comment
               line 2          atomic number, mass, lattice constant, lattice
               line 3          nrho, drho, nr, dr, cutoff
               tables          nrho numbers F(rho), nr of the effective charge Z(r), nr of the density

The two kinds of `setfl` are told from each other by how many numbers a file has. Lengths are in angstrom,
energies in eV or kcal/mol (`file_lines`), Z so that r phi = 27.2 eV 0.529 angstrom Z_i Z_j. Source: LAMMPS
22 Jul 2025, documentation of `pair_style eam`.
"""

from typing import Any

import numpy as np

from minusgrad.plugin import printable

from .file_lines import FileLines
from .splines import FEWEST

_SYMBOLS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb "
    "Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu "
    "Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db "
    "Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
SYMBOLS = tuple(_SYMBOLS.split())
"""Of the elements, by atomic number from 1."""


def read_eam(file: str, data: bytes) -> dict[str, Any]:
    """In the child: the tables of a file, with `form`: "alloy", "fs" or "funcfl".

    `elements`, `masses` (N,), `units`, `drho`, `dr`, `cutoff`, `embedding` (N, nrho), and of `setfl`
    `density` (N, N, nr), what the first element gives to the second one, and `products` (N, N, nr), r phi; of
    `funcfl` `density` (1, 1, nr) and `charge` (nr,).

    Raises `UserError` with the line for a file of another kind and for tables that are cut off.
    """
    lines = FileLines(file, data)
    read = {"units": lines.units()}
    if _is_setfl(lines.lines):
        return read | _setfl(lines)
    if _is_funcfl(lines.lines):
        return read | _funcfl(lines)
    lines.at = min(5, len(lines.lines))
    lines.fail(
        "is neither setfl (line 4: elements, line 5: nrho drho nr dr cutoff) nor funcfl (line 3: nrho drho"
        ' nr dr cutoff); for .sw and .tersoff files write kind = "stillinger_weber" or "tersoff"'
    )


def _is_sizes(line: str) -> bool:
    """True for a line of nrho, drho, nr, dr, cutoff, and for one with bad numbers among these."""
    words = line.split()
    return len(words) == 5 and words[0].lstrip("-").isdigit() and words[2].lstrip("-").isdigit()


def _is_setfl(lines: list[str]) -> bool:
    words = lines[3].split() if len(lines) > 4 else []
    return bool(words) and words[0].isdigit() and len(words) > 1 and _is_sizes(lines[4])


def _is_funcfl(lines: list[str]) -> bool:
    return len(lines) > 3 and lines[1].split()[:1] != [] and _is_sizes(lines[2])


def _sizes(lines: FileLines) -> tuple[int, int, dict[str, float]]:
    """nrho, nr, and the spacings and the cutoff, of the next line."""
    words = lines.words("nrho, drho, nr, dr and cutoff")
    nrho, nr = (lines.whole(words[k], name, FEWEST) for k, name in ((0, "nrho"), (2, "nr")))
    found = {name: lines.number(words[k], name) for k, name in ((1, "drho"), (3, "dr"), (4, "cutoff"))}
    for name, value in found.items():
        if value <= 0.0:
            lines.fail(f"{name} must be positive, got {value:g}; correct it")
    if (end := (nr - 1) * found["dr"]) < 0.99 * found["cutoff"] - found["dr"]:
        lines.fail(
            f"tables must reach the cutoff {found['cutoff']:g}, got (nr - 1) dr = {end:g}; correct nr or dr"
        )
    return nrho, nr, found


def _element(lines: FileLines, name: str) -> tuple[int, float]:
    """The atomic number and the mass in the line that begins an element."""
    words = lines.words(f"the line of {name}")
    if len(words) < 2 or not words[0].isdigit():
        lines.fail(
            f"must be the atomic number, the mass and the lattice of {name}, got '{printable(words[0], 40)}';"
            " tables are cut off, or their counts are wrong"
        )
    return int(words[0]), lines.number(words[1], f"the mass of {name}", 0.0)


def _setfl(lines: FileLines) -> dict[str, Any]:
    lines.at = 3
    count, *elements = lines.words("the elements")
    if lines.whole(count, "the number of elements", 1) != len(elements):
        lines.fail(f"needs {count} symbols of elements, got {len(elements)}; correct the line")
    if twice := [one for one in elements if elements.count(one) > 1]:
        lines.fail(f"names every element once, got {twice[0]} twice; correct the line")
    nrho, nr, sizes = _sizes(lines)
    n = len(elements)
    of_alloy = n * (nrho + nr) + n * (n + 1) // 2 * nr
    given = sum(len(line.split()) for line in lines.lines[lines.at :])
    is_fs = n > 1 and 2 * given > 2 * of_alloy + n * (n - 1) * nr
    masses, embedding = np.zeros(n), np.zeros((n, nrho))
    density, products = np.zeros((n, n, nr)), np.zeros((n, n, nr))
    for i, name in enumerate(elements):
        masses[i] = _element(lines, name)[1]
        embedding[i] = lines.table(nrho, f"the embedding energy of {name}")
        for j, other in enumerate(elements if is_fs else elements[:1]):
            at = f" at {other}" if is_fs else ""
            density[i, j if is_fs else slice(None)] = lines.table(nr, f"the density of {name}{at}")
    for i, name in enumerate(elements):
        for j, other in enumerate(elements[: i + 1]):
            products[i, j] = products[j, i] = lines.table(nr, f"r phi of {name} and {other}")
    lines.refuse_more("the last pair")
    tables = {"embedding": embedding, "density": density, "products": products, "masses": masses}
    return {"form": "fs" if is_fs else "alloy", "elements": elements} | sizes | tables


def _funcfl(lines: FileLines) -> dict[str, Any]:
    if lines.units() != "metal":  # Z is in hartree and bohr, whatever the first line says
        lines.fail("units of a funcfl file must be metal, got UNITS: real; convert the file to metal", 1)
    lines.at = 1
    number, mass = _element(lines, "the element")
    if not 1 <= number <= len(SYMBOLS):
        lines.fail(f"the atomic number must be within 1..{len(SYMBOLS)}, got {number}; correct it")
    nrho, nr, sizes = _sizes(lines)
    name = SYMBOLS[number - 1]
    embedding = lines.table(nrho, f"the embedding energy of {name}")
    charge, density = lines.table(nr, f"the charge Z of {name}"), lines.table(nr, f"the density of {name}")
    lines.refuse_more("the density")
    tables = {"embedding": embedding[None], "density": density[None, None], "charge": charge}
    return {"form": "funcfl", "elements": [name], "masses": np.array([mass])} | sizes | tables
