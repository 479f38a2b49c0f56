"""Variational steps under constraints: orders, RATTLE, momentum maps, driven ones, reactions, restarts."""

import re

import numpy as np
import pytest

from minusgrad import Hold, Node, Parameter, local_energy
from minusgrad.energies.fields import Fields, Motion
from minusgrad.energies.term import bind
from minusgrad.errors import EnergyError, UnsolvedStepError
from minusgrad.potential.constraints.constraints import Constraints
from minusgrad.potential.potential import Potential
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.variational.variational_integrator import VariationalIntegrator
from tests.support import lagrangians as books
from tests.support.lagrangians import made, reference, slope, state
from tests.support.mechanisms import weight
from tests.support.systems import system_from
from tests.support.tiers import sampled

X = [Motion("x", "v")]
COUNTS = {2: (40, 80), 4: (10, 20)}
"""Numbers of steps by order."""
TOP, SPEED = 1.0, 1.3
START = {"x": [[np.sin(TOP), 0.0, -np.cos(TOP)]], "v": [[0.0, SPEED, 0.0]]}


def spherical(dt: float, order: int, a: float = 0.0, c: float = 0.0, **options):
    """A weight on a unit sphere, which may swell by c t, heavier aloft by a z^2."""
    values = {"x": np.array(START["x"]), "v": np.array(START["v"]) + c * np.array(START["x"])}
    kept = [(books.swelling, {"tuples": [[0]], "parameters": {"r": 1.0, "c": c}})]
    given = [(books.ball, {"parameters": {"m": 1.0, "a": a}})]
    return made(values, given, dt, order, X, constraints=kept, **options)


def angles(t: float, y: np.ndarray) -> list[float]:
    """The spherical pendulum by its polar angle, its rate and its azimuth; p_phi is kept."""
    spin = np.sin(TOP) * SPEED
    s, c = np.sin(y[0]), np.cos(y[0])
    return [y[1], spin**2 * c / s**3 - books.G * s, spin / s**2]


def swelling_rate(t: float, y: np.ndarray, a: float, c: float) -> np.ndarray:
    """The weight on the swelling sphere, by hand: (M v)' = dL/dx - 2 lambda x, and d2/dt2 (x.x - r^2) = 0."""
    x, v = y[:3], y[3:]
    mass, up = 1.0 + a * x[2] ** 2, np.array([0.0, 0.0, 1.0])
    force = (a * x[2] * (v @ v) - books.G) * up - 2.0 * a * x[2] * v[2] * v
    # x.(force - 2 lambda x) / mass = c^2 - v.v
    weight = (x @ force - mass * (c * c - v @ v)) / (2.0 * x @ x)
    return np.concatenate([v, (force - 2.0 * weight * x) / mass])


@pytest.mark.parametrize("order", sampled(COUNTS, [4]))
def test_a_spherical_pendulum_converges_at_its_order_and_keeps_its_momentum(order) -> None:
    theta, _, phi = reference(angles, [TOP, 0.0, 0.0], 1.0)
    place, errors = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), -np.cos(theta)], []
    for n in COUNTS[order]:
        one = spherical(1.0 / n, order)
        one.advance(n)
        (x,), (v,) = (f.values for f in one.moving)
        errors.append(np.abs(x - place).max())
        assert x[0] * v[1] - x[1] * v[0] == pytest.approx(np.sin(TOP) * SPEED, rel=4e-15)
        assert abs(x @ v) < 1e-14
        assert one.violation() < 1e-15
    assert slope(errors) == pytest.approx(order, abs=0.1)
    assert errors[-1] < {2: 2e-4, 4: 1e-6}[order]


@pytest.mark.parametrize("order", sampled(COUNTS, []))
def test_a_driven_sphere_and_a_mass_by_place_follow_dop853_and_the_work_balances(order) -> None:
    errors, drifts, a, c = [], [], 0.4, 0.3
    first = spherical(0.1, order, a, c)
    expected, start = reference(swelling_rate, state(first), 1.0, a, c), first.energy_function()
    for n in COUNTS[order]:
        one = spherical(1.0 / n, order, a, c)
        one.advance(n)
        errors.append(np.abs(state(one) - expected).max())
        drifts.append(abs(one.energy_function() - start - one.balance["work"]))
        assert one.violation() < 2e-15
    assert slope(errors) == pytest.approx(order, abs=0.15)
    assert slope(drifts) > order - 0.3
    assert drifts[-1] < 1e-3 < abs(one.balance["work"])
    x, v = np.split(state(one), 2)
    mass = 1.0 + a * x[2] ** 2
    bent = swelling_rate(1.0, state(one), a, c)[3:]
    pulled = 2.0 * a * x[2] * v[2] * v + mass * bent - (a * x[2] * (v @ v) - books.G) * np.eye(3)[2]
    np.testing.assert_allclose(-2.0 * one.multipliers[0] * x, pulled, atol=1e-12)


