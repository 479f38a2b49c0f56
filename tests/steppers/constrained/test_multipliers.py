"""Multipliers against forces on paper: tensions of pendulums, the push of a hoop that turns."""

import numpy as np
import pytest

from minusgrad import Hold
from minusgrad_elastic.rods import rod
from tests.support.mechanisms import PIVOT, hoop, mechanism, state, weight

G = 9.81


def swinging(angle: float, speed: float, holds: list[Hold], **more):
    """A pendulum of 0.8 m and 1.5 kg, at an angle and an angular speed."""
    x = np.array([[0.0, 0.0], [0.8 * np.sin(angle), -0.8 * np.cos(angle)]])
    v = 0.8 * speed * np.array([[0.0, 0.0], [np.cos(angle), np.sin(angle)]])
    rods = [(rod, {"tuples": [[0, 1]], "data": {"length": 0.8}})]
    weights = [(weight, {"parameters": {"g": G}})]
    return mechanism(x, v, np.array([1.0, 1.5]), rods, 1e-3, weights, holds=holds, **more)


@pytest.mark.parametrize(("angle", "speed"), [(0.4, 0.0), (0.4, 3.0), (2.5, 1.0)])
def test_the_tension_of_a_pendulum(angle: float, speed: float) -> None:
    """T = m (g cos(angle) + L speed^2); of g = |r|^2 - L^2 it is 2 L lambda."""
    one = swinging(angle, speed, [PIVOT])
    (found,) = one.multipliers
    assert 2.0 * 0.8 * found == pytest.approx(1.5 * (G * np.cos(angle) + 0.8 * speed**2), rel=1e-12)


def test_the_tension_at_a_support_that_is_accelerated() -> None:
    """The support starts with jerk 60 displacement / duration^3: at time t its acceleration adds to g."""
    up = Hold("up", "x", np.array([0]), displacement=(0.0, 0.5), duration=1.0)
    one = swinging(0.0, 0.0, [up])
    one.advance(100)
    s = 0.1
    acceleration = 0.5 * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
    (found,) = one.multipliers
    assert 2.0 * 0.8 * found == pytest.approx(1.5 * (G + acceleration), rel=1e-12)


def test_a_turning_hoop_pushes_the_bead_by_its_coriolis_force() -> None:
    """m (r phi'' + 2 r' omega) across the plane, r the distance from the axis: 2 omega dr/dt here."""
    one = hoop(1e-3, 0.5)
    one.advance(200)
    x, v = state(one)
    along, across = np.array([np.cos(0.8), np.sin(0.8)]), np.array([-np.sin(0.8), np.cos(0.8)])
    outward = v[0, :2] @ along
    assert abs(outward) > 0.3
    _, push = one.multipliers
    assert -push == pytest.approx(2.0 * 4.0 * outward, rel=1e-9)
    assert x[0, :2] @ across == pytest.approx(0.0, abs=1e-15)


def test_multipliers_are_those_of_the_state() -> None:
    """Not of the step: a saved state has them, and asking for them does not change the run."""
    one, other = swinging(0.4, 3.0, [PIVOT]), swinging(0.4, 3.0, [PIVOT])
    for _ in range(5):
        one.advance(10)
        assert one.multipliers is not None
        one.violation()
        other.advance(10)
    np.testing.assert_array_equal(state(one), state(other))
    np.testing.assert_array_equal(one.multipliers, other.multipliers)
