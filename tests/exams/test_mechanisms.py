"""Mechanisms of the books: a double pendulum by angles, rods and springs; the top of Lagrange."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ellipk

from minusgrad.energies.fields import Fields, Hold, Motion
from minusgrad.energies.lagrangian import lagrangian
from minusgrad.energies.local_energy import local_energy
from minusgrad.energies.roles import Node, Parameter, Velocity
from minusgrad.energies.term import bind
from minusgrad.plugin import ti
from minusgrad.potential.potential import Potential
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support import lagrangians as books
from tests.support.lagrangians import made, slope
from tests.support.mechanisms import weight

ANGLES, RATES = np.array([2.0, 1.5]), np.array([0.3, -0.2])


def places(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pivot and both bobs in space, and their velocities, from angles and rates."""
    arms = np.stack([np.sin(q), 0.0 * q, -np.cos(q)], axis=1)
    turned = np.stack([np.cos(q) * v, 0.0 * q, np.sin(q) * v], axis=1)
    return tuple(np.concatenate([np.zeros((1, 3)), np.cumsum(one, axis=0)]) for one in (arms, turned))


def by_angles(n: int) -> np.ndarray:
    """Places after 1 s."""
    one = made(
        {"q": [ANGLES], "v": [RATES]}, [(books.double_pendulum, {"parameters": {"m": 1.0}})], 1.0 / n, 4
    )
    one.advance(n)
    return places(*(f.values[0] for f in one.moving))[0]


def by_rods(n: int) -> np.ndarray:
    x, v = places(ANGLES, RATES)
    balls = [(books.ball, {"parameters": {"m": 1.0, "a": 0.0}})]
    rods = [(books.stick, {"tuples": [[0, 1], [1, 2]], "parameters": {"length": 1.0}})]
    pivot, motions = [Hold("pivot", "x", np.array([0]))], [Motion("x", "v")]
    one = made({"x": x, "v": v}, balls, 1.0 / n, 4, motions, constraints=rods, holds=pivot)
    one.advance(n)
    return one.moving[0].values


@local_energy("stiff", over=2, x=Node("m", (3,)), k=Parameter("N/m"))
def stiff(x, k):
    """A spring of 1 m."""
    r = x[0] - x[1]
    longer = ti.sqrt(r.dot(r)) - 1.0
    return 0.5 * k * longer * longer


def by_springs(k: float, n: int) -> np.ndarray:
    x, v = places(ANGLES, RATES)
    fields, motions = Fields({"x": x, "v": v, "m": np.ones(3)}), [Motion("x", "v", "m")]
    down = bind(weight, fields, parameters={"g": books.G})
    springs = bind(stiff, fields, tuples=[[0, 1], [1, 2]], parameters={"k": k})
    holds = Holds(fields, [Hold("pivot", "x", np.array([0]))], motions)
    one = Integrator(
        System(Potential(fields, [down, springs]), motions, holds=holds), SCHEMES["yoshida4"], 1.0 / n
    )
    one.advance(n)
    return fields["x"].values


@pytest.mark.long
def test_a_double_pendulum_by_angles_by_rods_and_by_springs_is_one() -> None:
    """Order 4 of both variational ones; springs are as far from rods as they are soft."""
    exact = by_angles(1600)
    rods = [np.abs(by_rods(n) - exact).max() for n in (50, 100)]
    angles = [np.abs(by_angles(n) - exact).max() for n in (50, 100)]
    assert slope(rods) == pytest.approx(4.0, abs=0.2)
    assert slope(angles) == pytest.approx(4.0, abs=0.2)
    assert max(rods[-1], angles[-1]) < 1e-6
    soft = [np.abs(by_springs(k, 8000) - exact).max() for k in (1e5, 4e5)]
    assert soft[0] / soft[1] == pytest.approx(4.0, rel=0.15)
    assert soft[1] < 1e-3


I1, I3, WEIGHT = 0.8, 0.3, 2.5


@lagrangian("top", over="nodes", q=Node("rad", (3,)), v=Velocity("rad/s", (3,)), w=Parameter("J"))
def top(q, v, w):
    """A symmetric top by Euler's angles: from the vertical, of precession, of spin; w = m g l."""
    c, s = ti.cos(q[0][0]), ti.sin(q[0][0])
    spin = v[0][2] + v[0][1] * c
    return 0.4 * (v[0][0] ** 2 + v[0][1] ** 2 * s**2) + 0.15 * spin**2 - w * c


@pytest.mark.long
def test_the_top_of_lagrange_nods_and_precesses_as_the_elliptic_integrals_say() -> None:
    """u = cos theta obeys u'^2 = f(u), a cubic, between two roots; phi' = (p_phi - p_psi u) / (I1 s^2)."""
    theta, rates = 0.6, np.array([0.0, 0.4, 9.0])
    spin = I3 * (rates[2] + rates[1] * np.cos(theta))
    turn = I1 * rates[1] * np.sin(theta) ** 2 + spin * np.cos(theta)
    high = 0.5 * I1 * (rates[1] * np.sin(theta)) ** 2 + WEIGHT * np.cos(theta)
    u = np.polynomial.Polynomial([0.0, 1.0])
    f = 2.0 / I1 * (high - WEIGHT * u) * (1.0 - u * u) - ((turn - spin * u) / I1) ** 2
    low, up, beyond = np.sort(f.roots().real)
    assert up == pytest.approx(np.cos(theta), abs=1e-12)
    lead = 2.0 * WEIGHT / I1
    period = 4.0 * ellipk((up - low) / (beyond - low)) / np.sqrt(lead * (beyond - low))

    def precession(a: float) -> float:
        here = low + (up - low) * np.sin(a) ** 2
        speed = (turn - spin * here) / (I1 * (1.0 - here * here))
        return 2.0 * speed / np.sqrt(lead * (beyond - here))

    swept = 2.0 * quad(precession, 0.0, np.pi / 2.0, epsabs=1e-13, epsrel=1e-13)[0]
    errors = []
    for n in (50, 100, 200):
        one = made(
            {"q": [[theta, 0.0, 0.0]], "v": [rates]}, [(top, {"parameters": {"w": WEIGHT}})], period / n, 4
        )
        before = one.momenta["q"][0, 1:].copy()
        assert before == pytest.approx([turn, spin], rel=1e-14)
        one.advance(n)
        np.testing.assert_array_equal(one.momenta["q"][0, 1:], before)
        q = one.moving[0].values[0]
        errors.append(max(abs(q[0] - theta), abs(q[1] - swept)))
        assert one.blocks
    assert slope(errors) == pytest.approx(4.0, abs=0.2)
    assert errors[-1] < 1e-7
