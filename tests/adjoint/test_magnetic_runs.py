"""Derivatives of runs in magnetic fields: adjoint, tangents and differences agree; budgets, fits, tensors."""

from functools import partial

import numpy as np
import pytest

from minusgrad import Datum, Node, Potential, bind, local_energy
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.tangents import Sensitivity
from minusgrad.energies.fields import Hold
from minusgrad.energies.magnetic_field import uniform_field
from minusgrad.errors import EnergyError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from tests.support.charges import MOTION, along, bottle, fields, moving, sheet, well
from tests.support.rollouts import STENCIL
from tests.support.tiers import sampled

V, X = Node("m s^-1", ("d",)), Node("m", ("d",))
FIELDS = {
    "uniform in space": (3, uniform_field, along(3)),
    "uniform in the plane": (2, uniform_field, along(2)),
    "bottle": (3, bottle, {"B0": 1.2, "length": 1.7}),
    "sheet": (2, sheet, {"B0": 0.9, "length": 1.3}),
}


@local_energy("seen", over="nodes", x=X, v=V, aim=Datum("m", ("d",)))
def seen(x, v, aim):
    """A loss of places and velocities."""
    r = x[0] - aim
    return 0.3 * r.dot(r) + x[0][0] * v[0][1] + v[0][0] ** 3


def dragged(of) -> Potential:
    @local_energy("drag", over="nodes", v=V, m=Node("kg"), x=X)
    def drag(v, m, x):
        """Friction that depends on the place."""
        return 0.1 * m[0] * (1.0 + x[0].dot(x[0])) * v[0].dot(v[0])

    return Potential(of, [bind(drag, of)])


def system(kind: str, scheme: str = "yoshida4", more: str = "") -> Integrator:
    """Three charges; `more`: one of them outside the body, or with friction, or one node held."""
    d, field, parameters = FIELDS[kind]
    of = fields(d)
    given = {"dissipation": dragged(of)} if more == "friction" else {}
    if more == "held":
        given["holds"] = Holds(of, [Hold("pin", "x", np.array([1]))], [MOTION])
    body, charge = ([0, 2], 1.3) if more == "body" else (None, "q")
    return moving(of, scheme, 0.11, field, parameters, charge, {well: 1.0}, body, **given)


