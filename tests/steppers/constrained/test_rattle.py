"""RATTLE against paper: pendulums, a bead on a turning hoop, rigid bodies; order, momenta, violations."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ellipk

from minusgrad import Hold
from minusgrad.plugin import Integrator
from minusgrad_elastic.rods import rod
from tests.support.mechanisms import (
    PIVOT,
    energy,
    hoop,
    mechanism,
    pendulum,
    state,
    violation,
    weight,
)

G = 9.81


def spinning(angle: float, one: Integrator) -> float:
    """The angular velocity: at a turning point it is -sin(angle) times the time that has passed since."""
    x, v = state(one)
    return float(x[1, 0] * v[1, 1] - x[1, 1] * v[1, 0])


PERIOD = 4.0 * ellipk(np.sin(1.0) ** 2)
"""Of the pendulum released at 2 rad, in units of sqrt(L / g): the complete elliptic integral."""


def late(n: int, scheme: str) -> float:
    """By how much of a period n steps are behind after one period."""
    one = pendulum(PERIOD / n, scheme)
    one.advance(n)
    return spinning(2.0, one) / (np.sin(2.0) * PERIOD)


def test_the_period_of_a_pendulum_is_the_elliptic_integral() -> None:
    """Order 2; the errors of three step sizes, extrapolated to none, leave 1e-8 of a period."""
    errors = [late(n, "leapfrog") for n in (200, 400, 800)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.01)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.002)
    once = [(4.0 * b - a) / 3.0 for a, b in pairwise(errors)]
    assert abs((16.0 * once[1] - once[0]) / 15.0) < 1e-8
    assert abs(errors[2]) > 1e-6


def test_order_four() -> None:
    errors = [late(n, "yoshida4") for n in (150, 300)]
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)


def test_a_conical_pendulum_goes_round() -> None:
    """omega^2 = g / (L cos alpha): after one round it is where it began, to second order; L_z is kept."""
    alpha = 0.7
    omega = np.sqrt(G / np.cos(alpha))
    x = np.array([[0.0, 0.0, 0.0], [np.sin(alpha), 0.0, -np.cos(alpha)]])
    v = np.array([[0.0] * 3, [0.0, omega * np.sin(alpha), 0.0]])
    errors = []
    for n in (100, 200):
        rods = [(rod, {"tuples": [[0, 1]], "data": {"length": 1.0}})]
        weights = [(weight, {"parameters": {"g": G}})]
        one = mechanism(x, v, np.ones(2), rods, 2.0 * np.pi / omega / n, weights, holds=[PIVOT])
        one.advance(n)
        place, speed = state(one)
        errors.append(np.abs(place - x).max())
        assert place[1, 0] * speed[1, 1] - place[1, 1] * speed[1, 0] == pytest.approx(
            omega * np.sin(alpha) ** 2, abs=1e-13
        )
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)
    assert errors[1] < 2e-3


def test_a_bead_on_a_turning_hoop_stays_where_cos_theta_is_g_over_r_omega_squared() -> None:
    rate = 4.0
    start = np.arccos(G / rate**2)
    errors = []
    for n in (100, 200):
        one = hoop(2.0 * np.pi / rate / n, start)
        one.advance(3 * n)
        errors.append(abs(state(one)[0][0, 2] + np.cos(start)))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)
    assert errors[1] < 1e-4
    away = hoop(2.0 * np.pi / rate / 200, start + 0.3)
    away.advance(100)
    assert abs(state(away)[0][0, 2] + np.cos(start)) > 0.1


def test_the_work_of_a_driven_constraint_is_counted() -> None:
    """The hoop lifts the bead: energy less work is kept to second order, though 10 J come in."""
    drifts = []
    for dt in (4e-3, 2e-3):
        one = hoop(dt, 0.5)
        begun = energy(one)
        one.advance(round(1.0 / dt))
        assert one.work > 9.0
        drifts.append(energy(one) - one.work - begun)
    assert drifts[0] / drifts[1] == pytest.approx(4.0, rel=0.1)
    assert abs(drifts[1]) < 1e-4


def test_the_work_of_a_support_that_pulls_a_rod_is_counted() -> None:
    pulled = Hold("pulled", "x", np.array([0]), displacement=(1.0, 0.5, 0.2), duration=1.0)
    x = np.array([[0.0] * 3, [0.6, 0.0, -0.8]])
    drifts = []
    for n in (100, 200):
        rods = [(rod, {"tuples": [[0, 1]], "data": {"length": 1.0}})]
        weights = [(weight, {"parameters": {"g": G}})]
        one = mechanism(x, 0.0 * x, np.ones(2), rods, 2.0 / n, weights, holds=[pulled])
        begun = energy(one)
        one.advance(n)
        assert one.work > 5.0
        drifts.append(energy(one) - one.work - begun)
    assert drifts[0] / drifts[1] == pytest.approx(4.0, rel=0.05)


EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
MASSES = np.array([1.0, 2.0, 0.5, 1.5])


def tetrahedron(dt: float, precision: str = "f64") -> Integrator:
    """A free rigid body of four masses and six rods, which turns and flies."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3))
    v = np.cross([0.3, 1.2, -0.4], x) + np.array([0.1, -0.2, 0.3])
    x, v = (a.astype(np.float32).astype(float) for a in (x, v))
    length = np.linalg.norm(x[EDGES[:, 0]] - x[EDGES[:, 1]], axis=1)
    kept = [(rod, {"tuples": EDGES, "data": {"length": length}})]
    return mechanism(x, v, MASSES, kept, dt, precision=precision, projected=["rod"])


