"""Gradients through time: the way back, against differences of whole runs and against tangents beside them.

<J d, s> = <d, J' s>        to rounding, for everything that runs may have: the sharpest of these tests
"""

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.adjoint import backward
from minusgrad.adjoint.backward import Backward
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.tangents import Sensitivity
from minusgrad.energies.misfit import misfit
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError, NonFiniteError
from minusgrad.steppers import integrator
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.move_pieces import DRIFT_END, STEP_END, LaunchedPieces, MoveTime, Piece
from tests.support.damage import method, text
from tests.support.held_oscillator import assert_seen
from tests.support.kepler import SHORT
from tests.support.modulated_trap import well
from tests.support.rollouts import (
    LOOKS,
    STENCIL,
    STEPS,
    assert_transposed,
    bowl,
    chain,
    differences,
    dot,
    drawn,
    ended,
    judged,
    line,
    mapped,
    moved,
    names,
    net,
    pair,
    probe,
    probes,
    seen,
    space,
)
from tests.support.tiers import counts, sampled


def test_both_ways_are_taken(launches):
    rollout = judged(line())
    rollout.evaluate(["q"])
    rollout.curvature([])
    (back,) = rollout._adjoints.values()
    assert rollout.stepper.fused == (back._many is not None) == (launches == "fused")


ALONG_A_LINE = [(kind, True, True) for kind in SHORT]
ALONG_A_LINE += [
    ("leapfrog", damped, held) for damped, held in ((False, False), (True, False), (False, True))
]
LINES = pytest.mark.parametrize(("kind", "damped", "held"), ALONG_A_LINE)
SYSTEMS = pytest.mark.parametrize("system", [space, pair, mapped, net])


# There and back ---------------------------------------------------------------------------------------


@LINES
def test_back_is_there_transposed(kind, damped, held, launches):
    assert_transposed(line(kind, damped, held))


@SYSTEMS
def test_back_is_there_transposed_in_space(system, launches):
    assert_transposed(system())


def test_back_is_there_transposed_in_lanes(monkeypatch, launches):
    monkeypatch.setattr("minusgrad.codegen.element_lanes.lane_loops.LEAST_TUPLES", 1)
    one = net()
    assert one.potential.in_lanes == ["spring"]
    assert_transposed(one)


def test_back_is_there_transposed_in_single_precision():
    assert_transposed(line(precision="f32"), bound=3e-6)


def test_back_is_there_transposed_at_every_step():
    assert_transposed(line("yoshida6"), range(STEPS + 1))


# Against differences ----------------------------------------------------------------------------------


def assert_differences(rollout: Rollout, h: float, bound: float = 1e-8) -> None:
    """With respect to everything, one after another; to this part of the largest. By what is held: zero."""
    value, found = rollout.evaluate(names(rollout.stepper))
    for motion in rollout.stepper.motions:
        held = ~rollout.stepper.holds.free(motion.position)
        assert not (found[motion.position] * held).any()
        assert not (found[motion.velocity] * held).any()
    assert value == pytest.approx(rollout.value(), rel=1e-14)
    direction = drawn(rollout.stepper)
    size = max(abs(dot(found, {n: w})) for n, w in direction.items())
    for name, w in direction.items():
        expected = differences(rollout, {name: w}, h)
        assert expected, name
        assert abs(dot(found, {name: w}) - expected) < bound * max(abs(expected), 0.01 * size), name


@LINES
def test_gradient_against_differences(kind, damped, held):
    assert_differences(judged(line(kind, damped, held)), 2e-3)


@SYSTEMS
def test_gradient_against_differences_in_space(system):
    one = system()
    losses, _ = probes(one, LOOKS)
    assert_differences(Rollout(one, losses, STEPS), 2.5e-4)


def test_a_loss_of_what_maps_give():
    one = mapped()
    fields, maps = one.potential.fields, list(one.potential.maps.values())
    deep = Potential(fields, [bind(bowl, fields, renamed={"y": "depth"})], maps)
    assert_differences(Rollout(one, [Loss(deep, (0, 5, 9))], 9), 2.5e-4)


