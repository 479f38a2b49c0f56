"""Derivatives of constrained runs against differences of sixth order, and of tangents against adjoints.

Bounds are relative to the size of what is summed. Parts of the way back are damaged to see the tests fail.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from minusgrad import Hold, Potential, Rotation, bind
from minusgrad.adjoint.constrained.constrained_adjoint import ConstrainedAdjoint
from minusgrad.adjoint.constrained.constrained_tangents import ConstrainedTangents
from minusgrad.adjoint.losses import Loss, ObservedStates
from minusgrad.adjoint.rollout import Rollout
from minusgrad.energies.misfit import misfit
from minusgrad.errors import EnergyError, UnsolvedStepError
from minusgrad.steppers.constrained.constrained_moves import ConstrainedMoves
from minusgrad.steppers.constrained.group_projections import GroupProjections
from minusgrad.steppers.constrained.kernel_projections import KernelProjections
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.systems.system import System
from tests.support.driven_chain import driven_chain
from tests.support.held_motions import difference
from tests.support.rollouts import STENCIL, differences, drawn, moved, probes
from tests.support.small_molecules import molecules
from tests.support.tiers import sampled

STEPS, LOOKS = 6, (0, 2, 6)
STRIDES = (2e-3, 5e-4)
"""The better one counts: a longer one has the larger error of its order, a shorter one of rounding."""
ROWS = [
    (kind, d, driven, damped, held, seed)
    for seed, (kind, d, driven, damped, held) in enumerate(
        product(("leapfrog", "symplectic_euler", "yoshida4"), (2, 3), *[(True, False)] * 3)
    )
]
KEPT = [row for row in ROWS if row[:5] == ("leapfrog", 2, True, True, True)]


def run(one: Integrator, budget: int = 1 << 30) -> Rollout:
    """Linear losses of all states, those of the start among them."""
    return Rollout(one, probes(one, LOOKS)[0], STEPS, budget)


def errors(
    one: Integrator, stride: tuple[float, ...] = STRIDES, only: tuple[str, ...] = ()
) -> dict[str, float]:
    """The difference of dL along a random direction of each name from differences, relative."""
    rollout, every, found = run(one), drawn(one), {}
    every = {name: w for name, w in every.items() if not only or name in only}
    _, gradient = rollout.evaluate(list(every))
    assert rollout.trouble == ""
    for name, direction in every.items():
        mine = float((gradient[name] * direction).sum())
        scale = 1.0 + float(np.abs(gradient[name] * direction).sum())
        expected = [differences(rollout, {name: direction}, h) for h in stride]
        found[name] = min(abs(mine - other) for other in expected) / scale
    return found


@pytest.mark.parametrize("row", sampled(ROWS, KEPT), ids=str)
def test_gradient_against_differences(row: tuple) -> None:
    """Schemes, in the plane and in space, driven, with friction, on a pivot that moves."""
    kind, d, driven, damped, held, seed = row
    found = errors(driven_chain(kind, d, driven=driven, damped=damped, held=held, seed=seed))
    assert max(found.values()) < 1e-10, found


def test_gradient_of_many_small_groups_against_differences() -> None:
    """Each group is projected on its own; the way back is that of all constraints."""
    one = molecules({"water": 16})
    assert one._constrained
    assert type(one._constrained.projections) is GroupProjections
    found = errors(one, only=("x", "v", "m", "rod.length"))
    assert len(found) == 4
    assert max(found.values()) < 1e-10, found


def tangents(one: Integrator) -> list[tuple[float, float]]:
    """<J d, s> and <d, J' s> for a direction in each name; all directions share the run."""
    rollout, every, seeds = run(one), drawn(one), probes(one, LOOKS)[1]
    _, found = rollout.evaluate(list(every))
    directions = [{name: w} for name, w in every.items()]
    beside = rollout._derivation.tangents(list(every))
    totals = np.zeros(len(directions))
    with rollout._from_here():
        rollout._derivation.begin()
        beside.start(directions)
        for row, stop in enumerate(LOOKS):
            beside.advance(stop - one.step)
            for name, rows in seeds.items():
                totals += [float((along[name] * rows[row]).sum()) for along in beside.along]
    mine = [float((found[name] * w).sum()) for name, w in every.items()]
    return list(zip(totals.tolist(), mine, strict=True))


