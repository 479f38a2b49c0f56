"""What is held, against paper: clamps, rails, moved supports, their work and their forces; and the bits."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import torch
from minusgrad import Fields, Motion, Potential, bind
from minusgrad.assembly.observers import Reactions, momentum
from minusgrad.energies.fields import Hold, Rotation
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError
from minusgrad.files.trajectory import Recorder
from minusgrad.steppers import integrator
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.supports.held_components import HeldComponents
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.move_pieces import StepClock
from minusgrad_elastic.loads import body_force
from minusgrad_elastic.springs import spring
from tests.support.damage import method, text
from tests.support.held_oscillator import (
    IDLE,
    MASS,
    REST,
    SUPPORTED,
    TIES,
    Dragged,
    K,
    M,
    aimed,
    assert_seen,
    coil,
    coil_in_space,
    dragged,
    placed,
    position,
    tangle,
    tangled,
    tangled_by_hand,
    velocity,
)
from tests.support.laws import assert_order, assert_splits, bits, energy, energy_error, fitted_order

END = 2.4
STEPS = {"symplectic_euler": (200, 400, 800), "leapfrog": (40, 80, 160), "yoshida4": (32, 64, 128)}
"""A ramp of 1.5 ends after 5/8 of the steps."""

CLAMPED, JUMPED = Dragged(), Dragged(far=0.8)
STEADY, RAMPED = Dragged(drift=0.25), Dragged(far=0.8, duration=1.5)
BOTH = Dragged(far=0.8, duration=1.5, drift=0.25)
UNEVEN = Dragged(far=-0.7, duration=1.0 / 3.0, drift=0.25)
LONG = Dragged(far=1.4, duration=5.0, drift=-0.3, begin=0.5)
"""LONG begins and ends inside of its ramp; the ramp of UNEVEN ends within a step."""

MOTIONS = {"clamped": CLAMPED, "jumped": JUMPED, "steady": STEADY, "ramped": RAMPED, "both": BOTH}
KINDS = pytest.mark.parametrize("kind", STEPS)


def test_both_ways_are_taken(launches):
    assert dragged("leapfrog", 0.1, BOTH).fused == (launches == "fused")


def run(kind: str, steps: int, motion: Dragged, d: int | None = None, end: float = END) -> Integrator:
    stepper = dragged(kind, (end - motion.begin) / steps, motion, d)
    stepper.advance(steps)
    return stepper


def mass_error(kind: str, motion: Dragged, d: int | None, steps: int) -> float:
    """How far the mass is from where it should be, in place and velocity."""
    stepper, (x, v) = run(kind, steps, motion, d), motion.mass(END)
    return max(
        np.abs(position(stepper)[MASS] - placed(x, d)).max(),
        np.abs(velocity(stepper)[MASS] - aimed(v, d)).max(),
    )


# A free mass and its support ----------------------------------------------------------------------------


@pytest.mark.parametrize("motion", MOTIONS)
@KINDS
def test_order_against_paper(kind, motion):
    assert_order(partial(mass_error, kind, MOTIONS[motion], None), SCHEMES[kind].order, STEPS[kind])


@pytest.mark.parametrize("d", [None, 2, 3])
@pytest.mark.parametrize("kind", ["leapfrog", "yoshida4"])
def test_order_with_scalars_and_in_space(kind, d, launches):
    assert_order(partial(mass_error, kind, BOTH, d), SCHEMES[kind].order, (24, 48))


def test_order_where_a_ramp_ends_within_a_step():
    errors = [mass_error("leapfrog", UNEVEN, None, n) for n in (100, 200, 400)]
    assert fitted_order(errors, (100, 200, 400)) > 1.9


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("d", [None, 2, 3])
def test_what_is_clamped_stays_in_every_bit(d, precision, launches):
    stepper = dragged("yoshida4", 0.1, CLAMPED, d, precision)
    begun = placed(np.array([2.0, 7.0, 0.4]), d).astype(position(stepper).dtype)
    for n in (0, 1, 12):
        stepper.advance(n)
        for node in (IDLE, SUPPORTED):
            assert position(stepper)[node].tobytes() == begun[node].tobytes()
            assert velocity(stepper)[node].tobytes() == np.zeros_like(begun[node]).tobytes()
    assert np.abs(position(stepper)[MASS] - begun[MASS]).max() > 0.1


@pytest.mark.parametrize("d", [None, 2, 3])
def test_a_jump_is_there_at_step_zero(d, launches):
    stepper = dragged("leapfrog", 0.05, JUMPED, d)
    np.testing.assert_array_equal(position(stepper)[SUPPORTED], placed(0.4, d) + aimed(0.8, d))
    assert not velocity(stepper)[SUPPORTED].any()
    force = K * (placed(2.0, d) - placed(0.4 + 0.8 + REST, d))
    np.testing.assert_allclose(stepper.gradient[stepper.motions[0].position][MASS], force, rtol=1e-14)
    stepper.advance(7)
    np.testing.assert_array_equal(position(stepper)[SUPPORTED], placed(0.4, d) + aimed(0.8, d))
    assert stepper.work == 0.0
    assert stepper.balance == {}


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("d", [None, 2, 3])
def test_supports_are_where_they_should_be(d, precision, launches):
    """At every step, in place and velocity; after the ramp at X + D (+ V t), to the last bit."""
    eps = np.finfo(precision.replace("f", "float")).eps
    for motion in (RAMPED, BOTH):
        stepper = dragged("yoshida4", 0.15, motion, d, precision)
        for k in range(16):
            s, speed, _ = motion.support(k * 0.15)
            assert np.abs(position(stepper)[SUPPORTED] - placed(s, d)).max() < 32 * eps
            assert np.abs(velocity(stepper)[SUPPORTED] - aimed(speed, d)).max() < 32 * eps
            stepper.advance(1)
    stepper = run("leapfrog", 16, RAMPED, d)
    np.testing.assert_array_equal(position(stepper)[SUPPORTED], placed(0.4, d) + aimed(0.8, d))
    assert not velocity(stepper)[SUPPORTED].any()


def test_velocities_are_the_slopes_of_places():
    """Differences of order 4 of where `place` puts things."""
    stepper, h = tangled("leapfrog", 0.1, 3), 1e-3
    x, v = (stepper.potential.fields[n] for n in "xv")
    held = ~stepper.holds.free("x")
    for t in (0.05, 0.4, 0.77, 1.05, 1.4):
        found = []
        for at in (t - 2 * h, t - h, t + h, t + 2 * h):
            stepper.holds.place(at)
            found.append(x.values[held])
        slope = (found[0] - 8 * found[1] + 8 * found[2] - found[3]) / (12 * h)
        stepper.holds.place(t)
        np.testing.assert_allclose(v.values[held], slope, atol=1e-10)


def test_before_a_ramp_nothing_moves():
    stepper = dragged("leapfrog", 0.05, RAMPED)
    stepper.holds.place(-3.0)
    assert position(stepper)[SUPPORTED] == 0.4
    assert velocity(stepper)[SUPPORTED] == 0.0


# Work ---------------------------------------------------------------------------------------------------


def work_error(kind: str, motion: Dragged, d: int | None, steps: int, end: float = END) -> float:
    return abs(run(kind, steps, motion, d, end).work - motion.work(end))


def energy_lost(kind: str, motion: Dragged, steps: int) -> float:
    """How far total less work has gone from its start."""
    return energy_error(dragged(kind, (END - motion.begin) / steps, motion), steps)


@KINDS
@pytest.mark.parametrize("motion", [STEADY, LONG])
def test_work_is_the_integral_of_reaction_times_velocity(motion, kind):
    assert abs(motion.work(END)) > 0.1
    assert_order(partial(work_error, kind, motion, None), SCHEMES[kind].order, STEPS[kind])


@KINDS
@pytest.mark.parametrize("motion", [STEADY, LONG])
def test_total_less_work_stays(motion, kind):
    assert_order(partial(energy_lost, kind, motion), SCHEMES[kind].order, STEPS[kind])


@pytest.mark.parametrize("kind", ["leapfrog", "yoshida4"])
@pytest.mark.parametrize("motion", [RAMPED, BOTH])
def test_work_across_the_ends_of_a_ramp(motion, kind):
    """The third derivative of a ramp jumps at its ends, and work feels it: order 3 at most."""
    for error in (partial(work_error, kind, motion, None), partial(energy_lost, kind, motion)):
        order = fitted_order([error(n) for n in STEPS[kind]], STEPS[kind])
        assert abs(order - min(SCHEMES[kind].order, 3)) < (0.1 if kind == "leapfrog" else 0.5)


@pytest.mark.parametrize("d", [2, 3])
def test_work_in_space(d, launches):
    assert_order(partial(work_error, "yoshida4", STEADY, d), 4, (20, 40))


def test_the_supports_own_energy_is_part_of_both(launches):
    """Without a spring to speak of: all work becomes kinetic energy of the support, at once."""
    steady, ramped = dragged("leapfrog", 0.05, STEADY), dragged("leapfrog", 0.05, RAMPED)
    assert energy(steady) == pytest.approx(
        0.5 * 1.3 * 0.25**2 + 0.5 * M * 0.3**2 + 0.5 * K * 0.4**2, rel=1e-14
    )
    assert steady.work == 0.0
    for stepper in (steady, ramped):
        for field in stepper.gradient:
            stepper.potential.set_parameter("coil.stiffness", 0.0)
            stepper.evaluate()
            assert not stepper.gradient[field].any()
    begun = energy(ramped)
    ramped.advance(15)
    assert ramped.work == pytest.approx(0.5 * 1.3 * (0.8 * 1.875 / 1.5) ** 2, rel=1e-14)
    assert energy(ramped) - begun == pytest.approx(ramped.work, rel=1e-14)
    ramped.advance(25)
    assert ramped.work == 0.0


@KINDS
def test_an_explicit_time_and_moved_supports_together(kind):
    """Total less work, where the potential breathes while its supports move steadily: the scheme's order."""
    motions = [Motion("x", "v", "m")]

    def error(steps: int) -> float:
        begun = tangled(kind, 1.0 / steps, damped=False)
        steady = [h for h in tangle(2) if h.name != "rail"]
        steady.append(Hold("rail", "x", np.array([0, 2]), (1,), velocity=(0.6,)))
        fields = begun.potential.fields
        holds = Holds(fields, steady, motions)
        return energy_error(
            Integrator(System(begun.potential, motions, holds=holds), SCHEMES[kind], 1.0 / steps, 0.3), steps
        )

    assert_order(error, SCHEMES[kind].order, STEPS[kind])


