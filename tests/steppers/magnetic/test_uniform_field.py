"""Charges in a uniform magnetic field: the helix at any step, crossed fields, and a Penning trap."""

import numpy as np
import pytest

from minusgrad import Node, Parameter, Potential, local_energy
from minusgrad.energies.magnetic_field import uniform_field
from minusgrad.engine import storage
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.stability.energy_balance import kinetic_energy
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.heat_bath import Bath
from tests.support.charges import B3, MOTION, along, exact_orbit, fields, moving, quadrupole, well
from tests.support.kepler import SHORT
from tests.support.laws import assert_order, assert_reversible, assert_splits, energy

SIZES = np.linalg.norm(B3), B3[2]
"""|B| in space and along the normal of the plane."""


def free(d: int, turn: float, scheme: str = "leapfrog", precision: str = "f64") -> Integrator:
    """Free charges that turn by about this angle in a step."""
    of = fields(d, precision=precision)
    return moving(of, scheme, 1.0, uniform_field, along(d, turn / SIZES[d == 2]))


def errors(one: Integrator, steps: int) -> tuple[float, float]:
    """The largest error of a place, in radii or the way along B, and of a velocity, in parts of it."""
    of = one.potential.fields
    B = storage.host(one.magnetic.potential.terms["field"].parameters["B"].rows)[0].astype(float)
    start = of.twin()
    speed = np.linalg.norm(start["v"].values.astype(float), axis=1, keepdims=True)
    radius = speed * start["m"].values[:, None] / np.abs(start["q"].values[:, None]) / np.linalg.norm(B)
    one.advance(steps)
    x, v = exact_orbit(start, B, steps * one.dt)
    way = np.linalg.norm(x - start["x"].values, axis=1, keepdims=True)
    return (
        float((np.abs(of["x"].values - x) / np.maximum(radius, way)).max()),
        float((np.abs(of["v"].values - v) / speed).max()),
    )


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    ("turn", "steps"),
    [
        (1e-8, 2000),
        (1e-3, 20_000),
        (0.3, 30_000),
        (1.0, 20_000),
        (2.0 * np.pi, 3000),
        (30.0, 2000),
        (100.0, 1000),
    ],
)
def test_the_helix_is_exact_at_any_step(d, turn, steps):
    """To 1e-10 after up to 16,000 turns, on either side of the angle at which the series ends."""
    place, speed = errors(free(d, turn), steps)
    assert place < 1e-10
    assert speed < 1e-10


@pytest.mark.parametrize("scheme", SHORT)
def test_every_scheme_and_both_ways_of_stepping_follow_it(scheme, launches):
    one = free(3, 0.7, scheme)
    assert one.fused == (launches == "fused")
    assert max(errors(one, 200)) < 1e-12


@pytest.mark.parametrize("d", [2, 3])
def test_in_single_precision(d, launches):
    assert max(errors(free(d, 0.5, precision="f32"), 300)) < 1e-4


def test_the_force_does_no_work():
    """|v| stays, to the rounding of 10,000 rotations, and no energy is counted."""
    one = free(3, 0.8)
    of = one.potential.fields
    before = kinetic_energy(of, MOTION, storage.host(one.inertia["x"]))
    one.advance(10_000)
    after = kinetic_energy(of, MOTION, storage.host(one.inertia["x"]))
    assert abs(after / before - 1.0) < 1e-11
    assert one.balance == {}


@local_energy("pulled", over="nodes", x=Node("m", ("d",)), q=Node("C"), k=Parameter("V/m"))
def pulled(x, q, k):
    """-q E x_0: a uniform electric field along the first axis."""
    return -k * q[0] * x[0][0]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("dt", [0.01, 1.0, 37.0])
def test_the_drift_in_crossed_fields_is_exact_at_any_step(d, dt):
    """The guiding centre x + m v x B / (q B^2) moves by E x B / B^2, whatever charge and mass."""
    of = fields(d)
    B = np.array([0.0, 0.0, 1.3])
    one = moving(of, "leapfrog", dt, uniform_field, {"B": B}, energies={pulled: 0.4})

    def centre() -> np.ndarray:
        x, v = (of[n].values for n in "xv")
        turned = np.stack([v[:, 1], -v[:, 0]], axis=1) * B[2]  # v x B
        return x[:, :2] + (of["m"].values / (of["q"].values * B[2] ** 2))[:, None] * turned

    start = centre()
    one.advance(500)
    drift = (centre() - start) / one.time
    np.testing.assert_allclose(drift, np.tile([0.0, -0.4 / 1.3], (3, 1)), atol=1e-11)


def trapped(scheme: str, dt: float) -> Integrator:
    return moving(
        fields(3), scheme, dt, uniform_field, {"B": np.array([0.0, 0.0, 6.0])}, energies={quadrupole: 1.0}
    )


