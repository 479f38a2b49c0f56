"""Every material in simple extension, equibiaxial extension and simple shear, against forces on paper.

    P_i = d psi / d s_i                     principal stresses, written out for each material
    extension      F = diag(s, t, t)        t from P_2 = 0
    equibiaxial    F = diag(s, s, t)        t from P_3 = 0
    simple shear   F = 1 + g e_1 (x) e_2    P_12 = (s P_1(s, 1/s, 1) - P_2 / s) / sqrt(4 + g^2),  s - 1/s = g

Ogden 1984, Non-Linear Elastic Deformations, chapter 4. Moduli as in `stretch_energies`; nothing is taken from
the densities there, from the plugin or from the engine.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq

from minusgrad_elastic.materials.registered import MATERIALS as REGISTERED
from tests.support.single_cell import Cell
from tests.support.tiers import sampled

E, NU = 1.7, 0.3
MU, LAM = E / 2.6, E * NU / (1.3 * 0.4)
C10, C01, MOONEY_K = 0.6, 0.2, 20.0
SHEAR, EXPONENT, OGDEN_K = 0.63, 2.6, 5.0
ELASTIC = {"youngs_modulus": E, "poissons_ratio": NU}
Stretches = np.ndarray


def dilated(s: Stretches, bulk: float) -> np.ndarray:
    """Of K/2 ((J^2 - 1)/2 - ln J)."""
    J = s.prod()
    return bulk / 2.0 * (J * J - 1.0) / s


def neo_hookean_on_paper(s: Stretches) -> np.ndarray:
    return MU * (s - 1.0 / s) + LAM * np.log(s.prod()) / s


def st_venant_kirchhoff_on_paper(s: Stretches) -> np.ndarray:
    green = (s * s - 1.0) / 2.0
    return s * (2.0 * MU * green + LAM * green.sum())


def stable_neo_hookean_on_paper(s: Stretches) -> np.ndarray:
    mu, lam = 4.0 * MU / 3.0, LAM + 5.0 * MU / 6.0
    alpha = 1.0 + mu / lam - mu / (4.0 * lam)
    J = s.prod()
    return mu * s * (1.0 - 1.0 / ((s * s).sum() + 1.0)) + lam * (J - alpha) * J / s


def hencky_on_paper(s: Stretches) -> np.ndarray:
    return (2.0 * MU * np.log(s) + LAM * np.log(s.prod())) / s


def linear_corotated_on_paper(s: Stretches) -> np.ndarray:
    return 2.0 * MU * (s - 1.0) + LAM * (s.sum() - 3.0)


def fixed_corotated_on_paper(s: Stretches) -> np.ndarray:
    J = s.prod()
    return 2.0 * MU * (s - 1.0) + LAM * (J - 1.0) * J / s


def mooney_rivlin_on_paper(s: Stretches) -> np.ndarray:
    J, squares = s.prod(), s * s
    first = squares.sum()
    second = (first**2 - (squares**2).sum()) / 2.0
    of_first = J ** (-2.0 / 3.0) * (2.0 * s - 2.0 * first / (3.0 * s))
    of_second = J ** (-4.0 / 3.0) * (2.0 * s * (first - squares) - 4.0 * second / (3.0 * s))
    return C10 * of_first + C01 * of_second + dilated(s, MOONEY_K)


def ogden_on_paper(s: Stretches) -> np.ndarray:
    powers = s**EXPONENT
    return SHEAR * s.prod() ** (-EXPONENT / 3.0) * (powers - powers.sum() / 3.0) / s + dilated(s, OGDEN_K)


PAPER: dict[str, tuple[Callable[[Stretches], np.ndarray], dict[str, float]]] = {
    "neo_hookean": (neo_hookean_on_paper, ELASTIC),
    "st_venant_kirchhoff": (st_venant_kirchhoff_on_paper, ELASTIC),
    "stable_neo_hookean": (stable_neo_hookean_on_paper, ELASTIC),
    "hencky": (hencky_on_paper, ELASTIC),
    "linear_corotated": (linear_corotated_on_paper, ELASTIC),
    "fixed_corotated": (fixed_corotated_on_paper, ELASTIC),
    "mooney_rivlin": (mooney_rivlin_on_paper, {"c10": C10, "c01": C01, "bulk_modulus": MOONEY_K}),
    "ogden": (
        ogden_on_paper,
        {"shear_modulus": SHEAR, "exponent": EXPONENT, "bulk_modulus": OGDEN_K},
    ),
}
NAMES = sampled([*PAPER], ["stable_neo_hookean", "ogden"])
ENERGIES = {one.name: one for one in REGISTERED}


@cache
def cell(name: str) -> Cell:
    return Cell(ENERGIES[name], 3, **PAPER[name][1])


def turn() -> np.ndarray:
    found, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))
    return found * np.sign(np.linalg.det(found))


def free_stretch(name: str, place: Callable[[float], Stretches]) -> float:
    """t at which the last principal stress is zero."""
    return brentq(lambda t: PAPER[name][0](place(t))[2], 0.3, 2.5, xtol=1e-16, rtol=1e-15)


def assert_principal_stresses(name: str, s: Stretches) -> None:
    """P = Q diag(P_i) Q^T of F = Q diag(s) Q^T, of axes that are no axes of space."""
    Q, expected = turn(), PAPER[name][0](s)
    found = cell(name).deform(Q @ np.diag(s) @ Q.T).stress()
    assert np.abs(found - Q @ np.diag(expected) @ Q.T).max() < 1e-12 * max(np.abs(expected).max(), E)


@pytest.mark.parametrize("stretch", [0.7, 1.6])
@pytest.mark.parametrize("name", NAMES)
def test_extension(name: str, stretch: float) -> None:
    place = lambda t: np.array([stretch, t, t])  # noqa: E731
    s = place(free_stretch(name, place))
    assert (PAPER[name][0](s)[0] > 0.0) == (stretch > 1.0)
    assert_principal_stresses(name, s)


@pytest.mark.parametrize("stretch", [0.8, 1.4])
@pytest.mark.parametrize("name", NAMES)
def test_equibiaxial_extension(name: str, stretch: float) -> None:
    if name == "st_venant_kirchhoff" and stretch > 1.0:
        stretch = 1.2  # beyond, it collapses across
    place = lambda t: np.array([stretch, stretch, t])  # noqa: E731
    assert_principal_stresses(name, place(free_stretch(name, place)))


@pytest.mark.parametrize("g", [0.4, 1.5])
@pytest.mark.parametrize("name", NAMES)
def test_simple_shear(name: str, g: float) -> None:
    s = g / 2.0 + np.sqrt(1.0 + g * g / 4.0)
    stretches = np.array([s, 1.0 / s, 1.0])
    kirchhoff = stretches * PAPER[name][0](stretches)
    expected = (kirchhoff[0] - kirchhoff[1]) / np.sqrt(4.0 + g * g)
    F = np.eye(3)
    F[0, 1] = g
    assert cell(name).deform(F).stress()[0, 1] == pytest.approx(expected, rel=1e-12)
