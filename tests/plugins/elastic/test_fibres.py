"""Fibres: their stress by hand, the symmetry about their direction, and that they only pull."""

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic.materials.fibres import fibres
from tests.support.single_cell import Cell

K = {"k1": 1.3, "k2": 0.8, "dispersion": 0.1}


def cell(d: int, direction: np.ndarray, **parameters: float) -> Cell:
    return Cell(fibres, d, direction=direction, **(K | parameters))


def turned(axis: np.ndarray, angle: float) -> np.ndarray:
    """A rotation by an angle about an axis (Rodrigues)."""
    x, y, z = axis / np.linalg.norm(axis)
    W = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * W + (1.0 - np.cos(angle)) * W @ W


def pulled(d: int) -> tuple[np.ndarray, np.ndarray]:
    F = np.array([[1.3, 0.2, 0.1], [-0.1, 1.1, 0.3], [0.2, -0.05, 1.2]])[:d, :d]
    return F, np.array([1.0, 0.5, -0.4])[:d]


@pytest.mark.parametrize("k2", [0.0, 1e-6, 0.8, 5.0])
@pytest.mark.parametrize("d", [2, 3])
def test_stress_by_hand(d: int, k2: float) -> None:
    """P = k1 E exp(k2 E^2) (2 kappa F + 2 (1 - 3 kappa) F a (x) a), a of length 1."""
    F, a = pulled(d)
    unit, kappa = a / np.linalg.norm(a), K["dispersion"]
    I1, I4 = (F**2).sum() + (3 - d), ((F @ unit) ** 2).sum()
    E = kappa * (I1 - 3.0) + (1.0 - 3.0 * kappa) * (I4 - 1.0)
    slope = K["k1"] * E * np.exp(k2 * E**2)
    expected = slope * (2.0 * kappa * F + 2.0 * (1.0 - 3.0 * kappa) * np.outer(F @ unit, unit))
    body = cell(d, a, k2=k2).deform(F)
    energy = K["k1"] * (np.expm1(k2 * E**2) / (2.0 * k2) if k2 else 0.5 * E**2)
    assert body.energy() == pytest.approx(energy, rel=1e-14)
    assert np.abs(body.stress() - expected).max() < 1e-13 * np.abs(expected).max()


def test_the_material_may_be_turned_about_its_fibres_and_not_otherwise() -> None:
    F, a = pulled(3)
    body = cell(3, a)
    energy, stress = body.deform(F).energy(), body.stress()
    about = turned(a, 1.1)
    assert body.deform(F @ about).energy() == pytest.approx(energy, rel=1e-13)
    assert np.abs(body.stress() - stress @ about).max() < 1e-13 * np.abs(stress).max()
    other = turned(np.array([0.0, 0.0, 1.0]), 1.1)
    assert abs(body.deform(F @ other).energy() / energy - 1.0) > 0.1
    Q = turned(np.array([1.0, 2.0, -1.0]), 2.0)
    assert body.deform(Q @ F).energy() == pytest.approx(energy, rel=1e-13)
    assert np.abs(body.stress() - Q @ stress).max() < 1e-13 * np.abs(stress).max()


def test_neither_sign_nor_length_of_the_direction_counts() -> None:
    F, a = pulled(3)
    energies = [cell(3, factor * a).deform(F).energy() for factor in (1.0, -1.0, 37.0)]
    assert energies == pytest.approx([energies[0]] * 3, rel=1e-14)


def test_pressed_fibres_do_nothing_and_the_first_pull_has_the_stiffness_4_k1() -> None:
    """Second derivative along the fibres; at rest, where it jumps, half of it."""
    along = np.diag([1.0, 0.0, 0.0])
    body = cell(3, np.array([1.0, 0.0, 0.0]), dispersion=0.0)
    assert np.abs(body.deform(np.diag([0.8, 1.2, 1.0])).stress()).max() == 0.0
    assert np.abs(body.deform(np.eye(3)).stress()).max() == 0.0
    assert body.tangent(along)[0, 0] == pytest.approx(2.0 * K["k1"], rel=1e-13)
    assert body.deform(np.diag([1.0 + 1e-9, 1.0, 1.0])).tangent(along)[0, 0] == pytest.approx(
        4.0 * K["k1"], rel=1e-7
    )
    assert np.abs(body.deform(turned(np.array([1.0, 1.0, 0.0]), 1.0)).stress()).max() < 1e-14


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"k1": -1.0}, "k1.*fibres pull"), ({"dispersion": 0.4}, "dispersion.*a third has no direction left")],
)
def test_values_out_of_range_are_refused(parameters: dict, words: str) -> None:
    with pytest.raises(UserError, match=words):
        cell(3, np.array([1.0, 0.0, 0.0]), **parameters)