# One step after another, in NumPy -----------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("d", [2, 3])
def test_steps_by_hand(d, kind, launches):
    """Rails, slides, nails and jumps in one field, some on the same node; a trap that depends on time."""
    stepper, hand = tangled(kind, 0.1, d, damped=False), tangled_by_hand(d, damped=False)
    own = hand.kinetic()[hand.held].sum()
    for k in range(14):
        hand.step(SCHEMES[kind], 0.3 + k * 0.1, 0.1)
    stepper.advance(14)
    np.testing.assert_allclose(position(stepper), hand.x, rtol=0, atol=1e-13)
    np.testing.assert_allclose(velocity(stepper), hand.v, rtol=0, atol=1e-13)
    work = hand.work + hand.kinetic()[hand.held].sum() - own
    assert stepper.work == pytest.approx(work, rel=1e-13)
    assert abs(work) > 1.0


# A bead on a wire ---------------------------------------------------------------------------------------


HEIGHT, ALONG, SPEED = 0.9, 1.4, 0.35


def bead(kind: str, dt: float, drift: float) -> Integrator:
    """A bead on a wire along x that drifts upwards, on a spring from a peg at the origin."""
    fields = Fields({"x": [[0.0, 0.0], [ALONG, HEIGHT]], "v": [[1.0, 1.0], [SPEED, 9.0]], "m": [1.0, M]})
    motions = [Motion("x", "v", "m")]
    holds = [
        Hold("wire", "x", np.array([1]), axes=(1,), velocity=(drift,)),
        Hold("peg", "x", np.array([0])),
    ]
    parameters = {"stiffness": K, "rest": 0.6}
    potential = Potential(fields, [bind(coil_in_space, fields, tuples=[[1, 0]], parameters=parameters)])
    return Integrator(System(potential, motions, holds=Holds(fields, holds, motions)), SCHEMES[kind], dt)