def exact_trap(of, t: float) -> np.ndarray:
    """Places in a Penning trap (Brown & Gabrielse 1986, Rev. Mod. Phys. 58, 233).

    w+- = (wc +- sqrt(wc^2 - 2 wz^2)) / 2,  wc = q B / m,  wz^2 = k / m
    """
    x, v, m, q = (of[n].values for n in "xvmq")
    wc, wz = 6.0 * q / m, np.sqrt(1.0 / m)
    root = np.sqrt(wc**2 - 2.0 * wz**2)
    fast, slow = 0.5 * (wc + root), 0.5 * (wc - root)
    u, du = x[:, 0] + 1j * x[:, 1], v[:, 0] + 1j * v[:, 1]
    a = (1j * du - slow * u) / (fast - slow)  # u = a exp(-i fast t) + b exp(-i slow t)
    found = a * np.exp(-1j * fast * t) + (u - a) * np.exp(-1j * slow * t)
    return np.stack(
        [found.real, found.imag, x[:, 2] * np.cos(wz * t) + v[:, 2] / wz * np.sin(wz * t)], axis=1
    )


@pytest.mark.parametrize(
    ("scheme", "steps"), [("leapfrog", (400, 800, 1600)), ("yoshida4", (200, 400)), ("yoshida6", (100, 200))]
)
def test_a_penning_trap_at_the_order_of_the_scheme(scheme, steps, launches):
    """Its three frequencies are exact; the error against them falls with the scheme's order."""

    def error(n: int) -> float:
        one = trapped(scheme, 8.0 / n)
        expected = exact_trap(one.potential.fields.twin(), 8.0)
        one.advance(n)
        return float(np.abs(one.potential.fields["x"].values - expected).max())

    assert_order(error, SCHEMES[scheme].order, steps)


def test_a_penning_trap_keeps_its_energy():
    """For 3,000 turns of the fast motion the energy stays within 2e-3, and does not drift."""
    one = trapped("leapfrog", 0.05)
    found = []
    for _ in range(40):
        one.advance(250)
        found.append(energy(one))
    assert np.ptp(found) < 2e-3 * np.abs(found).max()
    assert abs(np.mean(found[:20]) - np.mean(found[20:])) < 3e-4 * np.abs(found).max()


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_do_not_depend_on_the_cuts(precision, launches):
    assert_splits(lambda: moving(fields(3, precision=precision), "yoshida4", 0.1, uniform_field, along(3),
                                 energies={well: 1.0}), 60)  # fmt: skip


def test_charges_outside_the_body_go_straight(launches):
    of = fields(3)
    start = of.twin()
    one = moving(of, "leapfrog", 0.1, uniform_field, along(3), body=[0, 2])
    one.advance(30)
    inside, _ = exact_orbit(start, B3, 3.0)
    np.testing.assert_allclose(of["x"].values[[0, 2]], inside[[0, 2]], atol=1e-13)
    np.testing.assert_allclose(
        of["x"].values[1], (start["x"].values + 3.0 * start["v"].values)[1], atol=1e-13
    )
    np.testing.assert_array_equal(of["v"].values[1], start["v"].values[1])


def test_a_run_against_its_direction_comes_back():
    """The step is symmetric: one of -dt undoes it. (With -v it does not: B would have to turn round, too.)"""
    of = fields(3)
    start = of["x"].values.copy()
    moving(of, "yoshida4", 0.1, uniform_field, along(3), energies={well: 1.0}).advance(50)
    assert np.abs(of["x"].values - start).max() > 0.1
    moving(of, "yoshida4", -0.1, uniform_field, along(3), energies={well: 1.0}).advance(50)
    np.testing.assert_allclose(of["x"].values, start, atol=1e-12)
    with pytest.raises(AssertionError):
        assert_reversible(moving(fields(3), "leapfrog", 0.1, uniform_field, along(3)), 40)


@pytest.mark.parametrize("body", [None, [0, 2]])
def test_a_heat_bath_acts_between_two_halves_of_the_rotation(body, launches):
    """By hand from the same bath without a field: its velocities turn before and after; Q is its heat."""
    of, dt = fields(3), 0.4
    one = moving(of, "leapfrog", dt, uniform_field, along(3), body=body, bath=Bath(0.7, 0.5, 11))
    assert one.fused == (launches == "fused")
    hand = of.twin()
    for step in range(3):
        for half in (True, False):
            inside = [0, 1, 2] if body is None else body
            x, v = exact_orbit(hand, B3, 0.5 * dt)
            straight = hand["x"].values + 0.5 * dt * hand["v"].values
            speed = hand["v"].values.copy()
            straight[inside], speed[inside] = x[inside], v[inside]
            hand["x"].set(straight)
            hand["v"].set(speed)
            if half:  # the bath of this step, whose drift is undone
                kept = hand["x"].values.copy()
                free = System(Potential(hand, []), [MOTION], bath=Bath(0.7, 0.5, 11))
                bath = Integrator(free, SCHEMES["leapfrog"], dt)
                bath.step = step
                bath.advance(1)
                hand["x"].set(kept)
    start = energy(one)
    one.advance(3)
    np.testing.assert_allclose(of["x"].values, hand["x"].values, atol=1e-13)
    np.testing.assert_allclose(of["v"].values, hand["v"].values, atol=1e-13)
    assert one.balance["heat"] == pytest.approx(energy(one) - start, abs=1e-12)
    assert abs(one.balance["heat"]) > 0.1
