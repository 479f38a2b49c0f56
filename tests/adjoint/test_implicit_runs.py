"""Derivatives of implicit runs against differences of sixth order, and against tangents.

Each scheme, with and without friction, between a support that turns and one that moves, through substeps.
"""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.adjoint.implicit.implicit_adjoint import ImplicitAdjoint
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.energies.misfit import misfit
from minusgrad.errors import EnergyError, UnsolvedStepError
from minusgrad.solvers.linear_solver import LinearSolver
from minusgrad.solvers.sparse_system import SparseSystem
from minusgrad.steppers.implicit.implicit_integrator import ImplicitIntegrator
from tests.support.implicit_runs import KINDS, swing
from tests.support.tiers import sampled

STEPS, DT = 6, 0.15
OF_U, OF_R = ("k", "q", "b", "rest"), ("c", "e")


def misfits(fields: Fields) -> list:
    rng = np.random.default_rng(1)
    return [
        bind(
            misfit(fields[name]),
            fields,
            name=f"misfit_{name}",
            renamed={"x": name},
            data={"target": rng.normal(size=(4, 2))},
            parameters={"sigma": 0.7},
        )
        for name in "xv"
    ]


def rollout(one: ImplicitIntegrator, budget: int = 1 << 30) -> Rollout:
    """Misfits of all states, those of held nodes among them, at three steps."""
    fields = one.potential.fields
    return Rollout(one, [Loss(Potential(fields, misfits(fields)), (2, 4, STEPS))], STEPS, budget)


def names(one: ImplicitIntegrator) -> list[str]:
    lost = [f"rub.{a}" for a in OF_R] if one.dissipation else []
    return ["x", "v", "m", *(f"stiffening.{a}" for a in OF_U), *lost]