@pytest.mark.parametrize("row", sampled(ROWS, KEPT), ids=str)
def test_tangents_and_adjoint_are_transposes(row: tuple) -> None:
    kind, d, driven, damped, held, seed = row
    pairs = tangents(driven_chain(kind, d, driven=driven, damped=damped, held=held, seed=seed))
    for found, expected in pairs:
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The third step is solved in four substeps only; the second of two fails, once the first was taken."""
    real, failed = KernelProjections.positions, list[float]()

    def positions(self: KernelProjections, h: float, t: float, guess: np.ndarray) -> np.ndarray:
        if h != 1.0 and 0.12 < t < 0.151 and h > 0.02:
            failed.append(h)
            raise UnsolvedStepError("not this time")
        return real(self, h, t, guess)

    monkeypatch.setattr(KernelProjections, "positions", positions)
    monkeypatch.setattr(ConstrainedMoves, "steps_in_kernels", lambda self: False)
    return failed


def test_gradient_through_substeps(stubborn: list[float]) -> None:
    found = errors(driven_chain(), only=("x", "v", "rod.length"))
    assert {0.05, 0.025} <= set(stubborn)
    assert max(found.values()) < 1e-10, found


def test_gradients_that_are_recomputed_are_the_same_bits() -> None:
    """Within a budget of a few states, blocks of steps are taken once more."""
    one = driven_chain()
    whole, small = run(one), run(one, 6000)
    assert whole.plan.again == 0 < small.plan.again
    assert "storing all 6 steps" in str(whole.plan)
    every = list(drawn(one))
    first, second = (rollout.evaluate(every)[1] for rollout in (whole, small))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    again = whole.evaluate(every)[1]
    assert all(np.array_equal(first[name], again[name]) for name in first)


def test_earlier_steps_leave_nothing_behind() -> None:
    """The multipliers with which iterations begin are those of the run, and not of steps before it."""
    one = driven_chain()
    fields, rollout = one.potential.fields, run(one)
    start, clock = {n: fields[n].values.copy() for n in "xv"}, one.clock
    first = rollout.evaluate(["x", "rod.length"])
    one.advance(3)
    for name, values in start.items():
        fields[name].set(values)
    one.clock = clock
    second = rollout.evaluate(["x", "rod.length"])
    assert first[0] == second[0]
    assert all(np.array_equal(first[1][name], second[1][name]) for name in first[1])


def test_the_gauss_newton_matrix() -> None:
    """J' J / sigma^2 of a misfit along three directions, J by differences of states of sixth order."""
    one = driven_chain()
    fields, every = one.potential.fields, drawn(one)
    directions = [{"x": every["x"], "m": every["m"]}, {"rod.length": every["rod.length"]}, {"v": every["v"]}]
    term = bind(misfit(fields["x"]), fields, data={"target": np.zeros((5, 2))}, parameters={"sigma": 0.7})
    found = Rollout(one, [Loss(Potential(fields, [term]), (STEPS,))], STEPS).curvature(
        [{n: d.get(n, 0.0 * w) for n, w in every.items()} for d in directions]
    )
    seen = ObservedStates(fields, ["x"], [STEPS])
    rollout = Rollout(one, [seen], STEPS)

    def end(direction: dict[str, np.ndarray], by: float) -> np.ndarray:
        seen.kept = {"x": np.zeros((1, 5, 2))}
        with moved(one, direction, by):
            rollout.value()
        return seen.kept["x"][0]

    h = 1e-3
    slopes = [
        sum(w / h * (end(d, k * h) - end(d, -k * h)) for k, w in STENCIL.items()).ravel() for d in directions
    ]
    jacobian = np.stack(slopes)
    np.testing.assert_allclose(found, jacobian @ jacobian.T / 0.49, rtol=1e-8, atol=1e-8)


@pytest.mark.long
def test_single_precision() -> None:
    """Gradients agree with those in double precision to some parts in 10^4."""
    double, single = driven_chain(), driven_chain(precision="f32")
    every = drawn(double)
    exact, found = (run(one).evaluate(list(every))[1] for one in (double, single))
    assert found["x"].dtype == np.float32
    for name, values in exact.items():
        np.testing.assert_allclose(
            found[name], values, atol=5e-4 * (np.abs(values).max() + 1.0), err_msg=name
        )


def test_the_start_and_the_lengths_are_projected() -> None:
    """A start that no longer fulfils its rods is moved onto them, and velocities are tangent; fields stay."""
    one = driven_chain()
    assert one.constraints
    rod, fields = one.constraints.terms["rod"], one.potential.fields
    x, v, lengths = fields["x"].values.copy(), fields["v"].values.copy(), np.array(rod.data["length"])
    rod.set_datum("length", 1.1 * lengths)
    equations, seen = one.constraints.equations(["x"]), list[float]()

    def looked(self: object, *given: object) -> float:
        equations.load(one.time)
        seen.append(float(np.abs(equations.values()).max()))
        velocity = fields["v"].values.ravel()
        seen.append(float(np.abs(equations.jacobian() @ velocity + equations.rates()).max()))
        return 0.0

    losses = probes(one, (0, 3))[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(losses[0]), "value", looked)
        Rollout(one, losses, 3).value()
    assert len(seen) == 4
    assert max(seen) < 1e-13
    np.testing.assert_array_equal(fields["x"].values, x)
    np.testing.assert_array_equal(fields["v"].values, v)