@local_energy("trap", over="nodes", x=Node("m", (3,)), k=Parameter("N/m"))
def trap(x, k):
    """A spring to the origin."""
    return 0.5 * k * x[0].dot(x[0])


def chain(dt: float, nodes: int, order: int = 2, end: float | None = None, **options):
    """Rods from a node that is held, or end to end in free fall; weights of 1 kg. One end may be moved."""
    x = np.stack(
        [np.linspace(0.0, 0.8 * (nodes - 1), nodes), 0.0 * np.arange(nodes), 0.0 * np.arange(nodes)], 1
    )
    x[:, 2] = 0.6 * (np.arange(nodes) % 2)
    v = np.tile([0.2, 0.3, -0.1], (nodes, 1))
    turned = np.cross([0.3, 0.5, 0.7], x - x.mean(axis=0))
    holds = (
        [] if end is None else [Hold("hand", "x", np.array([0]), displacement=(end, 0.0, 0.0), duration=0.5)]
    )
    values = {"x": x, "v": 0.0 * v if holds else v + turned}
    kept = [(books.stick, {"tuples": [[k, k + 1] for k in range(nodes - 1)], "parameters": {"length": 1.0}})]
    given = [(books.ball, {"parameters": {"m": 1.0, "a": 0.0}})]
    return made(values, given, dt, order, X, constraints=kept, holds=holds, **options)


def spin(one) -> np.ndarray:
    return np.cross(*(f.values for f in one.moving)).sum(axis=0)


def by_rattle(x: np.ndarray, v: np.ndarray, dt: float, steps: int, k: float) -> np.ndarray:
    """The same chain by the splitting scheme with projections."""
    fields = Fields({"x": x, "v": v, "m": np.ones(len(x))})
    down = bind(weight, fields, parameters={"g": books.G})
    trapped = bind(trap, fields, parameters={"k": k})
    rods = bind(
        books.stick, fields, tuples=[[k, k + 1] for k in range(len(x) - 1)], parameters={"length": 1.0}
    )
    motions, kept = [Motion("x", "v", "m")], Constraints(fields, [rods])
    one = Integrator(
        System(Potential(fields, [down, trapped]), motions, constraints=kept), SCHEMES["leapfrog"], dt
    )
    one.advance(steps)
    return state(one)


@pytest.mark.long
@pytest.mark.parametrize("nodes", [4, 24])
def test_rods_follow_rattle_and_keep_their_momentum_maps(nodes) -> None:
    """Free fall is that of RATTLE to rounding, since the force is uniform; 24 nodes by sparse factors."""
    one = chain(0.02, nodes)
    x, v = (f.values.copy() for f in one.moving)
    before = spin(one)[2], one.momenta["x"].sum(axis=0)[:2]
    one.advance(20)
    assert spin(one)[2] == pytest.approx(before[0], rel=1e-13)
    np.testing.assert_allclose(one.momenta["x"].sum(axis=0)[:2], before[1], rtol=1e-14)
    assert one.violation() < 4e-16 * nodes
    np.testing.assert_allclose(state(one), by_rattle(x, v, 0.02, 20, 0.0), atol=1e-12 * nodes)


@pytest.mark.long
def test_rods_in_a_trap_converge_to_the_motion_of_rattle() -> None:
    apart, ends = [], []
    for n in (20, 40):
        one = chain(0.4 / n, 4, energies=[(trap, {"parameters": {"k": 30.0}})])
        other = by_rattle(*(f.values.copy() for f in one.moving), 0.4 / n, n, 30.0)
        one.advance(n)
        ends.append((state(one), other))
        apart.append(np.abs(state(one) - other).max())
    assert slope(apart) == pytest.approx(2.0, abs=0.2)
    assert apart[-1] > 1e-4
    np.testing.assert_allclose(*[(4.0 * ends[1][k] - ends[0][k]) / 3.0 for k in (0, 1)], atol=1e-4)