def rollout(one: Integrator, steps: int = 9, **budget) -> Rollout:
    of = one.potential.fields
    loss = Potential(of, [bind(seen, of, data={"aim": 0.1 * np.ones(of["x"].shape)})])
    return Rollout(one, [Loss(loss, (steps // 2, steps))], steps, **budget)


def names(one: Integrator) -> list[str]:
    """All that the run depends on."""
    flows = one.magnetic.potential
    term = flows.terms["field"]
    read = [n for n in ("x", "v", "m", "q") if n in flows.reads]
    return [*read, "well.k", *(f"field.{a}" for a in term.parameters)]


def values(one: Integrator, name: str) -> tuple[np.ndarray, object]:
    """The values of a field or a parameter, and how to set them."""
    of = one.potential.fields
    if name in of:
        return of[name].values.astype(float), of[name].set
    owner = next(p for p in one.system.potentials if name.partition(".")[0] in p.parts)
    return owner.parameter(name).astype(float), partial(owner.set_parameter, name)


def by_differences(run: Rollout, name: str, direction: np.ndarray) -> float:
    """The derivative of the loss along a direction, by differences of order 6."""
    start, put = values(run.stepper, name)
    total = 0.0
    for k, weight in STENCIL.items():
        for sign in (1.0, -1.0):
            put(start + sign * k * 1e-3 * direction)
            total += sign * weight * run.value()
    put(start)
    return total / 1e-3


def scheme_for(more: str) -> str:
    return "leapfrog" if more == "friction" else "yoshida4"


EVERY = [f"{kind}, {more}" for kind in FIELDS for more in ("alone", "body", "friction", "held")]
FEW = ["uniform in space, alone", "uniform in the plane, friction", "bottle, body", "sheet, held"]
CASES = sampled(EVERY, FEW)


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_that_of_differences(case, launches):
    kind, _, more = case.partition(", ")
    run, rng = rollout(system(kind, scheme_for(more), more)), np.random.default_rng(0)
    assert run.stepper.fused == (launches == "fused")
    wanted = names(run.stepper)
    _, found = run.evaluate(wanted)
    for name in wanted:
        start, _ = values(run.stepper, name)
        direction = rng.normal(size=start.shape)
        if name in ("x", "v") and more == "held":
            assert not found[name][1].any()
            direction[1] = 0.0
        expected = by_differences(run, name, direction)
        assert abs(expected) > 1e-3, name
        assert np.sum(found[name] * direction) == pytest.approx(expected, rel=1e-8), name


@pytest.mark.parametrize("case", CASES)
def test_tangents_are_the_transpose_of_the_adjoint(case, launches):
    """<dL, J d> by tangents beside the run = <J' dL, d> by the adjoint; the run beside them is the run."""
    kind, _, more = case.partition(", ")
    run, rng = rollout(system(kind, "leapfrog", more)), np.random.default_rng(1)
    one, wanted = run.stepper, names(run.stepper)
    _, found = run.evaluate(wanted)
    direction = {n: rng.normal(size=values(one, n)[0].shape) for n in wanted}
    total = sum(float(np.sum(found[n] * direction[n])) for n in wanted)
    state, loss = run._state(one), run.losses[0]
    beside, product = Sensitivity(one, wanted), 0.0
    one.evaluate()
    beside.start(direction)
    for step in loss.steps:
        beside.advance(step - one.step)
        _, slopes = loss.evaluate(step, one.time, ["x", "v"])
        product += sum(float(np.sum(slopes[n] * np.asarray(beside.tangents[n]))) for n in ("x", "v"))
    assert product == pytest.approx(total, rel=1e-10)
    here = [one.potential.fields[n].values.copy() for n in "xv"]
    run._restore(one, state)
    one.evaluate()
    one.advance(9)
    for name, values_here in zip("xv", here, strict=True):
        np.testing.assert_allclose(one.potential.fields[name].values, values_here, rtol=1e-13, atol=1e-13)


def test_the_gradient_has_the_same_bits_in_every_budget():
    """Some states are recomputed; the tape has the velocities that a field turned."""
    whole, wanted = rollout(system("bottle", more="body"), 40), names(system("bottle", more="body"))
    value, found = whole.evaluate(wanted)
    assert not whole.plan.again
    least = next(b for b in range(1000, 60_000, 500) if _fits(b))
    for budget in (least, 2 * least):
        small = rollout(system("bottle", more="body"), 40, budget=budget)
        again, slopes = small.evaluate(wanted)
        assert small.plan.again
        assert again == value
        for name in wanted:
            np.testing.assert_array_equal(slopes[name], found[name])


def _fits(budget: int) -> bool:
    try:
        rollout(system("bottle", more="body"), 40, budget=budget)
    except EnergyError:
        return False
    return True


def test_curvature_is_that_of_the_gradient_at_the_bottom():
    """The Gauss-Newton matrix of a sum of squares whose residuals vanish is the Hessian: by differences."""

    @local_energy("aimed", over="nodes", x=X, aim=Datum("m", ("d",)))
    def aimed(x, aim):
        r = x[0] - aim
        return 0.5 * r.dot(r)

    one = system("bottle")
    of, start = one.potential.fields, one.potential.fields.twin()
    one.advance(9)
    aim = of["x"].values.copy()
    for name in "xv":
        of[name].set(start[name].values)
    run = Rollout(one, [Loss(Potential(of, [bind(aimed, of, data={"aim": aim})]), (9,))], 9)
    wanted = ["field.B0", "field.length"]
    matrix = run.curvature([{n: np.array(1.0)} for n in wanted])
    for k, name in enumerate(wanted):
        value, put = values(one, name)
        slopes = []
        for sign in (1.0, -1.0):
            put(value + sign * 1e-4)
            slopes.append(np.array([run.evaluate(wanted)[1][n] for n in wanted]))
        put(value)
        np.testing.assert_allclose((slopes[0] - slopes[1]) / 2e-4, matrix[k], rtol=1e-5)