def test_single_precision_is_near_double():
    (_, single), (_, double) = (
        judged(line(precision=p)).evaluate(["q", "m", "swing.k"]) for p in ("f32", "f64")
    )
    assert single["q"].dtype == single["m"].dtype == np.float32
    for name, values in double.items():
        np.testing.assert_allclose(single[name], values, rtol=1e-4, atol=1e-4)


def test_a_thousand_steps():
    """Against differences to 1e-8, against full storage to 1e-12 (the bits are the same), and transposed."""
    one = line("leapfrog", dt=0.01)
    whole = judged(one, 1000)
    assert not whole.plan.again
    assert_differences(whole, 1e-3)
    assert_transposed(one, (0, 500, 1000), 1000)
    every = names(one)
    value, found = whole.evaluate(every)
    for budget in (60_000, 15_000):
        rollout = judged(one, 1000, budget)
        assert rollout.plan.again
        again, others = rollout.evaluate(every)
        assert again == pytest.approx(value, rel=1e-14)
        for name in every:
            assert found[name].tobytes() == others[name].tobytes(), (budget, name)


def test_losses_at_the_start_are_gradients_of_energies():
    one = line(held=False)
    rollout = judged(one)
    rollout = Rollout(one, [Loss(loss.potential, (0,)) for loss in rollout.losses], 0)
    _, found = rollout.evaluate(["q", "u", "m", "mud.c"])
    for name in ("q", "u", "m"):
        expected = sum(loss.potential.gradient(name, one.t0) for loss in rollout.losses)
        np.testing.assert_allclose(found[name], expected, rtol=1e-14)
    assert not found["mud.c"].any()


def test_the_value_is_the_sum_of_the_losses():
    one = line()
    rollout = judged(one)
    value, stepper = 0.0, line()
    for step in range(STEPS + 1):
        stepper.advance(step - stepper.step)
        for loss in rollout.losses:
            if step in loss:
                one.potential.fields["q"].set(stepper.potential.fields["q"].values)
                one.potential.fields["u"].set(stepper.potential.fields["u"].values)
                loss.set_data(step)
                value += loss.potential.value(stepper.time)
    for name in ("q", "u"):
        one.potential.fields[name].set(line().potential.fields[name].values)
    assert rollout.value() == pytest.approx(value, rel=1e-14)


# Curvature --------------------------------------------------------------------------------------------


def fitted(one: Integrator) -> Rollout:
    """Judged by misfits whose data are what the run does: nothing is left over."""
    fields, looks, rows = one.potential.fields, (0, 8, STEPS), []
    start = one.state(), [f.values.copy() for f in one.moving]
    for stop in looks:
        one.advance(stop - one.step)
        rows.append(fields["q"].values.copy())
    one.restore(start[0])
    for field, values in zip(one.moving, start[1], strict=True):
        field.set(values)
    one.evaluate()
    term = bind(misfit(fields["q"]), fields, renamed={"x": "q"}, data={"target": rows[0]})
    return Rollout(one, [Loss(Potential(fields, [term]), looks, {"misfit.target": np.array(rows)})], STEPS)