@pytest.mark.long
def test_a_hand_that_moves_works_by_the_rods_and_feels_their_weight() -> None:
    drifts = []
    for n in (10, 20):
        one = chain(0.3 / n, 3, 4, end=0.6)
        start = one.energy_function()
        one.advance(n)
        drifts.append(abs(one.energy_function() - start - one.balance["work"]))
    assert slope(drifts) > 3.5
    assert drifts[-1] < 1e-3 < abs(one.balance["work"])
    resting = chain(0.01, 3, 2, end=0.6)
    held = resting.reactions["x"]
    assert not held[1:].any()
    # at rest at the start nothing is accelerated along the rods: the whole force, by numpy
    x, links = resting.moving[0].values, ((0, 1), (1, 2))
    rows = np.zeros((2, 3, 3))
    for row, (i, j) in zip(rows, links, strict=True):
        row[i], row[j] = 2.0 * (x[i] - x[j]), 2.0 * (x[j] - x[i])
    g, free = rows.reshape(2, 9), np.repeat([False, True, True], 3)
    down = np.tile([0.0, 0.0, -books.G], 3)
    weights = np.linalg.solve(g[:, free] @ g[:, free].T, g[:, free] @ down[free])
    np.testing.assert_allclose(resting.multipliers, weights, rtol=1e-12)
    np.testing.assert_allclose(held[0], (g.T @ weights - down)[:3], rtol=1e-12)


@pytest.mark.parametrize("order", sampled([2, 4], [4]))
def test_a_run_in_parts_and_from_a_saved_state_has_the_same_bits(order) -> None:
    whole, parts = (chain(0.02, 3, order) for _ in range(2))
    whole.advance(8)
    for n in (1, 3):
        parts.advance(n)
    kept = parts.state(), [f.values.copy() for f in parts.moving]
    assert kept[0]["impulses"].any()
    parts.advance(4)
    np.testing.assert_array_equal(state(whole), state(parts))
    other = chain(0.02, 3, order)
    for field, values in zip(other.moving, kept[1], strict=True):
        field.set(values)
    other.restore(kept[0])
    other.advance(4)
    np.testing.assert_array_equal(state(whole), state(other))


@pytest.mark.long
def test_single_precision_follows_double_precision() -> None:
    one, other = spherical(0.01, 4, 0.4, 0.3, precision="f32"), spherical(0.01, 4, 0.4, 0.3)
    for run in (one, other):
        run.advance(20)
    assert one.violation() < 4e-7
    np.testing.assert_allclose(state(one), state(other), atol=2e-5)


@pytest.mark.long
def test_a_step_that_is_too_long_is_taken_in_parts_or_refused() -> None:
    one = spherical(1.2, 2)
    one.advance(3)
    (event,) = one.events()
    assert event["event"] == "substeps"
    assert one.violation() < 1e-14
    whole = spherical(1.2, 2, substeps=1)
    before = state(whole)
    with pytest.raises(UnsolvedStepError, match=r"step 1: is not solved at once: "):
        whole.advance(1)
    np.testing.assert_array_equal(state(whole), before)


def test_starts_are_refused_or_projected_by_name() -> None:
    def wrong(message: str, values: dict, projected: bool = False, links=((0, 1),), **options):
        fields = Fields(values)
        rods = bind(books.stick, fields, tuples=[list(k) for k in links], parameters={"length": 1.0})
        ball = bind(books.ball, fields, parameters={"m": 1.0, "a": 0.0})
        kept = Constraints(fields, [rods], {"stick"} if projected else set())

        def run():
            of, ball_alone = Potential(fields, []), Potential(fields, [ball])
            system = system_from(options, of, X, lagrangian=ball_alone, constraints=kept)
            return VariationalIntegrator(system, 0.1, **options)

        if not message:
            return run()
        with pytest.raises(EnergyError, match=re.escape(message)):
            run()
        return None

    apart = {"x": [[0.0] * 3, [1.1, 0.0, 0.0]], "v": [[0.0] * 3, [0.1, 0.2, 0.0]]}
    wrong("constraint 'stick', element 0 (nodes 0, 1): is violated at the start, got g = 0.21", apart)
    one = wrong("", apart, projected=True)
    x, v = (f.values for f in one.moving)
    np.testing.assert_allclose(x[:, 0], [0.05, 1.05], atol=1e-15)
    np.testing.assert_allclose(v, [[0.05, 0.0, 0.0], [0.05, 0.2, 0.0]], atol=1e-15)
    near = {"x": [[0.0] * 3, [1.0, 0.0, 0.0]], "v": [[0.0] * 3, [0.1, 0.2, 0.0]]}
    wrong("velocities violate it at the start, got dg/dt = 0.2", near)
    still = {"x": near["x"], "v": np.zeros((2, 3))}
    wrong("element 1 (nodes 1, 0): its gradient is a combination", still, links=((0, 1), (1, 0)))