def test_an_integrator_begins_where_the_run_of_a_fit_does() -> None:
    """A start that is far from its rods, moved there by `project_start` and by the run: the same place."""
    one = driven_chain(damped=False, held=False)
    fields, kept = one.potential.fields, one.constraints
    assert kept
    kept.terms["rod"].set_datum("length", 1.3 * np.array(kept.terms["rod"].data["length"]))
    x, v = fields["x"].values.copy(), fields["v"].values.copy()
    one.project_start()
    found = fields["x"].values.copy(), fields["v"].values.copy()
    fields["x"].set(x)
    fields["v"].set(v)
    Integrator(System(one.potential, one.motions, constraints=kept), one.scheme, one.dt)
    assert np.abs(found[0] - x).max() > 0.1
    np.testing.assert_allclose(fields["x"].values, found[0], atol=1e-15)
    np.testing.assert_allclose(fields["v"].values, found[1], atol=1e-14)


def test_masses_that_were_written_count() -> None:
    """Between two steps of a run, as for an integrator that is made then."""
    one, two = driven_chain(), driven_chain()
    for stepper in (one, two):
        stepper.advance(2)
        stepper.potential.fields["m"].set([0.4, 2.0, 0.7, 1.1, 3.0])
    fields = two.potential.fields
    fresh = Integrator(two.system, two.scheme, two.dt, two.time)
    one.advance(3)
    fresh.advance(3)
    for name in "xv":
        np.testing.assert_allclose(one.potential.fields[name].values, fields[name].values, atol=1e-12)


def test_a_start_that_no_projection_reaches() -> None:
    """The loss is NaN, and the rod is named: a fit takes a shorter step then."""
    one = driven_chain()
    assert one.constraints
    one.constraints.terms["rod"].set_datum("length", [1e-3, 9.0, 0.7, 0.7])
    rollout = run(one)
    value, found = rollout.evaluate(["x"])
    assert np.isnan(value)
    assert np.isnan(found["x"]).all()
    assert "Newton's method does not reach it" in rollout.trouble or "singular" in rollout.trouble


AT_ONCE = Hold("pivot", "x", np.array([0]), displacement=(0.05, -0.1), velocity=(0.3, 0.2))
TURNING = Hold("pivot", "x", np.array([0]), rotation=Rotation((0.4, -0.3), angle=0.5, rate=0.7), duration=0.4)
MOVED = [
    ("leapfrog", AT_ONCE, ("pivot.displacement", "pivot.velocity")),
    pytest.param("yoshida4", TURNING, ("pivot.angle", "pivot.rate"), marks=pytest.mark.long),
]


@pytest.mark.parametrize(("kind", "path", "numbers"), MOVED, ids=["displaced", "turned"])
def test_derivatives_by_the_numbers_of_holds(kind: str, path: Hold, numbers: tuple[str, ...]) -> None:
    """Of a driven chain with friction on a pivot that moves: differences of sixth order, and tangents."""
    one = driven_chain(kind, path=path)
    rollout = run(one)
    names = ["x", "rod.length", *numbers]
    _, found = rollout.evaluate(names)
    directions = [
        {name: np.random.default_rng(seed).normal(size=found[name].shape)}
        for seed, name in enumerate(numbers)
    ]
    for direction, name in zip(directions, numbers, strict=True):
        expected = difference(rollout, name, direction[name])
        assert abs(expected) > 1e-3
        assert float((found[name] * direction[name]).sum()) == pytest.approx(expected, rel=1e-9), name
    beside, seeds = rollout._derivation.tangents(names), probes(one, LOOKS)[1]
    totals = np.zeros(len(directions))
    with rollout._from_here():
        rollout._derivation.begin()
        beside.start(directions)
        for row, stop in enumerate(LOOKS):
            beside.advance(stop - one.step)
            for name, rows in seeds.items():
                totals += [float((along[name] * rows[row]).sum()) for along in beside.along]
    for total, direction, name in zip(totals, directions, numbers, strict=True):
        assert total == pytest.approx(float((found[name] * direction[name]).sum()), rel=1e-11)


def test_multipliers_are_no_input() -> None:
    with pytest.raises(EnergyError, match=r"no derivative with respect to 'rod\.multiplier'"):
        run(driven_chain()).evaluate(["rod.multiplier"])


def _scaled(name: str) -> Callable[[pytest.MonkeyPatch, type], None]:
    def damage(patch: pytest.MonkeyPatch, kind: type) -> None:
        real = getattr(kind, name)
        patch.setattr(kind, name, lambda *given: 1.001 * real(*given))

    return damage


DAMAGE = [
    (ConstrainedAdjoint, "_bent"),
    (ConstrainedAdjoint, "_product"),
    (ConstrainedAdjoint, "_force"),
    (ConstrainedTangents, "_bent"),
    (ConstrainedTangents, "_off"),
    (ConstrainedTangents, "_rate"),
    (ConstrainedTangents, "_acceleration"),
]


@pytest.mark.parametrize("part", sampled(DAMAGE, []), ids=lambda part: f"{part[0].__name__}{part[1]}")
def test_damage_is_seen(part: tuple[type, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that is a thousandth too large breaks the agreement of tangents and adjoint."""
    kind, name = part
    one = driven_chain()
    _scaled(name)(monkeypatch, kind)
    assert any(abs(a - b) > 1e-6 * (1.0 + abs(b)) for a, b in tangents(one))
