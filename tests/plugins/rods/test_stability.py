"""When rods buckle and how they ring: Greenhill's and Michell's twists, Timoshenko's frequencies.

The critical twist is where the lowest eigenvalue of the exact Hessian is zero, found by secants from below.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

import minusgrad as mg
from tests.support.rods import DENSITY, SHEAR, YOUNG, rod_scene, solved

R = 5e-3
THIN = {"kind": "circle", "radius": R}
EI = YOUNG * np.pi * R**4 / 4.0
GJ = 2.0 * EI * SHEAR / YOUNG


def free_eigenvalues(simulation: mg.Simulation, held: list[int]) -> np.ndarray:
    """Eigenvalues of d2U/d(x, q)2 without the components of x that are held."""
    H = simulation.potential.hessian(["x", "q"]).toarray()
    free = np.setdiff1d(np.arange(len(H)), held)
    return np.linalg.eigvalsh(H[np.ix_(free, free)])


def critical_value(lowest: Callable[[float], float], guess: float) -> float:
    """Where `lowest` is zero, from values below `guess` in parts of it."""
    a, b = 0.9 * guess, 0.95 * guess
    at_a, at_b = lowest(a), lowest(b)
    for _ in range(8):
        c = b - at_b * (b - a) / (at_b - at_a)
        if abs(c - b) < 1e-6 * guess:
            break
        a, at_a, b = b, at_b, b + 0.9 * (c - b)
        at_b = lowest(b)
    return c


def greenhill_moment(tau: float) -> float:
    """Least M L / EI at which a rod with clamped ends under the tension tau EI / L^2 is unstable.

    EI w'''' - i M w''' - T w'' = 0 with w = w' = 0 at both ends (Greenhill 1883).
    """

    def determinant(m: float) -> float:
        root = np.sqrt(complex(4.0 * tau - m * m))
        p, q = (1j * m + root) / 2.0, (1j * m - root) / 2.0
        rows = [
            [1, 0, 1, 1],
            [0, 1, p, q],
            [1, 1, np.exp(p), np.exp(q)],
            [0, 1, p * np.exp(p), q * np.exp(q)],
        ]
        return float((np.linalg.det(np.array(rows)) / (p - q) * np.exp(-(p + q) / 2.0)).real)

    moments = np.linspace(2.0 * np.sqrt(tau) + 1e-9, 2.0 * np.sqrt(tau) + 20.0, 4001)
    signs = np.sign([determinant(m) for m in moments])
    k = int(np.flatnonzero(signs[:-1] * signs[1:] < 0)[0])
    return float(brentq(determinant, moments[k], moments[k + 1]))


def greenhill_error(n: int, tau: float) -> float:
    """The critical twist of a rod of n elements, clamped at both ends, less the exact one, relative to it."""
    exact = greenhill_moment(tau) * EI / GJ

    def lowest(angle: float) -> float:
        return float(free_eigenvalues(twisted_rod(n, tau, angle), [0, 1, 2, 3 * n + 1, 3 * n + 2])[0])

    return critical_value(lowest, exact) / exact - 1.0


def twisted_rod(n: int, tau: float, angle: float) -> mg.Simulation:
    """A straight rod under tension between clamps, twisted evenly: it is at rest, stable or not."""
    rod = {"clamps": ["first", {"end": "last", "angle": angle}]}
    holds = [{"body": "first", "field": "x"}, {"body": "last", "field": "x", "axes": "yz"}]
    state = {"elements": n, "section": THIN}
    made = mg.load(rod_scene(state, rod, tip=[tau * EI, 0.0, 0.0], hold=holds))
    fields, half = made.fields, 0.5 * angle * (np.arange(n) + 0.5) / n
    w, x, y, z = fields["q"].values.T
    c, s = np.cos(half), np.sin(half)
    fields["q"].set(np.stack([c * w - s * x, c * x + s * w, c * y - s * z, c * z + s * y], axis=1))
    fields["x"].set(fields["x"].values * (1.0 + tau * EI / (YOUNG * np.pi * R**2)))
    assert np.abs(made.potential.gradient("q")).max() < 1e-7 * EI
    assert np.abs(made.potential.gradient("x")[1:]).max() < 1e-7 * EI
    return made


def test_moment_of_greenhill():
    """Without tension 2.861 pi, 8.987; with much of it 2 sqrt(T EI)."""
    assert abs(greenhill_moment(1e-6) - 8.986819) < 1e-5
    assert abs(greenhill_moment(3000.0) / (2.0 * np.sqrt(3000.0)) - 1.0) < 0.01


def test_twist_at_which_a_rod_buckles():
    """Greenhill's critical twist under tension within 0.3 % at 40 elements."""
    assert abs(greenhill_error(40, 10.0)) < 1.2e-3