def differences(run: Rollout, name: str, direction: np.ndarray, h: float = 2e-3) -> float:
    """dL along a direction of one field or parameter, of sixth order."""
    one = run.stepper
    fields, potential = one.potential.fields, one.potential
    if name.startswith("rub"):
        assert one.dissipation
        potential = one.dissipation
    base = fields[name].values.copy() if name in fields else np.array(potential.parameter(name))

    def put(values: np.ndarray) -> None:
        fields[name].set(values) if name in fields else potential.set_parameter(name, values)

    def loss(part: int) -> float:
        put(base + part * h * direction)
        return run.value()

    found = sum(c * (loss(k) - loss(-k)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)
    put(base)
    return found


def assert_differences(run: Rollout, bound: float = 1e-8) -> None:
    value, found = run.evaluate(names(run.stepper))
    assert value == pytest.approx(run.value(), rel=1e-14)
    assert not found["x"][2:].any()
    assert not found["v"][2:].any()
    rng = np.random.default_rng(5)
    for name in names(run.stepper):
        direction = rng.normal(size=found[name].shape)
        if name in ("x", "v"):
            direction[2:] = 0.0
        expected = differences(run, name, direction)
        assert abs(expected) > 1e-4, name
        assert float((found[name] * direction).sum()) == pytest.approx(expected, rel=bound), name


ROWS = [(kind, damped) for kind in KINDS for damped in (True, False)]


@pytest.mark.parametrize("row", sampled(ROWS, [("bdf2", True), ("implicit_midpoint", False)]), ids=str)
def test_gradient_against_differences(row: tuple[str, bool]) -> None:
    """Each scheme, with and without friction."""
    kind, damped = row
    assert_differences(rollout(swing(kind, DT, damped)))


def divided(one: ImplicitIntegrator) -> ImplicitIntegrator:
    """The second and the fourth step are taken in 2 and in 4 substeps."""
    real = ImplicitIntegrator.with_tape

    def divide(some: ImplicitIntegrator) -> ImplicitIntegrator:
        some._divisions = lambda: [{1: 2, 3: 4}.get(some.step, 1)]  # type: ignore[method-assign]
        return some

    one.with_tape = lambda tape: divide(real(one, tape))  # type: ignore[method-assign]
    return divide(one)


@pytest.mark.parametrize("kind", sampled(KINDS, ["newmark"]))
def test_gradient_through_substeps(kind: str) -> None:
    assert_differences(rollout(divided(swing(kind, DT))))


def test_attempts_that_failed_leave_nothing_on_the_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of two substeps is solved, the second is not; then four are."""
    real, failed = ImplicitIntegrator._substep, []

    def substep(self: ImplicitIntegrator, part: int, parts: int) -> None:
        if (part, parts) == (1, 2):
            failed.append(self.step)
            raise UnsolvedStepError("not this time")
        real(self, part, parts)

    monkeypatch.setattr(ImplicitIntegrator, "_substep", substep)
    monkeypatch.setattr(ImplicitIntegrator, "_divisions", lambda self: [2, 4] if self.step == 2 else [1])
    run = rollout(swing("bdf2", DT))
    _, found = run.evaluate(["x", "stiffening.k"])
    assert failed
    direction = np.array(1.0)
    assert float(found["stiffening.k"]) == pytest.approx(
        differences(run, "stiffening.k", direction), rel=1e-8
    )


@pytest.mark.parametrize("kind", sampled(KINDS, ["bdf2"]))
def test_gradients_that_are_recomputed_are_the_same_bits(kind: str) -> None:
    """Within a budget of a few states, blocks of steps are taken once more."""
    whole = rollout(swing(kind, DT))
    small = rollout(swing(kind, DT), budget=2700)
    assert whole.plan.again == 0 < small.plan.again
    one, two = (run.evaluate(names(run.stepper))[1] for run in (whole, small))
    assert all(np.array_equal(one[name], two[name]) for name in one)


def tangent(one: ImplicitIntegrator, direction: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The tangents of x and v at the last step."""
    run = rollout(one)
    with run._from_here():
        beside = run._beside(list(direction))
        beside.start([direction])
        beside.advance(STEPS)
        return {n: np.array(beside.along[0][n]) for n in "xv"}


def whole(one: ImplicitIntegrator) -> ImplicitIntegrator:
    """Every step in one part."""
    return one


@pytest.mark.parametrize("through", sampled([whole, divided], [divided]))
@pytest.mark.parametrize("kind", KINDS)
def test_back_is_there_transposed(kind: str, through: Callable) -> None:
    """<J d, s> = <d, J' s>, to rounding."""
    one = through(swing(kind, DT))
    rng, run = np.random.default_rng(7), rollout(one)
    direction = {n: rng.normal(size=s) for n, s in (("x", (4, 2)), ("v", (4, 2)), ("m", (4,)))}
    direction |= {n: np.array(rng.normal()) for n in names(one) if "." in n}
    there = tangent(one, direction)
    seeds = {n: rng.normal(size=(4, 2)) for n in "xv"}
    with run._from_here():
        recorded = one.with_tape(run._derivation.recorded(STEPS, ()).tape)
        back = ImplicitAdjoint(recorded, list(direction))
        recorded.begin_tape(0)
        recorded.advance(STEPS)
        back.clear()
        back.add(seeds)
        back.back(STEPS, STEPS)
        back.finish()
        found = {n: back.found(n) for n in direction}
    forward = [float((there[n] * seeds[n])[:2].sum()) for n in "xv"]
    backward = [float((found[n] * direction[n]).sum()) for n in direction]
    assert abs(sum(forward)) > 1e-2
    assert sum(forward) == pytest.approx(sum(backward), rel=1e-11)


@pytest.mark.parametrize("kind", sampled(KINDS, ["newmark"]))
def test_directions_that_share_a_run_have_the_bits_of_each_alone(kind: str) -> None:
    """Masses, parameters and initial fields; one factorization for each substep, whatever their number."""
    one = divided(swing(kind, DT))
    run, rng = rollout(one), np.random.default_rng(11)
    shapes = {n: np.shape(values) for n, values in run.evaluate(names(one))[1].items()}
    directions = [{n: rng.normal(size=s) for n, s in shapes.items()} for _ in range(5)]
    together = run.curvature(directions)
    alone = [run.curvature([directions[0], d])[0, 1] for d in directions[1:]]
    assert np.array_equal(together[0, 1:], alone)
    few, many = (factorizations(run, directions[:k]) for k in (1, 5))
    assert few == many > 0
    size = run._beside(list(shapes)).size
    assert size is not None
    run.budget = 2 * size
    assert np.array_equal(run.curvature(directions), together)
    assert factorizations(run, directions) > 2 * many


def factorizations(run: Rollout, directions: list[dict[str, np.ndarray]]) -> int:
    """How many matrices a Gauss-Newton matrix needs, those of the run's own steps among them."""
    count, real = 0, LinearSolver.factor

    def factor(self: LinearSolver, system: SparseSystem) -> None:
        nonlocal count
        count += 1
        real(self, system)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LinearSolver, "factor", factor)
        run.curvature(directions)
    return count


def test_single_precision_is_near_double() -> None:
    one, two = (rollout(swing("bdf2", DT, precision=p)) for p in ("f32", "f64"))
    (_, single), (_, double) = (run.evaluate(["x", "m", "rub.c"]) for run in (one, two))
    assert single["x"].dtype == np.float32
    for name, values in double.items():
        np.testing.assert_allclose(single[name], values, atol=3e-4 * np.abs(values).max())


def test_a_run_that_is_not_solved_has_no_loss() -> None:
    """NaN, and the reason."""
    one = swing("implicit_euler", DT)
    run = rollout(one)
    one._divisions = lambda: [1]  # type: ignore[method-assign]
    one.potential.set_parameter("stiffening.k", np.nan)
    assert np.isnan(run.value())
    assert run.trouble


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(EnergyError, match=r"^a run has no derivative with respect to 'rub\.f'"):
        rollout(swing("newmark", DT)).evaluate(["rub.f"])