def momenta(one: Integrator) -> np.ndarray:
    x, v = state(one)
    p = MASSES[:, None] * v
    return np.concatenate([p.sum(axis=0), np.cross(x, p).sum(axis=0)])


def test_a_free_rigid_body_keeps_its_momenta_and_returns() -> None:
    one = tetrahedron(0.02)
    begun, before, (x, v) = energy(one), momenta(one), state(one)
    one.advance(500)
    np.testing.assert_allclose(momenta(one), before, atol=1e-12)
    assert violation(one) < 1e-14
    assert energy(one) == pytest.approx(begun, abs=1e-5)
    assert np.abs(state(one)[0] - x).max() > 1.0
    one.dt = -0.02
    one.advance(500)
    np.testing.assert_allclose(state(one), (x, v), atol=1e-12)


def test_rigid_rotation_is_of_second_order() -> None:
    """Euler's equations by rods: against a step a quarter as long."""
    ends = []
    for n in (50, 100, 400):
        one = tetrahedron(2.0 / n)
        one.advance(n)
        ends.append(state(one)[0])
    errors = [np.abs(end - ends[-1]).max() for end in ends[:2]]
    assert errors[0] / errors[1] == pytest.approx(4.0 * 63.0 / 60.0, rel=0.05)


def test_single_precision() -> None:
    one = tetrahedron(0.02, "f32")
    before = momenta(one)
    one.advance(200)
    assert violation(one) < 1e-6
    np.testing.assert_allclose(momenta(one), before, atol=2e-4)


@pytest.mark.long
def test_constraints_do_not_drift_in_100_000_steps() -> None:
    one = tetrahedron(0.02)
    before = momenta(one)
    for _ in range(100):
        one.advance(1000)
        assert violation(one) < 1e-12
    np.testing.assert_allclose(momenta(one), before, atol=1e-10)


def test_bits_do_not_depend_on_how_steps_are_divided() -> None:
    one, other = pendulum(0.05), pendulum(0.05)
    one.advance(20)
    for n in (1, 12, 7):
        other.advance(n)
    for a, b in zip(state(one), state(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_saved_state_goes_on_with_the_same_bits() -> None:
    """The multipliers are state: without them a step begins elsewhere and rounds otherwise."""
    one, other = pendulum(0.05), pendulum(0.05)
    one.advance(13)
    saved, (x, v) = one.state(), state(one)
    assert np.abs(saved["multipliers"]).max() > 0.0
    other.potential.fields["x"].set(x)
    other.potential.fields["v"].set(v)
    other.restore(saved)
    one.advance(9)
    other.advance(9)
    for a, b in zip(state(one), state(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_run_is_resumed_through_divided_steps() -> None:
    """Every step is taken in four substeps; the resumed run has the bits of the one that was not cut."""
    x, v = np.array([[0.0] * 3, [1.0, 0.0, 0.0]]), np.array([[0.0] * 3, [0.0, 30.0, 0.0]])
    rods = [(rod, {"tuples": [[0, 1]], "data": {"length": 1.0}})]
    whole, cut, other = (mechanism(x, v, np.ones(2), rods, 0.1, holds=[PIVOT]) for _ in range(3))
    whole.advance(5)
    cut.advance(2)
    saved, places = cut.state(), state(cut)
    for name, values in zip("xv", places, strict=True):
        other.potential.fields[name].set(values)
    other.restore(saved)
    other.step = cut.step
    other.advance(3)
    assert other.events() == [{"event": "substeps", "steps": [[3, 4], [4, 4], [5, 4]]}]
    for a, b in zip(state(whole), state(other), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(whole.state()["multipliers"], other.state()["multipliers"])


def test_a_step_that_does_not_reach_the_constraint_is_divided() -> None:
    """A mass that flies 3 m along the tangent in a step, at a rod of 1 m."""
    x, v = np.array([[0.0] * 3, [1.0, 0.0, 0.0]]), np.array([[0.0] * 3, [0.0, 30.0, 0.0]])
    rods = [(rod, {"tuples": [[0, 1]], "data": {"length": 1.0}})]
    one = mechanism(x, v, np.ones(2), rods, 0.1, holds=[PIVOT])
    one.advance(3)
    assert one.events() == [{"event": "substeps", "steps": [[1, 4], [2, 4], [3, 4]]}]
    assert one.events() == []
    assert violation(one) < 1e-14
    place, speed = state(one)
    assert place[1, 0] * speed[1, 1] - place[1, 1] * speed[1, 0] == pytest.approx(30.0, abs=1e-12)
    assert one.time == pytest.approx(0.3)