def on_the_wire(t: float, drift: float) -> tuple[float, float, float, float]:
    """Place and velocity along the wire, the wire's force upwards, and its work."""

    def force(x: float, t: float) -> np.ndarray:
        r = np.hypot(x, HEIGHT + drift * t)
        return K * (1.0 - 0.6 / r) * np.array([x, HEIGHT + drift * t])

    def rates(t: float, y: np.ndarray) -> list[float]:
        along, up = force(y[0], t)
        return [y[1], -along / M, up * drift]

    y = solve_ivp(rates, (0.0, t), [ALONG, SPEED, 0.0], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return y[0], y[1], force(y[0], t)[1], y[2]


@pytest.mark.parametrize("drift", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["leapfrog", "yoshida4"])
def test_a_bead_on_a_wire(kind, drift, launches):
    expected = np.array(on_the_wire(END, drift))

    def error(steps: int) -> float:
        stepper, seen = bead(kind, END / steps, drift), Recorder({}, ("", 1.0))
        stepper.advance(steps)
        (x, y), (v, up) = position(stepper)[1], velocity(stepper)[1]
        assert (y, up) == (pytest.approx(HEIGHT + drift * END, rel=1e-15), drift)
        Reactions(stepper, seen, 1).observe()
        (along, wire) = seen.state()["observables/reaction/wire/value"][0]
        assert along == 0.0
        return np.abs(np.array([x, v, wire, stepper.work]) - expected).max()

    assert_order(error, SCHEMES[kind].order, STEPS[kind][:2])


# Reactions ----------------------------------------------------------------------------------------------


def reactions(stepper: Integrator, recorder: Recorder | None = None) -> Reactions:
    return Reactions(stepper, recorder or Recorder({}, ("", 1.0)), 1)


def series(look: Reactions, name: str) -> np.ndarray:
    return look.recorder.state()[f"{name}/value"]


def chain(kind: str, dt: float, rest: np.ndarray) -> Integrator:
    """Three weights under one another on springs, the uppermost held; all at rest."""
    z = np.array([0.0, -1.0, -2.5])
    fields = Fields(
        {"x": np.stack([0 * z, 0.2 + 0 * z, z], axis=1), "v": np.zeros((3, 3)), "m": [1.0, 2.0, 3.0]}
    )
    terms = [
        bind(
            spring,
            fields,
            tuples=[[0, 1], [2, 1]],
            data={"rest": rest},
            parameters={"stiffness": [40.0, 30.0]},
        ),
        bind(body_force, fields, parameters={"acceleration": [0.0, 0.0, -2.0]}),
    ]
    motions = [Motion("x", "v", "m")]
    holds = Holds(fields, [Hold("hook", "x", np.array([0]))], motions)
    return Integrator(System(Potential(fields, terms), motions, holds=holds), SCHEMES[kind], dt)


def test_forces_are_in_equilibrium(launches):
    """Springs stretched by the weight below them: the hook carries all of it, its own node's included."""
    stepper = chain("leapfrog", 0.05, np.array([1.0 - 10.0 / 40.0, 1.5 - 6.0 / 30.0]))
    look = reactions(stepper)
    look.observe()
    stepper.advance(30)
    look.observe()
    np.testing.assert_allclose(
        series(look, "observables/reaction/hook"), [[0.0, 0.0, 12.0]] * 2, rtol=1e-13, atol=1e-15
    )
    frames = series(look, "particles/all/reaction")
    np.testing.assert_allclose(frames[:, 0], [[0.0, 0.0, 12.0]] * 2, rtol=1e-13, atol=1e-15)
    assert not frames[:, 1:].any()
    assert np.abs(velocity(stepper)).max() < 1e-13


def test_reactions_and_loads_change_the_momentum(launches):
    """Of a leapfrog step: p' - p = h (weight + mean of the reactions before and after), to rounding."""
    stepper = chain("leapfrog", 0.05, np.array([0.7, 1.9]))
    stepper.potential.fields["v"].set([[9.0, 9.0, 9.0], [0.3, -0.5, 0.2], [-0.4, 0.1, 0.6]])
    stepper = Integrator(
        System(stepper.potential, stepper.motions, holds=stepper.holds), stepper.scheme, 0.05
    )
    look = reactions(stepper)
    weight, (p, force) = np.array([0.0, 0.0, -12.0]), _moment(stepper, look)
    for _ in range(20):
        stepper.advance(1)
        p_after, force_after = _moment(stepper, look)
        np.testing.assert_allclose(p_after - p, 0.05 * (weight + 0.5 * (force + force_after)), atol=1e-14)
        p, force = p_after, force_after
    assert np.abs(p).max() > 0.5


def _moment(stepper: Integrator, look: Reactions) -> tuple[np.ndarray, np.ndarray]:
    """Total momentum, and the sum of all reactions."""
    look.observe()
    motion = stepper.motions[0]
    p = momentum(stepper.potential.fields, motion, storage.host(stepper.inertia[motion.position]))
    return p, series(look, "particles/all/reaction")[-1].sum(axis=0)


@pytest.mark.parametrize("d", [None, 2, 3])
def test_reactions_of_a_moved_support(d, launches):
    """k (s - y) + M s'' of the state itself to rounding, where the inertia matters; of paper, to order 2."""
    t, errors = 0.45, []
    for steps in (9, 18, 36):
        stepper = run("leapfrog", steps, BOTH, d, end=t)
        look = reactions(stepper)
        look.observe()
        found = series(look, "observables/reaction/support")[0]
        leg = position(stepper)[SUPPORTED] + aimed(REST, d) - position(stepper)[MASS]
        inertia = 1.3 * BOTH.support(t)[2]
        np.testing.assert_allclose(found, K * leg + aimed(inertia, d), rtol=1e-12)
        errors.append(np.abs(found - aimed(BOTH.reaction(t), d)).max())
        assert not series(look, "observables/reaction/idle").any()
    assert inertia > 1.0
    assert abs(fitted_order(errors, (9, 18, 36)) - 2.0) < 0.1


@pytest.mark.parametrize("t", [0.0, 1.5, 2.0])
def test_a_support_without_acceleration_has_no_inertia(t):
    stepper = run("leapfrog", 40, BOTH, end=t) if t else dragged("leapfrog", 0.1, BOTH)
    look = reactions(stepper)
    look.observe()
    leg = position(stepper)[SUPPORTED] + REST - position(stepper)[MASS]
    np.testing.assert_allclose(series(look, "observables/reaction/support")[0], K * leg, rtol=1e-12)


def test_each_hold_counts_its_own_components():
    """Rails, slides, nails and jumps of one field: every held component in one sum, no free one in any."""
    stepper = tangled("leapfrog", 0.1, 3, damped=False)
    stepper.advance(4)
    look = reactions(stepper)
    look.observe()
    reaction = series(look, "particles/all/reaction")[0]
    expected = stepper.potential.gradient("x", stepper.time)
    held = ~stepper.holds.free("x")
    ramp = 0.5 * 60 * (u := 0.7 / 1.1) * (1 - u) * (1 - 2 * u) / 1.1**2
    expected[[0, 2], 2] += stepper.potential.fields["m"].values[[0, 2]] * ramp
    np.testing.assert_allclose(reaction, np.where(held, expected, 0.0), rtol=1e-13, atol=1e-14)
    assert set(stepper.holds.names) == {"rail", "slide", "nail", "jump"}
    totals = {n: series(look, f"observables/reaction/{n}")[0] for n in stepper.holds.names}
    for hold in tangle(3):
        own = np.zeros((5, 3))
        axes = [0, 1, 2] if hold.axes is None else list(hold.axes)
        own[np.ix_(hold.nodes, axes)] = reaction[np.ix_(hold.nodes, axes)]
        np.testing.assert_allclose(totals[hold.name], own.sum(axis=0), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(sum(totals.values()), reaction.sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("first", ["wall", "floor"])
def test_a_component_of_two_holds_belongs_to_the_first(first, launches):
    """A spring stretched by 0.3 above one pressed by 0.4, of 40 N/m: reactions of 12, -28 and 16 N."""
    wall, floor = Hold("wall", "x", np.array([0, 1])), Hold("floor", "x", np.array([1, 2]), (2,))
    z = np.array([0.0, -1.0, -2.5])
    fields = Fields({"x": np.stack([0 * z, 0 * z, z], axis=1), "v": np.zeros((3, 3)), "m": np.ones(3)})
    rows, data = [[0, 1], [2, 1]], {"rest": np.array([0.7, 1.9])}
    term = bind(spring, fields, tuples=rows, data=data, parameters={"stiffness": 40.0})
    motions = [Motion("x", "v", "m")]
    holds = Holds(fields, [wall, floor] if first == "wall" else [floor, wall], motions)
    stepper = Integrator(System(Potential(fields, [term]), motions, holds=holds), SCHEMES["leapfrog"], 0.05)
    stepper.advance(3)
    look = reactions(stepper)
    look.observe()
    np.testing.assert_allclose(
        series(look, "particles/all/reaction")[0][:, 2], [12.0, -28.0, 16.0], rtol=1e-13
    )
    totals = {name: series(look, f"observables/reaction/{name}")[0][2] for name in ("wall", "floor")}
    assert totals == pytest.approx(
        {"wall": {"wall": -16.0, "floor": 12.0}[first], "floor": {"wall": 16.0, "floor": -12.0}[first]}
    )


ALIKE = {
    "at rest": ({}, {}),
    "a duration of nothing": ({}, {"displacement": (0.0, 0.0), "duration": 2.0}),
    "together": ({"velocity": (1.0, 0.5)}, {"velocity": (1.0, 0.5)}),
    "in other axes": ({"axes": (0,), "displacement": (0.1,)}, {"axes": (1,), "velocity": (3.0,)}),
    "one axis alike": ({"displacement": (0.1, 0.2)}, {"axes": (1,), "displacement": (0.2,)}),
    "turning": ({"rotation": Rotation((0.0, 0.0), angle=0.3)},) * 2,
    "on the axis": ({"rotation": Rotation((1.0, 1.0), angle=0.3)}, {}),
}


@pytest.mark.parametrize("name", ALIKE)
def test_holds_that_move_alike_may_overlap(name):
    """The components are where the first hold alone, and then the second, would put them."""
    one, two = ALIKE[name]
    placed = []
    for chosen in ([0, 1], [1, 0]):
        fields, motions = still()
        both = [hold("a", [0, 1], **one), hold("b", [1, 2], **two)]
        holds = Holds(fields, [both[k] for k in chosen], motions)
        holds.place(0.7)
        placed.append(fields["x"].values.copy())
        assert sum(len(held.all[0]) for held in holds.held.values()) == (~holds.free("x")).sum()
    np.testing.assert_array_equal(*placed)
    for part in both:
        fields, motions = still()
        alone = Holds(fields, [part], motions)
        alone.place(0.7)
        held = ~alone.free("x")
        np.testing.assert_array_equal(fields["x"].values[held], placed[0][held])


def test_numbers_of_holds_that_overlap():
    """Each has its own numbers, which can be read; another value would tear a component, and is refused."""
    fields, motions = still()
    both = [hold("a", [0, 1], displacement=(0.1, 0.2)), hold("b", [1, 2], axes=(1,), displacement=(0.2,))]
    numbers = Holds(fields, both, motions).numbers
    assert numbers.parameter("a.displacement").tolist() == [0.1, 0.2]
    assert numbers.parameter("b.displacement").tolist() == [0.2]
    numbers.set_parameter("b.displacement", np.array([0.2]))
    for name, value in {"a": [0.1, 0.3], "b": [0.3]}.items():
        with pytest.raises(
            EnergyError, match=rf"hold '{name}': has components that {'ba'[name == 'b']} holds"
        ):
            numbers.set_parameter(f"{name}.displacement", np.array(value))


def two_fields(holds: list[Hold]) -> Integrator:
    """Two lines of nodes that know nothing of one another."""
    fields = Fields({"q": [0.0, 2.0], "u": [0.0, 0.1], "p": [0.0, 3.0], "w": [0.2, 0.0]})
    ends = {"stiffness": K, "rest": REST}
    terms = [
        bind(coil, fields, tuples=[[1, 0]], parameters=ends),
        bind(coil, fields, name="other", tuples=[[1, 0]], parameters=ends, renamed={"q": "p"}),
    ]
    motions = [Motion("q", "u", 2.0), Motion("p", "w", 3.0)]
    held = Holds(fields, holds, motions)
    return Integrator(System(Potential(fields, terms), motions, holds=held), SCHEMES["leapfrog"], 0.1)


def test_holds_of_two_fields(launches):
    stepper = two_fields(
        [Hold("foot", "q", np.array([0])), Hold("foot", "p", np.array([1]), velocity=(0.5,))]
    )
    look = reactions(stepper)
    stepper.advance(3)
    look.observe()
    q, p = (stepper.potential.fields[n].values for n in "qp")
    assert series(look, "observables/reaction/q/foot") == pytest.approx(K * (q[0] + REST - q[1]), rel=1e-14)
    assert series(look, "observables/reaction/p/foot") == pytest.approx(K * (p[1] - p[0] - REST), rel=1e-14)
    assert (
        series(look, "particles/all/reaction/q")[0][1] == series(look, "particles/all/reaction/p")[0][0] == 0
    )
    assert (q[0], p[1]) == (0.0, pytest.approx(3.15, rel=1e-15))
    assert stepper.holds.names == ["foot", "foot"]


def test_no_holds_no_reactions():
    with pytest.raises(
        EnergyError,
        match=r"^nothing is held, so there are no reactions: add a \[\[hold\]\], or leave them out$",
    ):
        reactions(two_fields([]))


def test_gradients_are_of_the_unconstrained_potential(launches):
    """A stepper with holds and one without see the same gradient, held components included."""
    held = tangled("leapfrog", 0.1, damped=False)
    held.advance(5)
    x = position(held)
    pull = (1.0 + 0.5 * np.sin(1.7 * held.time)) * x
    a, b = TIES.T
    np.add.at(pull, a, 0.8 * (x[a] - x[b]))
    np.add.at(pull, b, 0.8 * (x[b] - x[a]))
    np.testing.assert_allclose(held.gradient["x"], pull, rtol=1e-13)
    np.testing.assert_allclose(held.potential.gradient("x", held.time), pull, rtol=1e-13)
    assert (np.abs(pull[~held.holds.free("x")]) > 1e-3).all()


# Bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("kind", ["symplectic_euler", "yoshida4"])
def test_bits_do_not_depend_on_the_cuts(kind, precision, launches):
    build = partial(tangled, kind, 0.013, damped=False, precision=precision)
    assert_splits(build, 300 if launches == "fused" else 30)


def test_single_precision_follows_double(launches):
    single, double = (tangled("leapfrog", 0.02, damped=False, precision=p) for p in ("f32", "f64"))
    for stepper in (single, double):
        stepper.advance(50)
    np.testing.assert_allclose(position(single), position(double), atol=2e-5)
    np.testing.assert_allclose(velocity(single), velocity(double), atol=2e-5)
    assert single.work == pytest.approx(double.work, rel=1e-5)
    held = ~double.holds.free("x")
    np.testing.assert_allclose(position(single)[held], position(double)[held], rtol=2e-7, atol=2e-7)


def test_both_ways_agree(monkeypatch):
    fused = tangled("yoshida4", 0.05, damped=False)
    monkeypatch.setattr(integrator, "SMALL", 0)
    unfused = tangled("yoshida4", 0.05, damped=False)
    for stepper in (fused, unfused):
        stepper.advance(40)
    assert fused.fused
    assert not unfused.fused
    np.testing.assert_allclose(position(fused), position(unfused), rtol=1e-13)
    assert fused.work == pytest.approx(unfused.work, rel=1e-13)


def resumed(kind: str, dt: float, fields: dict[str, np.ndarray], state: dict[str, np.ndarray]) -> Integrator:
    """A fresh stepper that takes up a saved moment."""
    stepper = tangled(kind, dt, damped=False)
    for name, values in fields.items():
        stepper.potential.fields[name].set(values)
    stepper.restore(state)
    return stepper


def saved(stepper: Integrator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    return {n: f.values.copy() for n, f in stepper.potential.fields.items()}, stepper.state()


def test_restored_goes_on_bit_for_bit(launches):
    stepper = tangled("yoshida4", 0.05, damped=False)
    stepper.advance(12)
    again = resumed("yoshida4", 0.05, *saved(stepper))
    assert again.work == stepper.work
    for one in (stepper, again):
        one.advance(15)
    assert bits(again) == bits(stepper)
    assert again.work == stepper.work != 0.0


def test_with_another_dt_supports_go_on_where_they_were(launches):
    """In the middle of a ramp: the time, and what hangs on it, does not jump."""
    stepper = tangled("leapfrog", 0.05, damped=False)
    stepper.advance(8)
    again = resumed("leapfrog", 0.02, *saved(stepper))
    assert again.time == pytest.approx(0.7, rel=1e-15)
    again.advance(5)
    hand = tangled_by_hand(2, damped=False)
    hand.put(0.8)
    held = hand.held
    np.testing.assert_allclose(position(again)[held], hand.x[held], rtol=1e-14)
    np.testing.assert_allclose(velocity(again)[held], hand.v[held], rtol=1e-13)


def test_a_state_that_is_pushed_returns_to_its_supports(launches):
    """Values written into held components last for no step."""
    stepper = tangled("leapfrog", 0.05, damped=False)
    stepper.advance(3)
    x, v = (stepper.potential.fields[n] for n in "xv")
    held = ~stepper.holds.free("x")
    x.set(np.where(held, 77.0, x.values))
    v.set(np.where(held, -5.0, v.values))
    stepper.advance(1)
    hand = tangled_by_hand(2, damped=False)
    hand.put(stepper.time)
    np.testing.assert_allclose(x.values[held], hand.x[held], rtol=1e-14)
    np.testing.assert_allclose(v.values[held], hand.v[held], rtol=1e-14, atol=1e-15)


# Refusals -----------------------------------------------------------------------------------------------


def hold(name: str = "a", nodes=(0,), field: str = "x", **how) -> Hold:
    return Hold(name, field, np.array(nodes), **how)


SUBNORMAL = np.int64(20240225330731).view(np.float64).item()
"""1e-310, by its bits: once an engine has started, the text is read as zero, for subnormal results are."""
REFUSED = {
    "twice": (
        [hold("a", [0, 1]), hold("b", [2, 1], axes=(0,), displacement=(0.1,))],
        "'x' is held twice at the same place, by 'a' and 'b', which move node 1 along x in different ways;"
        " hold each component once, by axes (a: x, [a, b]: y) or on a side without the other's nodes:"
        ' [state.sides] rest = { union = ["..."], minus = ["..."], of = "nodes" }',
    ),
    "name": (
        [hold("a", [0], axes=(0,)), hold("a", [1])],
        "two holds of 'x' are called 'a'; rename one",
    ),
    "nobody": ([hold("a", [])], "hold 'a': has no nodes; name at least one"),
    "outside": ([hold("a", [0, 3])], "hold 'a': no node 3; 'x' has 3"),
    "below": ([hold("a", [-1])], "hold 'a': no node -1; 'x' has 3"),
    "node twice": ([hold("a", [2, 0, 2])], "hold 'a': node 2 is given twice; give it once"),
    "mask": (
        [hold("a", [True, False, False])],
        "hold 'a': needs a row of node numbers, got bool of [3]",
    ),
    "real": ([hold("a", [1.0])], "hold 'a': needs a row of node numbers, got float64 of [1]"),
    "axis": ([hold(axes=(2,))], "hold 'a': its axes must be below 2, got [2]; correct them"),
    "negative axis": ([hold(axes=(0, -1))], "hold 'a': its axes must be below 2, got [0, -1]; correct them"),
    "no axes": ([hold(axes=())], "hold 'a': its axes must be below 2, got []; correct them"),
    "axis of a number": (
        [hold(field="m", axes=(1,))],
        "hold 'a': its axes must be below 1, got [1]; correct them",
    ),
    "axis twice": ([hold(axes=(1, 1))], "hold 'a': an axis is given twice, got [1, 1]; give it once"),
    "displacement": (
        [hold(axes=(1,), displacement=(1.0, 2.0))],
        "hold 'a': its displacement has 2 numbers, for 1 axes",
    ),
    "velocity": ([hold(velocity=(1.0,))], "hold 'a': its velocity has 1 numbers, for 2 axes"),
    "duration": ([hold(duration=-1.0)], "hold 'a': its duration must be >= 0, got -1; correct it"),
    "field": ([hold(field="y")], "no field named 'y' (there are: x, v, m)"),
} | {
    name: (
        [hold(**how)],
        "hold 'a': displacement, duration and velocity must be finite, got infinity or NaN; correct them",
    )
    for name, how in {
        "endless": {"displacement": (1.0, 0.0), "duration": np.inf},
        "no duration": {"duration": np.nan},
        "too short": {"displacement": (1.0, 0.0), "duration": SUBNORMAL},
        "far": {"displacement": (np.inf, 0.0)},
        "fast": {"velocity": (0.0, np.nan)},
    }.items()
}


def still() -> tuple[Fields, list[Motion]]:
    fields = Fields({"x": np.ones((3, 2)), "v": np.zeros((3, 2)), "m": np.ones(3)})
    return fields, [Motion("x", "v", "m")]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    fields, motions = still()
    holds, message = REFUSED[name]
    with pytest.raises(EnergyError) as refused:
        Holds(fields, holds, motions)
    assert str(refused.value) == message


def test_a_duration_too_short_is_refused_where_the_processor_takes_it_for_zero():
    """The engines leave it in that state, and so does this test."""
    before = float(np.multiply([1e-310], 1.0)[0]) == 0.0
    torch.set_flush_denormal(True)
    try:
        test_refused("too short")
    finally:
        torch.set_flush_denormal(before)


@pytest.mark.parametrize("field", ["m", "v"])
def test_what_does_not_move_is_not_held(field):
    """Neither a mass nor a velocity: nothing would hold it, or nobody would count its work."""
    fields, motions = still()
    holds = Holds(fields, [hold(field=field)], motions)
    with pytest.raises(EnergyError) as refused:
        Integrator(System(Potential(fields, []), motions, holds=holds), SCHEMES["leapfrog"], 0.1)
    assert str(refused.value) == f"hold: field '{field}' does not move; hold one of x"


def test_holds_that_do_not_know_the_velocity_are_refused():
    fields, motions = still()
    for others in ([], [Motion("x", "x")]):
        holds = Holds(fields, [hold()], others)
        with pytest.raises(EnergyError) as refused:
            Integrator(System(Potential(fields, []), motions, holds=holds), SCHEMES["leapfrog"], 0.1)
        assert (
            str(refused.value)
            == "hold: field 'x' has another velocity than the holds, got 'v'; use one motion"
        )


def test_no_trouble_is_blamed_on_friction_where_there_is_none():
    stepper = dragged("leapfrog", 0.1, CLAMPED)
    stepper.potential.fields["u"].set([np.nan, 0.0, 0.0])
    with pytest.raises(Exception, match="node 0") as message:
        stepper.advance(1)
    assert "friction" not in str(message.value)


# Damage -------------------------------------------------------------------------------------------------


@cache
def order(kind: str, motion: Dragged) -> Callable:
    return lambda: assert_order(partial(mass_error, kind, motion, None), SCHEMES[kind].order, (40, 80))


@cache
def work_order(kind: str, motion: Dragged) -> Callable:
    return lambda: assert_order(partial(work_error, kind, motion, None), SCHEMES[kind].order, (40, 80))


@cache
def kept(motion: Dragged) -> Callable:
    return lambda: assert_order(partial(energy_lost, "leapfrog", motion), 2, (40, 80))


by_hand = partial(test_steps_by_hand, 2, "leapfrog", None)
clamped = partial(test_what_is_clamped_stays_in_every_bit, None, "f64", None)
placed_well = partial(test_supports_are_where_they_should_be, None, "f64", None)
reacting = partial(test_reactions_of_a_moved_support, None, None)
RAMP = "(ti.f64(10.0) + s * (ti.f64(-15.0) + ti.f64(6.0) * s))"

FUSED = {
    "held as if free": (method(Holds, "mask", lambda *_: None), clamped),
    "free as if held": (text("free_q[n] * g_q", "(1.0 - free_q[n]) * g_q"), order("leapfrog", CLAMPED)),
    "held where the first node is": (text("free_x[n, ", "free_x[0, "), by_hand),
    "held where the first component is": (text("free_x[n, 1]", "free_x[n, 0]"), by_hand),
    "from where they are, not where they began": (
        text("hold_q_start[k] + ", "f_q[hold_q_i0[k]] + "),
        order("leapfrog", STEADY),
    ),
    "a cubic ramp": (text(f"s * s * s * {RAMP}", "s * s * (3.0 - 2.0 * s)"), order("leapfrog", RAMPED)),
    "ramp at half speed": (text("clamp(t * ", "clamp(0.5 * t * "), order("leapfrog", RAMPED)),
    "ramp without an end": (text("ti.f64(1.0))\n", "ti.f64(9.0))\n"), order("leapfrog", RAMPED)),
    "ramp that begins before zero": (
        text("clamp(t * hold_q_rate[k], ti.f64(0.0)", "clamp(t * hold_q_rate[k], ti.f64(-9.0)"),
        test_before_a_ramp_nothing_moves,
    ),
    "drift forgotten in places": (text(" + hold_q_drift[k] * t)", ")"), order("leapfrog", STEADY)),
    "drift forgotten in velocities": (text("* speed + hold_q_drift[k]", "* speed"), kept(STEADY)),
    "velocities twice as large": (text("ti.f64(30.0)", "ti.f64(60.0)"), placed_well),
    "places of the step's start": (text(" + ends[move]", ""), order("leapfrog", STEADY)),
    "places of the step's end in every move": (text("ends[move]", "1.0"), order("yoshida4", STEADY)),
    "work reversed": (text("work[0] + h * ti.f64(g_q", "work[0] - h * ti.f64(g_q"), kept(STEADY)),
    "work in closing kicks only": (
        text("h = kicks[0] * dt", "h = kicks[0] * dt * 0.99"),
        work_order("leapfrog", STEADY),
    ),
    "work without the supports' own": (method(Holds, "kinetic", lambda *_: 0.0), kept(LONG)),
    "reactions without inertia": (
        method(HeldComponents, "accelerations", lambda right, self, t: 0.0 * right(self, t)),
        reacting,
    ),
    "reactions of the step's start": (
        method(HeldComponents, "accelerations", lambda right, self, t: right(self, t - 0.05)),
        reacting,
    ),
    "reactions reversed": (
        method(Holds, "reaction", lambda right, *args: -right(*args)),
        partial(test_forces_are_in_equilibrium, None),
    ),
    "each hold counts whole nodes": (
        method(Holds, "totals", lambda right, self, field, r: {n: r.sum(axis=0) for n in self.names}),
        test_each_hold_counts_its_own_components,
    ),
}

UNFUSED = {
    "held as if free": (method(Holds, "mask", lambda *_: None), clamped),
    "work of supports forgotten": (method(Holds, "power", lambda *_: 0.0), kept(STEADY)),
    "places of the step's start": (
        method(StepClock, "after_drift", lambda right, self, drift: self.at(0)),
        order("leapfrog", STEADY),
    ),
}


@pytest.mark.parametrize("name", FUSED)
def test_damage_is_seen(name, monkeypatch):
    assert_seen(*FUSED[name], monkeypatch)


@pytest.mark.parametrize("name", UNFUSED)
def test_damage_is_seen_in_single_launches(name, monkeypatch):
    monkeypatch.setattr(integrator, "SMALL", 0)
    assert_seen(*UNFUSED[name], monkeypatch)


# Threads ----------------------------------------------------------------------------------------------


def line(n: int) -> Integrator:
    """Many nodes along a line, on springs; every fifth is clamped, every seventh moved."""
    rng = np.random.default_rng(0)
    fields = Fields({"q": np.arange(n) + 0.1 * rng.normal(size=n), "u": rng.normal(size=n), "m": np.ones(n)})
    ties = np.stack([np.arange(1, n), np.arange(n - 1)], axis=1)
    ends = {"stiffness": K, "rest": REST}
    potential = Potential(fields, [bind(coil, fields, tuples=ties, parameters=ends)])
    moved = np.setdiff1d(np.arange(0, n, 7), np.arange(0, n, 5))
    holds = [
        Hold("clamped", "q", np.arange(0, n, 5)),
        Hold("moved", "q", moved, displacement=(0.3,), duration=1.0, velocity=(0.2,)),
    ]
    motions = [Motion("q", "u", "m")]
    return Integrator(
        System(potential, motions, holds=Holds(fields, holds, motions)), SCHEMES["leapfrog"], 0.05
    )


def test_bits_do_not_depend_on_the_number_of_threads(launches, any_threads):
    """Last in this file: the engine is restarted and forgets its kernels."""
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        stepper = line(20_000)
        stepper.advance(15)
        assert abs(stepper.work) > 10.0
        found.append(bits(stepper))
    assert found[0] == found[1]
