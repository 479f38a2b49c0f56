"""Vibrations of pendula and chains of rods: frequencies on paper, stability along the constraints."""

import numpy as np
import pytest
from scipy.special import roots_laguerre

from minusgrad import Fields, Hold, Motion, Potential, bind
from minusgrad.errors import EnergyError
from minusgrad.plugin import Constraints
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.stability import constrained_modes
from minusgrad.steppers.stability.normal_modes import NormalModes, normal_modes
from tests.support.hanging_chains import rod, weight

LENGTH, G = 0.3, 9.81


def hung(rods: int, up: float = -1.0, mass: float = 0.2, count: int = 30, off: float = 0.0) -> NormalModes:
    """The modes of a chain that hangs from its first node, or stands."""
    x = np.stack([np.zeros(rods + 1), up * LENGTH * np.arange(rods + 1)], axis=1)
    x[-1, 1] += off
    fields = Fields({"x": x, "v": np.zeros_like(x), "m": np.full(rods + 1, mass)})
    motions = [Motion("x", "v", "m")]
    potential = Potential(fields, [bind(weight, fields, parameters={"m": mass, "g": G})])
    pairs = np.stack([np.arange(rods), np.arange(1, rods + 1)], axis=1)
    kept = Constraints(fields, [bind(rod, fields, tuples=pairs, data={"length": np.full(rods, LENGTH)})])
    holds = Holds(fields, [Hold("top", "x", np.array([0]))], motions)
    return normal_modes(potential, motions, holds, count=count, constraints=kept)


def test_a_pendulum() -> None:
    found = hung(1)
    assert (found.total, len(found), found.at_rest) == (1, 1, True)
    np.testing.assert_allclose(found.eigenvalues, [G / LENGTH], rtol=1e-13)
    np.testing.assert_allclose(found.shapes["x"][0], [[0.0, 0.0], [1.0 / np.sqrt(0.2), 0.0]], atol=1e-13)


def test_a_pendulum_that_stands_is_unstable() -> None:
    found = hung(1, up=1.0)
    np.testing.assert_allclose(found.eigenvalues, [-G / LENGTH], rtol=1e-13)
    assert found.unstable.all()


@pytest.mark.parametrize("dense", [800, 10], ids=["dense", "sparse"])
def test_a_hanging_chain(monkeypatch: pytest.MonkeyPatch, dense: int) -> None:
    """omega^2 = (g / l) x, with the zeros x of the Laguerre polynomial of as many masses."""
    monkeypatch.setattr(constrained_modes, "DENSE", dense)
    found = hung(20, count=5)
    assert found.total == 20
    np.testing.assert_allclose(found.eigenvalues, G / LENGTH * roots_laguerre(20)[0][:5], rtol=1e-9)
    assert found.at_rest


def test_what_is_refused() -> None:
    with pytest.raises(EnergyError, match=r"'rod', element 1 \(nodes 1, 2\): is violated at this state, got"):
        hung(2, off=0.01)
