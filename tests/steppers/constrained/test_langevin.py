"""Constrained Langevin dynamics (g-BAOAB) against the statistics of a plane pendulum."""

import numpy as np
import pytest
from scipy.special import i0e, i1e

from minusgrad import Hold
from minusgrad.steppers.timed.heat_bath import Bath
from minusgrad_elastic.rods import rod
from tests.support.mechanisms import energy, mechanism, state, violation, weight

PENDULUMS = 400
KT = 0.5


def pendulums(dt: float, friction: float = 1.0, seed: int = 1):
    """Pendulums of 1 m, 1 kg and g = 1 m/s^2 beside each other, hanging at rest: a group of each."""
    n = np.arange(PENDULUMS)
    tops = np.stack([3.0 * n, 0.0 * n], axis=1)
    x = np.concatenate([tops, tops - [0.0, 1.0]])
    rods = [(rod, {"tuples": np.stack([n, n + PENDULUMS], axis=1), "data": {"length": 1.0}})]
    weights = [(weight, {"parameters": {"g": 1.0}})]
    held, bath = Hold("tops", "x", n), Bath(friction, KT, seed)
    return mechanism(x, 0.0 * x, np.ones(len(x)), rods, dt, weights, holds=[held], bath=bath)


def test_angles_and_speeds_have_their_distributions() -> None:
    """p(theta) ~ exp(cos(theta) / kT): the mean cosine is I_1 / I_0 of 1 / kT; one degree of freedom each."""
    one = pendulums(0.1)
    one.advance(150)
    cosines, energies = [], []
    for _ in range(60):
        one.advance(10)
        x, v = state(one)
        cosines.append((x[:PENDULUMS, 1] - x[PENDULUMS:, 1]).mean())
        energies.append((v[PENDULUMS:] ** 2).sum(axis=1).mean())
    assert violation(one) < 1e-14
    expected = i1e(1.0 / KT) / i0e(1.0 / KT)
    assert np.mean(cosines) == pytest.approx(expected, abs=0.02)
    assert np.mean(energies) == pytest.approx(KT, rel=0.03)


def test_velocities_stay_tangent() -> None:
    one = pendulums(0.1)
    one.advance(20)
    x, v = state(one)
    along = ((x[:PENDULUMS] - x[PENDULUMS:]) * v[PENDULUMS:]).sum(axis=1)
    assert np.abs(along).max() < 1e-14
    assert np.abs(v[PENDULUMS:]).max() > 0.5


def test_the_heat_of_the_bath_is_counted() -> None:
    """Energy less heat is kept to second order."""
    drifts = []
    for n in (40, 80):
        one = pendulums(2.0 / n)
        begun = energy(one)
        one.advance(n)
        heat = one.balance["heat"]
        assert heat > 50.0
        drifts.append(abs(energy(one) - heat - begun))
    assert drifts[1] < 0.6 * drifts[0]
    assert drifts[1] < 0.1


def test_saved_baths_go_on_with_the_same_bits() -> None:
    one, other = pendulums(0.1), pendulums(0.1)
    one.advance(7)
    saved, (x, v) = one.state(), state(one)
    other.potential.fields["x"].set(x)
    other.potential.fields["v"].set(v)
    other.restore(saved)
    for some in (one, other):
        some.advance(6)
    np.testing.assert_array_equal(state(one), state(other))