@pytest.mark.long
@pytest.mark.parametrize("tau", [1.0, 10.0, 30.0])
def test_order_of_the_critical_twist(tau):
    errors = [abs(greenhill_error(n, tau)) for n in (20, 40, 80)]
    assert errors[-1] < 1e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.15


def michell_error(n: int) -> float:
    """The critical twist of a ring of n elements, less 2 pi sqrt(3) EI / GJ, relative to it."""
    exact = 2.0 * np.pi * np.sqrt(3.0) * EI / GJ
    radius = 1.0 / (2.0 * n * np.sin(np.pi / n))

    def lowest(angle: float) -> float:
        state = {"kind": "rod_circle", "elements": n, "radius": radius, "section": THIN}
        made = solved(rod_scene(state | {"natural": {"twist": -angle}}, {"clamps": []}, hold=[]))
        return float(free_eigenvalues(made, [])[7])  # above six motions of the ring and its turn about itself

    return critical_value(lowest, exact) / exact - 1.0


def test_michells_ring():
    """A ring of a straight rod, closed after a twist, writhes from 2 pi sqrt(3) EI / GJ on (Michell 1889)."""
    errors = [abs(michell_error(n)) for n in (15, 30)]
    assert errors[1] < 1.5e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.3


def frequencies(n: int, radius: float, shear: bool) -> np.ndarray:
    """Angular frequencies of a rod between hinges."""
    section = {"kind": "circle", "radius": radius}
    held = [{"body": "first", "field": "x"}, {"body": "last", "field": "x", "axes": "yz"}]
    state = {"elements": n, "section": section, "inertia": "bending"}
    made = mg.load(rod_scene(state, {"clamps": [], "shear": shear}, hold=held))
    m = [np.repeat(made.fields[name].values, k) for name, k in (("m", 3), ("q_inertia", 4))]
    inertia = np.concatenate(m)
    H = made.potential.hessian(["x", "q"]).toarray() / np.sqrt(np.outer(inertia, inertia))
    free = np.setdiff1d(np.arange(len(H)), [0, 1, 2, 3 * n + 1, 3 * n + 2])
    return np.sqrt(np.abs(np.linalg.eigvalsh(H[np.ix_(free, free)])))


def timoshenko_frequency(mode: int, radius: float) -> float:
    """rho A w^2 W = k G A (p^2 W - p f),  rho I w^2 f = EI p^2 f + k G A (f - p W), with p = mode pi / L."""
    area, moment, p = np.pi * radius**2, np.pi * radius**4 / 4.0, mode * np.pi
    stiff = 6.0 / 7.0 * SHEAR * area
    K = np.array([[stiff * p * p, -stiff * p], [-stiff * p, YOUNG * moment * p * p + stiff]])
    return float(np.sqrt(eigh(K, np.diag([DENSITY * area, DENSITY * moment]))[0][0]))


def test_timoshenkos_frequencies():
    """Of a thick rod (L / r = 20), whose third tone is 10 % below Euler's; in pairs, of second order."""
    for mode in (1, 2, 3):
        exact = timoshenko_frequency(mode, 0.05)
        errors = []
        for n in (20, 40):
            near = np.sort(np.abs(frequencies(n, 0.05, True) / exact - 1.0))
            assert near[1] - near[0] < 1e-6
            errors.append(near[0])
        assert errors[1] < 6e-4 * mode**2
        assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1
    assert timoshenko_frequency(3, 0.05) < 0.91 * 9.0 * np.pi**2 * np.sqrt(YOUNG / DENSITY) * 0.05 / 2.0


def test_tones_of_thin_rods_and_of_twist():
    """Euler's first tone without shear."""
    found = frequencies(40, R, False)
    exact = np.pi**2 * np.sqrt(EI / (DENSITY * np.pi * R**2))
    assert np.sort(np.abs(found / exact - 1.0))[1] < 1e-3