def pushed(one: Integrator, direction: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same direction, and another in what is held."""
    held = ~one.holds.free("q")
    return direction | {n: direction[n] + held for n in ("q", "u")}


@pytest.mark.parametrize(("damped", "held"), [(True, True), (False, False)])
def test_curvature_is_how_the_gradient_changes_where_nothing_is_left_over(damped, held, launches):
    one = line("leapfrog", damped, held)
    rollout, directions = fitted(one), [drawn(one, seed) for seed in (1, 2, 3)]
    found = rollout.curvature(directions)
    expected = np.zeros((3, 3))
    for column, along in enumerate(directions):
        for k, weight in STENCIL.items():
            for sign in (1.0, -1.0):
                with moved(one, along, sign * k * 1e-3):
                    _, slopes = rollout.evaluate(list(along))
                expected[:, column] += [sign * weight / 1e-3 * dot(slopes, d) for d in directions]
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(found).max())
    assert (found == found.T).all()
    assert np.linalg.eigvalsh(found).min() > -1e-14 * np.abs(found).max()
    assert rollout.curvature([pushed(one, d) for d in directions]).tobytes() == found.tobytes()


def test_curvature_keeps_to_its_budget():
    one = line()
    rollout = fitted(one)
    rollout.budget = 3 * 3 * 4 * 8 - 1
    message = (
        "the observed states along 3 directions: need 288 B, got a budget of 287 B; give it more `memory`"
    )
    with pytest.raises(EnergyError, match=message):
        rollout.curvature([drawn(one)] * 3)
    rollout.budget += 1
    rollout.curvature([drawn(one)] * 3)


# What is stored ---------------------------------------------------------------------------------------


def test_as_many_steps_are_taken_again_as_planned(monkeypatch):
    taken = []
    run = Integrator._run
    monkeypatch.setattr(Integrator, "_run", lambda self, n: taken.append(n) or run(self, n))
    for budget in (6_000, 12_000, 25_000, 1 << 20):
        rollout = judged(line(), 500, budget)
        taken.clear()
        rollout.evaluate(["q"])
        assert sum(taken) == 500 + rollout.plan.again, rollout.plan


def test_what_is_stored_is_within_the_plan():
    """Arrays as they are allocated; Python's own objects are allowed a few kilobytes."""
    one = chain()
    for budget in (1 << 20, 3 << 20):
        rollout = ended(one, 150, budget)
        rollout.evaluate(["x"])
        tape = sum(a.nbytes for a in rollout._recorded[()].tape.positions.values())
        gc.collect()
        tracemalloc.start()
        try:
            rollout.evaluate(["x"])
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert rollout.plan.stored <= budget
        assert tape + most < rollout.plan.stored + 60_000
        assert tape + most > 0.8 * rollout.plan.stored


@pytest.mark.parametrize("steps", counts(20_000, 100_000))
def test_a_hundred_thousand_steps_of_a_thousand_bodies(steps: int):
    """Within 256 MB, and right: a chain that moves as a whole takes its end along."""
    budget = 2_560 * steps
    rollout = ended(chain(), steps, budget)
    assert rollout.plan.stored <= budget
    before = _resident("VmRSS", begin=True)
    _, found = rollout.evaluate(["x", "v", "stiffening.k"])
    assert _resident("VmHWM") - before < budget + 50_000_000
    (loss,) = rollout.losses
    a, b = (loss.data[f"probe_x.{letter}"][0].sum(axis=0) for letter in "ab")
    end = steps * rollout.stepper.dt
    np.testing.assert_allclose(found["x"].sum(axis=0), a, atol=1e-8 * np.abs(found["x"]).sum())
    np.testing.assert_allclose(found["v"].sum(axis=0), end * a + b, atol=1e-8 * np.abs(found["v"]).sum())
    assert np.isfinite(found["stiffening.k"])


def _resident(what: str, begin: bool = False) -> int:
    """Bytes of this process in memory: now, or (VmHWM) at most since the beginning."""
    if begin:
        with open("/proc/self/clear_refs", "w") as marks:
            marks.write("5")
    with open("/proc/self/status") as status:
        return next(int(row.split()[1]) * 1024 for row in status if row.startswith(what))


# What stays as it was -----------------------------------------------------------------------------------


def bits(rollout: Rollout) -> list[bytes]:
    one = rollout.stepper
    arrays = [f.values for f in one.potential.fields.values()] + list(one.state().values())
    return [a.tobytes() for a in arrays + [d for loss in rollout.losses for d in _data(loss)]]


def _data(loss: Loss) -> list[np.ndarray]:
    return [a for part in loss.potential.parts.values() for a in part.data.values()]


@pytest.mark.parametrize("begun", [0, 5])
def test_every_question_leaves_all_as_it_was(begun, launches):
    """Also of a run that has gone on: each begins at the present fields, at the present time."""
    rollout = judged(line(), budget=9000)
    rollout.stepper.advance(begun)
    before, every = bits(rollout), names(rollout.stepper)
    value, found = rollout.evaluate(every)
    assert bits(rollout) == before
    rollout.value()
    assert bits(rollout) == before
    rollout.curvature([drawn(rollout.stepper)])
    assert bits(rollout) == before
    again, others = rollout.evaluate(every)
    assert again == value
    assert all(found[n].tobytes() == others[n].tobytes() for n in every)


def test_all_names_share_one_tape():
    rollout = judged(line())
    rollout.evaluate(["q"])
    rollout.evaluate(["m", "swing.k"])
    first, second = rollout._adjoints.values()
    assert first.tape is second.tape


# Refusals and trouble ------------------------------------------------------------------------------------


KNOWN = "there are: q, u, m, swing.k, swing.w, swing.rest, mud.c, slide.displacement, slide.velocity"


NEAR = {"swing": "swing.w", "swing.t": "swing.w", "swing.q": "swing.w", "mud.k": "mud.c"}


@pytest.mark.parametrize("name", ["swing", "swing.t", "swing.q", "k", "mud.k", "hold.q", "seen.target"])
def test_names_of_nothing_are_refused(name):
    rollout = judged(line())
    near = f"; did you mean '{NEAR[name]}'?" if name in NEAR else ""
    message = f"a run has no derivative with respect to '{name}'{near} ({KNOWN})"
    for ask in (rollout.evaluate, lambda some: rollout.curvature([dict.fromkeys(some, 1.0)])):
        with pytest.raises(EnergyError) as refused:
            ask([name])
        assert str(refused.value) == message


def test_what_maps_give_is_no_name():
    with pytest.raises(EnergyError, match="no derivative with respect to 'rho'"):
        Rollout(mapped(), [], 3).evaluate(["rho"])


def test_forces_that_depend_on_velocities_are_refused():
    one = line(damped=False)
    fields = one.potential.fields
    seeing = Potential(fields, [bind(seen, fields, data={"target": np.zeros(4)})])
    with pytest.raises(EnergyError, match="energy 'seen': reads the velocity 'u'"):
        Rollout(Integrator(System(seeing, one.motions), one.scheme, one.dt), [], 3).evaluate(["q"])


def test_losses_that_do_not_fit_are_refused():
    one = line()
    fields = one.potential.fields
    potential = Potential(fields, [bind(probe, fields, data={"a": np.zeros(4), "b": np.zeros(4)})])
    rows = np.zeros((2, 4))
    for steps, data, message in (
        (
            (1, 2),
            {"probe.a": rows[:1]},
            "loss: 'probe.a' needs a row for each of 2 steps, got 1; give one row each",
        ),
        (
            (1, 2),
            {"probe.a": rows[:, :1]},
            "loss: 'probe.a' needs rows of shape [4], got [1]; give one value for each element",
        ),
        (
            (1, 2),
            {"probe.c": rows},
            "loss: no datum 'probe.c'; did you mean 'probe.b'? (there are: probe.a, probe.b)",
        ),
        ((3, 1, 3), {}, "loss: step 3 is given twice; give it once"),
    ):
        with pytest.raises(EnergyError) as refused:
            Loss(potential, steps, data)
        assert str(refused.value) == message
    for step in (-1, 9):
        with pytest.raises(EnergyError) as refused:
            Rollout(one, [Loss(potential, (2, step))], 8)
        assert (
            str(refused.value) == f"loss: its steps must be within 0 to 8, got {step}; give steps of the run"
        )


def test_tangents_that_do_not_fit_are_refused():
    rollout = fitted(line())
    for name, values, shapes in (("m", np.ones(3), "[4], got [3]"), ("swing.k", 1.0, "[5], got []")):
        with pytest.raises(EnergyError) as refused:
            rollout.curvature([{name: values}])
        assert str(refused.value) == f"tangent of '{name}': needs shape {shapes}; reshape it"


def explosive() -> Rollout:
    """Bodies in wells in which steps of this length run away."""
    fields = Fields({"x": [[1.0, 0.5], [30.0, -20.0]], "v": np.zeros((2, 2))})
    one = Integrator(
        System(Potential(fields, [bind(well, fields)]), [Motion("x", "v")]), SCHEMES["leapfrog"], 0.5
    )
    losses, _ = probes(one, [30])
    return Rollout(one, losses, 30)


@pytest.mark.filterwarnings("error")
def test_a_run_that_explodes_is_worth_nan(launches):
    rollout = explosive()
    before = bits(rollout)
    value, found = rollout.evaluate(["x", "well.b"])
    assert np.isnan(value)
    assert np.isnan(found["x"]).all()
    assert np.isnan(found["well.b"]).all()
    assert rollout.trouble.startswith("step ")
    assert "node 1" in rollout.trouble
    assert np.isnan(rollout.value())
    with pytest.raises(NonFiniteError, match="node 1 is not finite"):
        rollout.curvature([{"x": np.ones((2, 2))}])
    assert bits(rollout) == before
    rollout.stepper.potential.fields["x"].set(np.full((2, 2), 0.1))
    assert np.isfinite(rollout.value())
    assert not rollout.trouble


def test_a_loss_that_is_nan_is_reported():
    one = line()
    rollout = judged(one)
    rollout.losses[0].data["seen.target"][1] = np.nan
    value, found = rollout.evaluate(["q"])
    assert np.isnan(value)
    assert np.isnan(found["q"]).all()
    assert rollout.trouble == "step 7: the loss is not finite"


# Damage -------------------------------------------------------------------------------------------------


def transposed(kind: str = "leapfrog") -> None:
    assert_transposed(line(kind))


def sloped(kind: str = "leapfrog") -> None:
    assert_differences(judged(line(kind)), 2e-3)


def cut() -> None:
    """In blocks, also of a step each, as in one."""
    every = ["q", "u", "m", "swing.k", "mud.c"]
    value, found = judged(line()).evaluate(every)
    for budget in (1500, 800):
        rollout = judged(line(), budget=budget)
        assert rollout.plan.again
        again, others = rollout.evaluate(every)
        assert value == pytest.approx(again, rel=1e-13)
        assert all(found[n].tobytes() == others[n].tobytes() for n in every)


def maps_sloped() -> None:
    one = mapped()
    assert_differences(Rollout(one, probes(one, LOOKS)[0], STEPS), 2.5e-4)


def looked_through(steps: tuple[int, ...]) -> tuple[Integrator, Callable[[], Loss]]:
    """A loss of what a map gives, whose parameters the run feels too; and how it is made."""
    one = mapped()
    fields, maps = one.potential.fields, list(one.potential.maps.values())
    look = bind(bowl, fields, name="look", renamed={"y": "rho"}, parameters={"k": 1.0})
    return one, lambda: Loss(Potential(fields, [look], maps), steps)


def test_a_loss_of_what_a_map_gives_has_the_slope_of_the_maps_parameters() -> None:
    """Against a loss that is rebuilt for each value, so that nothing of the old one is left over."""
    one, made = looked_through((0, 5))
    rollout, direction = Rollout(one, [made()], 5), drawn(one)
    value, found = rollout.evaluate(names(one))
    for name in ("electron_density.tilt", "electron_density.reach", "threshold.level"):
        values = []
        for by in (1e-4, -1e-4):
            with moved(one, {name: direction[name]}, by):
                values.append(Rollout(one, [made()], 5).value())
                assert rollout.value() == pytest.approx(values[-1], rel=1e-14)
        slope = dot(found, {name: direction[name]})
        assert slope == pytest.approx((values[0] - values[1]) / 2e-4, rel=1e-5), name
    assert rollout.value() == pytest.approx(value, rel=1e-14)


def test_curvature_looks_through_maps_without_what_they_bend() -> None:
    """J'J of what the map gives, for half the sum of its squares."""
    one, made = looked_through((3, 5))
    asked = ("x", "v", "electron_density.tilt")
    directions = [{n: w for n, w in drawn(one, seed).items() if n in asked} for seed in (1, 2)]
    found, rows = Rollout(one, [made()], 5).curvature(directions), []
    for direction in directions:
        ends = []
        for by in (1e-5, -1e-5):
            with moved(one, direction, by):
                ends.append(given(one, (3, 5)))
        rows.append((ends[0] - ends[1]) / 2e-5)
    expected = np.array(rows) @ np.array(rows).T
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.linalg.eigvalsh(found).min() > 0.0


def given(one: Integrator, steps: tuple[int, ...]) -> np.ndarray:
    """What the map gives after some steps."""
    seen = []
    with Rollout(one, [], steps[-1])._from_here():
        for step in steps:
            one.advance(step - one.step)
            one.potential.refresh(one.time)
            seen.append(one.potential.fields["rho"].values.copy())
    return np.concatenate(seen)


def test_another_step_length_is_obeyed_on_the_way_back() -> None:
    one = line()
    rollout = judged(one)
    rollout.evaluate(["q"])
    one.dt = 0.05
    value, slope = rollout.evaluate(["q"])
    assert value == pytest.approx(rollout.value(), rel=1e-14)
    np.testing.assert_allclose(slope["q"], judged(line(dt=0.05)).evaluate(["q"])[1]["q"], rtol=1e-12)


def test_who_else_asks_does_not_disturb_a_tangent() -> None:
    found = []
    for disturb in (False, True):
        one = line()
        one.evaluate()
        beside = Sensitivity(one, ["swing.k"])
        beside.start({"swing.k": drawn(one)["swing.k"]})
        if disturb:
            one.potential.product({"swing.k": np.full(one.potential.parameter("swing.k").shape, 9.0)}, "q")
        beside.advance(10)
        found.append(storage.host(beside.tangents["q"]).copy())
    np.testing.assert_array_equal(*found)


def test_a_run_of_what_has_no_inertia_is_none() -> None:
    one = space("leapfrog")
    rollout = Rollout(one, probes(one, (2,))[0], 2)
    assert np.isfinite(rollout.value())
    mass = one.potential.fields["m"]
    mass.set(np.where(np.arange(len(mass)) == 1, -1.0, mass.values))
    assert np.isnan(rollout.value())
    assert "moves with inertia -1 at node 1" in rollout.trouble
    with pytest.raises(NonFiniteError, match="moves with inertia -1 at node 1"):
        rollout.curvature([{"x": np.zeros(one.potential.fields["x"].shape)}])


def untouched() -> None:
    test_every_question_leaves_all_as_it_was(0, None)


def bent() -> None:
    test_curvature_is_how_the_gradient_changes_where_nothing_is_left_over(True, True, None)


def skips(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Leave a piece that is launched out, by the method that makes its loops."""

    def some(right, self: LaunchedPieces, piece: Piece, *rest) -> None:
        made = getattr(piece, "made", getattr(piece, "copied", None))
        if getattr(made, "func", made).__name__ != name if made else True:
            right(self, piece, *rest)

    return method(LaunchedPieces, "_launch", some)


def later(moment: MoveTime, by: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Moments of a kind at another time on the way back."""

    def some(right, self: LaunchedPieces, piece: Piece, *rest) -> None:
        right(self, piece, *rest)
        if piece is moment and self._interpreter == "adjoint":
            self.t += by

    return method(LaunchedPieces, "_launch", some)


def first_row(right, self, step):
    return right(self, self.steps[0])


def twice_the_end(right, self, first, end):
    """The last observed step of a block in the next one, too."""
    return ([first] if first in self.observed and first else []) + right(self, first, end)


def terms_that_read(right, potential, moved):
    return {n for n, part in potential.parts.items() if moved & {f.name for f in part.fields.values()}}


def begins_empty(right, self, first):
    self.tape.first = first


FUSED = {
    "kicks' products added": (text("l_q[n] = l_q[n] - h_q", "l_q[n] = l_q[n] + h_q"), transposed),
    "drift reversed": (text("l_u[n] + ti.f64(h) * l_q", "l_u[n] - ti.f64(h) * l_q"), transposed),
    "opening kick missing": (
        text("h = kicks[0] * dt\n        for n in range(w_q", "h = 0.0\n        for n in range(w_q"),
        transposed,
    ),
    "kicks in the order of the way there": (
        text(
            "kicks[move + 1] * dt\n            for n in range(w_q",
            "kicks[move] * dt\n            for n in range(w_q",
        ),
        partial(transposed, "symplectic_euler"),
    ),
    "moves in the order of the way there": (
        text("move = 2 - back", "move = back"),
        partial(transposed, "yoshida4"),
    ),
    "tape a row late": (text("* 1 + move + 1", "* 1 + move"), transposed),
    "time of the step's start at each force": (
        text("ends[move]) * dt\n            for n in range(g_q", "0.0) * dt\n            for n in range(g_q"),
        transposed,
    ),
    "holds forgotten": (text("l_q[n] * free_q[n]", "l_q[n]"), sloped),
    "kicks at supports": (text("free_q[n] * (ti.f64(h) * l_u", "(ti.f64(h) * l_u"), transposed),
    "inertia's force reversed": (text("l_m[n] + w_q[n]", "l_m[n] - w_q[n]"), transposed),
    "inertia forgotten in friction": (text("l_m[n] + w_u[n]", "l_m[n] + 0.0 * w_u[n]"), transposed),
    "what kicked is kept": (text("w_q[n] = 0.0", "w_q[n] = 0.5 * w_q[n]"), transposed),
    "friction's first stage missing": (text("after_u[n] = -h_u[n]", "after_u[n] = 0.0"), transposed),
    "friction's second stage of a whole step": (
        text("ti.f64(ti.f64(0.5) * h) * after_u", "ti.f64(h) * after_u"),
        transposed,
    ),
    "friction's second stage where the first was": (
        text("f_u[n] = before_u[n]\n", "f_u[n] = f_u[n]\n"),
        transposed,
    ),
    "parameters of the first row": (text("p3[loss0_row_of_c[e]", "p3[0"), sloped),
    "data of the first element": (text("p2[e, 0]", "p2[0, 0]"), sloped),
    "tangents kicked without the change of inertia": (
        text(" - g_q[n] * w_m[n]", " - 0.0 * w_m[n]"),
        transposed,
    ),
    "tangents of what is held": (text("w_q[n] * free_q[n]", "w_q[n]"), bent),
    "losses of another row": (method(Loss, "set_data", first_row), transposed),
    "a block's end looked at twice": (method(Rollout, "_stops", twice_the_end), cut),
    "a tape without its first row": (method(Integrator, "begin_tape", begins_empty), transposed),
    "adjoints of the last question": (method(Backward, "clear", lambda *_: None), untouched),
    "initial kicks forgotten": (method(Backward, "finish", lambda *_: None), transposed),
    "data left as the last look": (
        method(Rollout, "_restore", lambda right, self, one, state: None),
        untouched,
    ),
    "parameters of what maps give": (method(backward, "felt", terms_that_read), maps_sloped),
}

UNFUSED = {
    "supports' adjoints kept": (skips("_hold"), sloped),
    "drift forgotten": (skips("_drift"), transposed),
    "friction's first stage forgotten": (skips("_take_first"), transposed),
    "fields left at the step's end": (skips("read_positions"), transposed),
    "velocities left where they were": (skips("read_velocities"), transposed),
    "forces at other times than those of drifts' ends": (later(DRIFT_END, -0.1), transposed),
    "friction at another time": (later(STEP_END, 0.1), transposed),
    "a tangent's friction forgotten": (skips("_slow"), transposed),
    "parameters' changes added": (
        method(Backward, "_take", lambda right, self, found: right(self, {n: -a for n, a in found.items()})),
        transposed,
    ),
}


@pytest.mark.parametrize("name", sampled(FUSED, [*FUSED][::5]))
def test_damage_is_seen(name, monkeypatch):
    assert_seen(*FUSED[name], monkeypatch)


@pytest.mark.parametrize("name", sampled(UNFUSED, [*UNFUSED][::5]))
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
        value, slopes = ended(chain(5000), 10).evaluate(["x", "v", "m", "stiffening.k"])
        found.append((value, *(a.tobytes() for a in slopes.values())))
    assert found[0] == found[1]
