"""Friction against paper: damped oscillators, nonlinear drag, solids that resist strain; and the bits.

A dissipation R(v, x, t) acts for half a step before and after the scheme's own: of second order at most. What
it takes is counted exactly, so that total - work + dissipated stays at the scheme's own order.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from minusgrad import Fields, Motion, Node, Parameter, Potential, Time, bind, local_energy, ti
from minusgrad.assembly import observers
from minusgrad.assembly.observers import Energies, Reactions, angular_momentum, momentum
from minusgrad.engine import runtime, storage
from minusgrad.errors import CheckpointError, EnergyError, NonFiniteError
from minusgrad.files.trajectory import Recorder
from minusgrad.steppers import integrator
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.moves import Moves
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.step_sequence import HalfFriction, Kick
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.move_pieces import (
    HALF_STEP,
    EnergySweep,
    JoinedPieces,
    LaunchedPieces,
    MoveLength,
    NodeLoops,
)
from minusgrad_elastic import generators, states
from minusgrad_elastic.damping import mass_damping, strain_rate_damping
from minusgrad_elastic.hyperelastic import neo_hookean
from tests.support.damage import method, text
from tests.support.held_oscillator import (
    MASS,
    REST,
    SUPPORTED,
    Dragged,
    K,
    aimed,
    assert_seen,
    dragged,
    placed,
    position,
    tangled,
    tangled_by_hand,
    velocity,
)
from tests.support.laws import assert_order, assert_splits, bits, energy, fitted_order
from tests.support.modulated_trap import trap
from tests.support.tiers import sampled

END = 2.4
ORDERS = {"symplectic_euler": 1, "leapfrog": 2, "yoshida4": 2}
STEPS = {"symplectic_euler": (200, 400), "leapfrog": (40, 80, 160), "yoshida4": (160, 320)}
DAMPED = Dragged(drag=0.6)
STRONG = Dragged(drag=2.0)
MOVED = Dragged(far=0.8, duration=1.5, drift=0.25, drag=0.6)
KINDS = pytest.mark.parametrize("kind", ORDERS)
X, V, MASSES = Node("m", ("d",)), Node("m s^-1", ("d",)), Node("kg")
MOTION = Motion("x", "v", "m")


def test_both_ways_are_taken(launches):
    assert dragged("leapfrog", 0.1, DAMPED).fused == (launches == "fused")


def assert_orders(errors: Callable[[int], np.ndarray], order: int, steps: tuple[int, ...]) -> None:
    """Each of several errors falls at this order."""
    table = np.array([errors(n) for n in steps])
    for k, column in enumerate(table.T):
        assert_order(dict(zip(steps, column, strict=True)).get, order, steps), k


# A damped oscillator ------------------------------------------------------------------------------------


def run(kind: str, motion: Dragged, d: int | None, steps: int) -> Integrator:
    stepper = dragged(kind, END / steps, motion, d)
    stepper.advance(steps)
    return stepper


def errors(kind: str, motion: Dragged, d: int | None, steps: int) -> np.ndarray:
    """Of the place, the velocity, and what friction took."""
    stepper, (x, v) = run(kind, motion, d, steps), motion.mass(END)
    found = [
        np.abs(position(stepper)[MASS] - placed(x, d)).max(),
        np.abs(velocity(stepper)[MASS] - aimed(v, d)).max(),
        abs(stepper.dissipated - motion.dissipated(END)),
    ]
    return np.array(found)


@KINDS
@pytest.mark.parametrize("motion", [DAMPED, STRONG])
def test_a_damped_oscillator(motion, kind):
    assert motion.dissipated(END) > 0.1
    assert_orders(partial(errors, kind, motion, None), ORDERS[kind], STEPS[kind])


@pytest.mark.parametrize("d", [None, 2])
def test_a_damped_oscillator_both_ways(d, launches):
    assert_orders(partial(errors, "leapfrog", DAMPED, d), 2, (24, 48))


@KINDS
def test_a_dashpot_to_a_moved_support(kind):
    """Its reaction has the dashpot's part, and so has the work; both ends of the dashpot dissipate."""

    def of_all(steps: int) -> np.ndarray:
        stepper, seen = dragged(kind, END / steps, MOVED), Recorder({}, ("", 1.0))
        look = Reactions(stepper, seen, 1)
        stepper.advance(steps // 4)
        look.observe()
        at, reaction = stepper.time, seen.state()["observables/reaction/support/value"][0]
        stepper.advance(steps - steps // 4)
        x, v = MOVED.mass(END)
        found = [
            abs(position(stepper)[MASS] - x),
            abs(velocity(stepper)[MASS] - v),
            abs(reaction - MOVED.reaction(at)),
            abs(stepper.work - MOVED.work(END)),
            abs(stepper.dissipated - MOVED.dissipated(END)),
        ]
        return np.array(found)

    assert_orders(of_all, ORDERS[kind], STEPS[kind])


@KINDS
def test_total_less_work_plus_dissipated_stays(kind):
    """At the scheme's own order: friction takes no more and no less than it counts."""

    def error(steps: int) -> float:
        stepper = dragged(kind, END / steps, Dragged(drift=0.25, drag=0.6))
        begun = energy(stepper)
        stepper.advance(steps)
        return abs(energy(stepper) - stepper.work + stepper.dissipated - begun)

    assert_order(error, SCHEMES[kind].order, (40, 80) if kind == "yoshida4" else STEPS[kind])


def test_the_reaction_of_a_dashpot_to_rounding(launches):
    stepper = dragged("leapfrog", 0.05, MOVED, 2)
    stepper.advance(9)
    seen = Recorder({}, ("", 1.0))
    Reactions(stepper, seen, 1).observe()
    x, v = position(stepper), velocity(stepper)
    pull = K * (x[SUPPORTED] - x[MASS] + aimed(REST, 2)) + 0.6 * (v[SUPPORTED] - v[MASS])
    inertia = 1.3 * aimed(MOVED.support(0.45)[2], 2)
    found = seen.state()["observables/reaction/support/value"][0]
    np.testing.assert_allclose(found, pull + inertia, rtol=1e-12)


# Drag on a free body ------------------------------------------------------------------------------------


@local_energy("storm", over="nodes", v=V, c=Parameter(default=0.7))
def storm(v, c):
    """c |v|^3 / 3: drag in proportion to the square of the speed."""
    return c / 3.0 * v[0].norm_sqr() ** 1.5


@local_energy("mud", over="nodes", x=X, v=V, m=MASSES, beta=Parameter(default=0.9))
def mud(x, v, m, beta):
    """beta m x |v|^2 / 2: deeper, the farther along x."""
    return 0.5 * beta * m[0] * x[0][0] * v[0].norm_sqr()


@local_energy(
    "gusts", over="nodes", v=V, m=MASSES, g=Parameter(default=0.8), w=Parameter(default=2.3), t=Time()
)
def gusts(v, m, g, w, t):
    """g m (1 + sin(w t) / 2) |v|^2 / 2."""
    return 0.5 * g * m[0] * (1.0 + 0.5 * ti.sin(w * t)) * v[0].norm_sqr()


SPEED, ALONG = 1.7, np.array([0.8, 0.6])


def free(kind: str, dt: float, drag, direction: np.ndarray, t0: float = 0.0) -> Integrator:
    """One body and nothing but drag; a second one at rest stays there."""
    fields = Fields({"x": np.zeros((2, 2)), "v": np.outer([SPEED, 0.0], direction), "m": [0.7, 1.0]})
    damped = Potential(fields, [bind(drag, fields)])
    return Integrator(System(Potential(fields, []), [MOTION], dissipation=damped), SCHEMES[kind], dt, t0)


def quadratic(t: float) -> tuple[float, float]:
    """x = m/c ln(1 + c v0 t / m), v = v0 / (1 + c v0 t / m)."""
    a = 0.7 * SPEED / 0.7
    return np.log(1.0 + a * t) * SPEED / a, SPEED / (1.0 + a * t)


def deep(t: float) -> tuple[float, float]:
    """dv/dx = -beta x, so v = v0 - beta x^2 / 2 and x = sqrt(2 v0 / beta) tanh(t sqrt(beta v0 / 2))."""
    x = np.sqrt(2.0 * SPEED / 0.9) * np.tanh(t * np.sqrt(0.9 * SPEED / 2.0))
    return x, SPEED - 0.45 * x * x


def windy(t: float, t0: float = 0.4) -> tuple[float, float]:
    """ln v falls by the integral of g (1 + sin(w t) / 2); x is its sum, by Gauss."""

    def speed(s):
        return SPEED * np.exp(-0.8 * (s + 0.5 / 2.3 * (np.cos(2.3 * t0) - np.cos(2.3 * (t0 + s)))))

    nodes, weights = np.polynomial.legendre.leggauss(30)
    return 0.5 * t * float(weights @ speed(0.5 * t * (nodes + 1.0))), speed(t)


@KINDS
@pytest.mark.parametrize(
    ("drag", "direction", "t0", "paper"),
    [(storm, ALONG, 0.0, quadratic), (mud, np.array([1.0, 0.0]), 0.0, deep), (gusts, ALONG, 0.4, windy)],
)
def test_drag_on_a_free_body(drag, direction, t0, paper, kind):
    """Of second order with each scheme: without forces it is the splitting's alone."""
    x, v = paper(1.5)

    def of_both(steps: int) -> np.ndarray:
        stepper = free(kind, 1.5 / steps, drag, direction, t0)
        stepper.advance(steps)
        assert not position(stepper)[1].any()
        assert not velocity(stepper)[1].any()
        lost = 0.35 * (SPEED**2 - (velocity(stepper)[0] ** 2).sum())
        assert stepper.dissipated == pytest.approx(lost, rel=1e-13)
        found = position(stepper)[0] - x * direction, velocity(stepper)[0] - v * direction
        return np.array([np.abs(f).max() for f in found])

    assert_orders(of_both, 2, (80, 160))


def test_momentum_fades_as_on_paper():
    """Mass damping takes from every velocity the same share, whatever else happens among the nodes."""

    def error(steps: int) -> float:
        stepper = _masses(1.0 / steps, 0.9)
        before = momentum(stepper.potential.fields, MOTION, storage.host(stepper.inertia["x"]))
        stepper.advance(steps)
        after = momentum(stepper.potential.fields, MOTION, storage.host(stepper.inertia["x"]))
        return np.abs(after - before * np.exp(-0.9)).max()

    assert_order(error, 2, (20, 40, 80))


def _masses(dt: float, rate: float | None, kind: str = "leapfrog") -> Integrator:
    """The tangle without its trap and holds, under mass damping."""
    begun = tangled(kind, dt)
    fields = begun.potential.fields
    ties = Potential(fields, [begun.potential.terms["tie"]])
    damped = (
        Potential(fields, [bind(mass_damping, fields, parameters={"rate": rate})])
        if rate is not None
        else None
    )
    return Integrator(System(ties, [MOTION], dissipation=damped), SCHEMES[kind], dt)


# All at once --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leapfrog", "yoshida4"])
def test_all_at_once_against_a_fine_solution(kind):
    """Time-dependent forces and friction, moved supports: x, v, work and dissipated of order 2 (DOP853)."""
    hand, span = tangled_by_hand(2, damped=True), 0.7
    held, size = hand.held, hand.x.size
    start = np.concatenate([hand.x.ravel(), hand.v.ravel(), [0.0, 0.0]])

    def rates(s: float, y: np.ndarray) -> np.ndarray:
        t = 0.3 + s
        where, speed = hand.place(t)
        x = np.where(held, where, y[:size].reshape(held.shape))
        v = np.where(held, speed, y[size : 2 * size].reshape(held.shape))
        force, friction = hand.force(x, t), hand.friction(v, x, t)
        push = np.where(held, 0.0, -(force + friction) / hand.m)
        work = hand.rate(x, t) + ((force + friction) * v)[held].sum()
        return np.concatenate([np.where(held, speed, v).ravel(), push.ravel(), [work, (friction * v).sum()]])

    y = solve_ivp(rates, (0.0, span), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    own = hand.kinetic()[held].sum()
    hand.put(0.3 + span)
    work, lost = y[-2] + hand.kinetic()[held].sum() - own, y[-1]

    def of_all(steps: int) -> np.ndarray:
        stepper = tangled(kind, span / steps)
        stepper.advance(steps)
        x, v = (
            np.where(held, 0.0, f - part.reshape(held.shape))
            for f, part in ((position(stepper), y[:size]), (velocity(stepper), y[size : 2 * size]))
        )
        found = np.abs(x).max(), np.abs(v).max(), stepper.work - work, stepper.dissipated - lost
        return np.abs(np.array(found))

    assert_orders(of_all, 2, (80, 160))


@KINDS
@pytest.mark.parametrize(("d", "small"), [(2, integrator.SMALL), (2, 0), (3, 0)])
def test_steps_by_hand(d, small, kind, monkeypatch):
    """In one kernel and in single launches."""
    monkeypatch.setattr(integrator, "SMALL", small)
    stepper, hand = tangled(kind, 0.1, d), tangled_by_hand(d, damped=True)
    own = hand.kinetic()[hand.held].sum()
    for k in range(8):
        hand.step(SCHEMES[kind], 0.3 + k * 0.1, 0.1)
    stepper.advance(8)
    np.testing.assert_allclose(position(stepper), hand.x, rtol=0, atol=1e-13)
    np.testing.assert_allclose(velocity(stepper), hand.v, rtol=0, atol=1e-13)
    assert stepper.work == pytest.approx(hand.work + hand.kinetic()[hand.held].sum() - own, rel=1e-13)
    assert stepper.dissipated == pytest.approx(hand.dissipated, rel=1e-13)


def test_what_is_dissipated_only_grows(launches):
    stepper, taken = tangled("leapfrog", 0.05), [0.0]
    for _ in range(12):
        stepper.advance(1)
        taken.append(stepper.dissipated)
    assert (np.diff(taken) > 0.0).all()


def test_energies_report_where_it_went():
    stepper, seen = tangled("leapfrog", 0.05), Recorder({}, ("", 1.0))
    look = Energies(stepper, seen, 1)
    for _ in range(10):
        look.observe()
        stepper.advance(1)
    found = {n.split("/", 1)[1][:-6]: a for n, a in seen.state().items() if n.endswith("value")}
    kept = found["total"] - found["work"] + found["dissipated"]
    np.testing.assert_allclose(found["drift"], (kept - kept[0]) / abs(kept[0]), atol=1e-15)
    assert found["dissipated"][0] == found["work"][0] == 0.0
    assert found["dissipated"][-1] > 1.0 > 0.05 > np.abs(kept - kept[0]).max()


# Solids that resist strain ------------------------------------------------------------------------------


CELLS = {2: (3, 2), 3: (2, 1, 1)}


def solid(d: int, dt: float = 0.01, cells: tuple[int, ...] = ()) -> Integrator:
    """A soft block, in strain-rate damping."""
    size, make = (1.0, 0.7, 0.5)[:d], generators.rectangle if d == 2 else generators.box
    mesh = make(size, cells or CELLS[d])
    state = states.solid(mesh, 1.3)
    fields, cells, data = Fields(state.fields), state.tuples["cells"], state.data["cells"]
    stiff = {"youngs_modulus": 9.0, "poissons_ratio": 0.3}
    thick = {"viscosity": 0.11, "bulk_viscosity": 0.07}
    damped = [bind(strain_rate_damping, fields, tuples=cells, data=data, parameters=thick)]
    potential = Potential(fields, [bind(neo_hookean, fields, tuples=cells, data=data, parameters=stiff)])
    return Integrator(
        System(potential, state.motions, dissipation=Potential(fields, damped)), SCHEMES["leapfrog"], dt
    )


def rotation(d: int, angle: float = 0.7) -> np.ndarray:
    """About (1, 2, 2) / 3 in space."""
    c, s = np.cos(angle), np.sin(angle)
    if d == 2:
        return np.array([[c, -s], [s, c]])
    n = np.array([1.0, 2.0, 2.0]) / 3.0
    cross = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
    return np.eye(3) + s * cross + (1 - c) * cross @ cross


def spin(d: int) -> np.ndarray:
    """An antisymmetric matrix."""
    A = np.array([[0.3, -1.1, 0.4], [0.9, 0.2, -0.6], [0.5, 0.8, -0.7]])[:d, :d]
    return A - A.T


STRETCH = np.array([[0.6, -0.2, 0.3], [0.5, -0.4, 0.1], [-0.1, 0.7, 0.2]])


def shaped(d: int, rate: np.ndarray, bent: bool = True) -> tuple[Potential, np.ndarray, np.ndarray, float]:
    """The dissipation of the block, turned as one and moving with v = rate (x - centre) + drift."""
    stepper = solid(d)
    fields, turned = stepper.potential.fields, rotation(d) if bent else np.eye(d)
    x = fields["x"].values @ turned.T + 3.0
    v = x @ rate.T - 0.4
    fields["x"].set(x)
    fields["v"].set(v)
    return stepper.friction.dissipation, x, v, [0.7, 0.35][d - 2]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("bent", [False, True])
def test_rigid_motion_is_not_damped(bent, d):
    """A rotation of the undeformed body, and a drift: no force, to rounding of what a strain would give."""
    damping, *_ = shaped(d, spin(d), bent)
    strained, *_ = shaped(d, STRETCH[:d, :d], bent)
    largest = np.abs(strained.gradient("v")).max()
    assert largest > 0.01
    assert np.abs(damping.gradient("v")).max() < 1e-14 * largest
    assert abs(damping.value()) < 1e-28 * 1e-1


@pytest.mark.parametrize("d", [2, 3])
def test_the_rate_of_a_uniform_strain(d):
    """v = Q A X: D = sym A, R = V (eta D:D + zeta/2 (tr D)^2), and the power 2 R of its forces."""
    A, Q = STRETCH[:d, :d], rotation(d)
    damping, _, v, volume = shaped(d, Q @ A @ Q.T)
    D = 0.5 * (A + A.T)
    expected = volume * (0.11 * (D * D).sum() + 0.5 * 0.07 * np.trace(D) ** 2)
    assert damping.value() == pytest.approx(expected, rel=1e-13)
    assert (damping.gradient("v") * v).sum() == pytest.approx(2.0 * expected, rel=1e-13)


@pytest.mark.parametrize("d", [2, 3])
def test_strain_rate_damping_has_no_force_and_no_torque_in_sum(d):
    stepper = solid(d)
    rng, fields = np.random.default_rng(4), stepper.potential.fields
    fields["x"].set(fields["x"].values + 0.1 * rng.normal(size=fields["x"].shape))
    fields["v"].set(rng.normal(size=fields["v"].shape))
    damping, x = stepper.friction.dissipation, fields["x"].values
    force, twice = damping.gradient("v"), 2.0 * damping.value()
    size = np.abs(force).sum()
    assert np.abs(force.sum(axis=0)).max() < 1e-15 * size
    torque = x[:, :, None] * force[:, None, :]
    assert np.abs((torque - torque.transpose(0, 2, 1)).sum(axis=0)).max() < 1e-15 * size
    assert (force * fields["v"].values).sum() == pytest.approx(twice, rel=1e-13)
    assert twice > 0.1


def _thrown(d: int, dt: float, cells: tuple[int, ...] = ()) -> Integrator:
    """A block that flies, turns and is deformed."""
    stepper = solid(d, dt, cells)
    fields = stepper.potential.fields
    x = fields["x"].values
    fields["v"].set(x @ (0.5 * spin(d) + 0.8 * STRETCH[:d, :d]).T + 0.3)
    return stepper


def test_a_block_keeps_its_momenta_and_its_balance(launches):
    """Momentum and angular momentum to rounding, total + dissipated to order 2."""
    d = 2 if launches == "fused" else 3
    lost = []
    for steps in (16, 32):
        stepper = _thrown(d, 0.4 / steps)
        fields, m = stepper.potential.fields, storage.host(stepper.inertia["x"])
        p, L, begun = momentum(fields, MOTION, m), angular_momentum(fields, MOTION, m), energy(stepper)
        stepper.advance(steps)
        np.testing.assert_allclose(momentum(fields, MOTION, m), p, atol=1e-14)
        np.testing.assert_allclose(angular_momentum(fields, MOTION, m), L, atol=1e-14)
        assert begun - energy(stepper) == pytest.approx(stepper.dissipated, rel=1e-2)
        lost.append(abs(energy(stepper) + stepper.dissipated - begun))
    assert stepper.dissipated > 0.005
    assert abs(fitted_order(lost, (16, 32)) - 2.0) < 0.1


def test_half_the_power_is_the_dissipation():
    """The integral of 2 R over a run is what was dissipated: order 2, by the trapezoidal rule."""

    def error(steps: int) -> float:
        stepper = _thrown(2, 0.4 / steps)
        powers = [2.0 * stepper.friction.dissipation.value()]
        for _ in range(steps):
            stepper.advance(1)
            powers.append(2.0 * stepper.friction.dissipation.value())
        return abs(float(np.trapezoid(powers, dx=0.4 / steps)) - stepper.dissipated)

    assert_order(error, 2, (16, 32, 64))


# Bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_do_not_depend_on_the_cuts(precision, launches):
    build = partial(tangled, "yoshida4", 0.013, precision=precision)
    assert_splits(build, 200 if launches == "fused" else 20)


def test_single_precision_follows_double(launches):
    single, double = (tangled("leapfrog", 0.02, precision=p) for p in ("f32", "f64"))
    for stepper in (single, double):
        stepper.advance(50)
    np.testing.assert_allclose(position(single), position(double), atol=2e-5)
    np.testing.assert_allclose(velocity(single), velocity(double), atol=2e-5)
    assert single.work == pytest.approx(double.work, rel=1e-5)
    assert single.dissipated == pytest.approx(double.dissipated, rel=1e-5)


def test_restored_goes_on_bit_for_bit(launches):
    stepper = tangled("yoshida4", 0.05)
    stepper.advance(12)
    again, state = tangled("yoshida4", 0.05), stepper.state()
    for name, field in stepper.potential.fields.items():
        again.potential.fields[name].set(field.values)
    again.restore(state)
    for one in (stepper, again):
        one.advance(15)
    assert bits(again) == bits(stepper)
    assert again.balance == stepper.balance
    assert set(again.balance) == {"work", "dissipated"}


@pytest.mark.parametrize("name", ["dissipated", "work"])
def test_all_that_is_saved_matters(name):
    stepper = tangled("leapfrog", 0.05)
    stepper.advance(3)
    state = stepper.state()
    assert set(state) == {"gradient/x", "work", "dissipated", "held", "step", "t0", "dt"}
    again = tangled("leapfrog", 0.05)
    again.restore(state | {name: state[name] + 1.0})
    assert getattr(again, name) != getattr(stepper, name)
    without = {n: a for n, a in state.items() if n != name}
    with pytest.raises(CheckpointError, match=f"'stepper/{name}' is missing"):
        tangled("leapfrog", 0.05).restore(without)


def test_both_ways_agree(monkeypatch):
    fused = tangled("yoshida4", 0.05)
    monkeypatch.setattr(integrator, "SMALL", 0)
    unfused = tangled("yoshida4", 0.05)
    for stepper in (fused, unfused):
        stepper.advance(20)
    assert fused.fused
    assert not unfused.fused
    np.testing.assert_allclose(position(fused), position(unfused), rtol=1e-12)
    assert fused.balance == pytest.approx(unfused.balance, rel=1e-13)


def test_no_friction_is_friction_of_nothing(launches):
    """v - h 0/m is v: to the last bit in single launches, where all other kernels are the same."""
    none, zero = _masses(0.05, None), _masses(0.05, 0.0)
    for stepper in (none, zero):
        stepper.advance(30)
    if launches == "unfused":
        assert position(none).tobytes() == position(zero).tobytes()
        assert velocity(none).tobytes() == velocity(zero).tobytes()
    np.testing.assert_allclose(position(none), position(zero), rtol=1e-12)
    np.testing.assert_allclose(velocity(none), velocity(zero), rtol=1e-12)
    assert zero.balance == {"dissipated": 0.0}
    assert none.balance == {}


# Trouble ------------------------------------------------------------------------------------------------


def two_lines(slowed: str) -> Integrator:
    """Two fields that move; one of them is damped."""
    fields = Fields(
        {"x": [[1.0, 0.5]], "v": [[0.3, 0.2]], "y": [[0.4, -0.5]], "w": [[0.6, -0.1]], "m": [0.7]}
    )
    damped = Potential(fields, [bind(mass_damping, fields, renamed={"v": slowed}, parameters={"rate": 0.4})])
    return Integrator(
        System(Potential(fields, []), [Motion("x", "v", "m"), Motion("y", "w", 1.0)], dissipation=damped),
        SCHEMES["leapfrog"],
        0.1,
    )


def test_friction_of_one_field_leaves_the_other(launches):
    """R has the field's masses, the motion of y its own inertia of 1: -dR/dv is a force, whatever resists."""
    shares = {"v": 0.4, "w": 0.4 * 0.7}
    for slowed, other in (("v", "w"), ("w", "v")):
        stepper = two_lines(slowed)
        fields = stepper.potential.fields
        before = {n: fields[n].values.copy() for n in "vw"}
        stepper.advance(10)
        np.testing.assert_array_equal(fields[other].values, before[other])
        a = 0.05 * shares[slowed]
        expected = before[slowed] * (1.0 - a + 0.5 * a * a) ** 20
        np.testing.assert_allclose(fields[slowed].values, expected, rtol=1e-14)


@pytest.mark.parametrize("energy", [trap, neo_hookean])
def test_what_depends_on_no_velocity_is_no_dissipation(energy):
    potential = solid(2).potential
    fields = potential.fields
    term = bind(trap, fields) if energy is trap else potential.terms["neo_hookean"]
    with pytest.raises(EnergyError) as refused:
        Integrator(
            System(potential, [MOTION], dissipation=Potential(fields, [term])), SCHEMES["leapfrog"], 0.1
        )
    assert str(refused.value) == f"dissipation '{term.name}': depends on no velocity; use one of v"


@pytest.mark.filterwarnings("error")
def test_an_explosion_in_the_friction_is_named(launches):
    """Far beyond the stability of an explicit step: the speed grows as a tower of squares."""
    stepper = free("leapfrog", 1e3, storm, ALONG)
    with pytest.raises(NonFiniteError) as message:
        stepper.advance(50)
    where = f"step {stepper.step + 1}: field 'v', node 0"
    assert str(message.value) == f"{where} overflowed; try a smaller dt, in the friction"
    assert np.isfinite(velocity(stepper)).all()


# Damage -------------------------------------------------------------------------------------------------


@cache
def order(kind: str, motion: Dragged) -> Callable:
    return lambda: assert_orders(partial(errors, kind, motion, None), ORDERS[kind], (40, 80))


by_hand = partial(test_steps_by_hand, 2, integrator.SMALL, "leapfrog", pytest.MonkeyPatch())
balance = partial(test_a_dashpot_to_a_moved_support, "leapfrog")
gusty = partial(test_drag_on_a_free_body, gusts, ALONG, 0.4, windy, "leapfrog")


def in_one_stage(right, self):
    """The pieces of a half step without its first stage."""
    pieces = right(self)
    first = next(k for k, piece in enumerate(pieces) if isinstance(piece, EnergySweep))
    return pieces[:first] + pieces[first + 2 :]


def with_the_kicks(right, self, scheme):
    """v <- v - h (dU/dx + dR/dv) / m, wherever leapfrog kicks."""
    rules = right(self, scheme)
    sweep = next(piece for piece in rules[HalfFriction] if isinstance(piece, EnergySweep))
    slowed = [NodeLoops(self.remembered), sweep, NodeLoops(partial(self.slowed, "h"))]
    return {**rules, Kick: [*rules[Kick], *slowed], HalfFriction: []}


def at_the_start(right, self, move, number):
    """All of a step's friction before it."""
    if not isinstance(move, HalfFriction):
        return right(self, move, number)
    pieces = [MoveLength() if piece is HALF_STEP else piece for piece in self._rules[HalfFriction]]
    return [] if move.number else self.of(pieces, number)


SPLITTINGS = {
    "with the kicks": method(Moves, "pieces", with_the_kicks),
    "all at the start": method(JoinedPieces, "__call__", at_the_start),
    "one Euler stage": method(Moves, "_half_a_step_of_friction", in_one_stage),
}


@pytest.mark.parametrize("name", sampled(SPLITTINGS, [*SPLITTINGS][::3]))
def test_cheaper_splittings_are_of_first_order(name, monkeypatch):
    """Why friction is split symmetrically, with two stages (ENGINE 8); and the tests above see it."""
    assert_seen(SPLITTINGS[name], order("leapfrog", DAMPED), monkeypatch)
    found = [errors("leapfrog", DAMPED, None, n)[:2].max() for n in (80, 160, 320)]
    assert abs(fitted_order(found, (80, 160, 320)) - 1.0) < 0.1


def _without_friction(right, stepper, gradients):
    return {n: storage.host(gradient).astype(np.float64) for n, gradient in gradients.items()}


FUSED = {
    "dissipated reversed": (
        text("dissipated[0] + ti.f64(0.5)", "dissipated[0] - ti.f64(0.5)"),
        order("leapfrog", DAMPED),
    ),
    "forces not cleared": (text("g_u[n] = 0.0", "g_u[n] = 0.5 * g_u[n]"), order("leapfrog", DAMPED)),
    "supports damped like the free": (text("free_x[n, 0] * g_v", "g_v"), by_hand),
    "second stage from the first": (
        text("f_u[n] = before_u[n] -", "f_u[n] = f_u[n] -"),
        order("leapfrog", DAMPED),
    ),
    "first stage of a whole step": (text("ti.f64(0.5) * h) * (", "h) * ("), order("leapfrog", STRONG)),
    "a step's friction twice": (text("h = ti.f64(0.5) * dt", "h = dt"), order("leapfrog", DAMPED)),
    "friction reversed": (
        text("before_u[n] - ti.f64(h)", "before_u[n] + ti.f64(h)"),
        order("leapfrog", DAMPED),
    ),
    "inertia of the first node": (text("i_x[n]", "i_x[0]"), by_hand),
    "work against friction forgotten": (
        text("work[0] + h * ti.f64(g_u", "work[0] + 0.0 * ti.f64(g_u"),
        balance,
    ),
    "friction at supports forgotten": (
        text("dissipated[0] + h * ti.f64(g_u", "dissipated[0] + 0.0 * ti.f64(g_u"),
        balance,
    ),
    "time of the step's start in both halves": (text(" + ends[move]", ""), gusty),
    "reactions without friction": (
        method(observers, "total_gradient", _without_friction),
        partial(test_the_reaction_of_a_dashpot_to_rounding, None),
    ),
}


def once(right, self, move, at):
    """Friction at the end of a step only, but all of it."""
    for _ in range(2 * move.number if isinstance(move, HalfFriction) else 1):
        right(self, move, at)


def at_the_start_time(right, self, move, at):
    if isinstance(move, HalfFriction):
        self.t = self.clock.at(0)
    right(self, move, at)


UNFUSED = {
    "friction at the step's end": (method(LaunchedPieces, "move", once), order("leapfrog", STRONG)),
    "work against friction forgotten": (method(Holds, "power", lambda *_: 0.0), balance),
    "time of the step's start in both halves": (
        method(LaunchedPieces, "move", at_the_start_time),
        gusty,
    ),
}


@pytest.mark.parametrize("name", sampled(FUSED, [*FUSED][::3]))
def test_damage_is_seen(name, monkeypatch):
    assert_seen(*FUSED[name], monkeypatch)


@pytest.mark.parametrize("name", sampled(UNFUSED, [*UNFUSED][::3]))
def test_damage_is_seen_in_single_launches(name, monkeypatch):
    monkeypatch.setattr(integrator, "SMALL", 0)
    assert_seen(*UNFUSED[name], monkeypatch)


# Threads ----------------------------------------------------------------------------------------------


def test_bits_do_not_depend_on_the_number_of_threads(any_threads, monkeypatch):
    """Last in this file: the engine is restarted and forgets its kernels."""
    monkeypatch.setattr(integrator, "SMALL", 0)
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        stepper = _thrown(2, 1e-4, cells=(60, 40))
        stepper.advance(10)
        assert stepper.dissipated > 1e-5
        found.append(bits(stepper))
    assert found[0] == found[1]
