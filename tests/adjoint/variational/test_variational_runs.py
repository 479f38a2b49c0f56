"""Derivatives of variational runs against differences of sixth order, and adjoints against tangents."""

import numpy as np
import pytest

from minusgrad.adjoint.checks.first_step import of_first_step
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.variational.impulse_adjoint import ImpulseAdjoint
from minusgrad.energies.fields import Hold, Motion
from minusgrad.energies.misfit import misfit
from minusgrad.energies.term import bind
from minusgrad.errors import EnergyError
from minusgrad.potential.potential import Potential
from minusgrad.steppers.variational.variational_integrator import VariationalIntegrator
from tests.support import lagrangians as books
from tests.support.lagrangians import made
from tests.support.tiers import sampled

STEPS, DT = 6, 0.07


def chained(n: int, order: int, held: bool = False) -> VariationalIntegrator:
    """Coupled pendula with weights and a drag that depends on the place."""
    tuples = [[k, k + 1] for k in range(n - 1)]
    values = {"q": np.linspace(0.3, 1.2, n), "v": np.linspace(-0.5, 0.4, n)}
    link = (
        books.linked,
        {"tuples": tuples, "data": {"c": np.linspace(1.0, 2.0, n - 1)}, "parameters": {"m": 1.3}},
    )
    weight, drag = (books.weight, {"parameters": {"k": 2.0}}), (books.drag, {"parameters": {"c": 0.2}})
    holds = [Hold("turned", "q", np.array([0]), displacement=(0.4,), duration=0.3)] if held else []
    return made(values, [link], DT, order, energies=[weight], losses=[drag], holds=holds)


def driven(order: int) -> VariationalIntegrator:
    """A cart and its pole: two coordinates, one element, a kernel over blocks."""
    motions = [Motion("s", "v_s"), Motion("a", "v_a")]
    values = {"s": [0.1], "v_s": [0.3], "a": [0.5], "v_a": [-0.2]}
    return made(values, [(books.cart, {"parameters": {"M": 2.0}})], DT, order, motions)


def hung(order: int, held: bool = False) -> VariationalIntegrator:
    """Weights on rods, the first on a sphere that swells; the last may be in a hand that moves."""
    x = [[0.6, 0.0, -0.8], [0.6, 1.0, -0.8], [1.1, 1.4, -0.8 + np.sqrt(0.59)]]
    v = [[0.1, 0.2, -0.3], [0.5, 0.3, 0.2], [0.0, 0.1, 0.4]]  # it is projected
    holds = [Hold("hand", "x", np.array([2]), displacement=(0.1, 0.2, 0.0), duration=0.3)] if held else []
    kept = [
        (books.swelling, {"tuples": [[0]], "parameters": {"r": 1.0, "c": 0.2}}),
        (books.stick, {"tuples": [[0, 1], [1, 2]], "parameters": {"length": 1.0}}),
    ]
    balls, drag = (
        (books.ball, {"parameters": {"m": 1.2, "a": 0.3}}),
        (books.rubbed, {"parameters": {"c": 0.4}}),
    )
    motions = [Motion("x", "v")]
    values = {"x": x, "v": v}
    return made(values, [balls], DT, order, motions, losses=[drag], constraints=kept, holds=holds)


HUNG = ("x", "v", "ball.m", "ball.a", "rubbed.c", "swelling.r", "swelling.c", "stick.length")
CASES = {
    "rods, order 2": (lambda: hung(2), HUNG),
    "rods, order 4": (lambda: hung(4), HUNG),
    "rods in a hand, order 2": (lambda: hung(2, True), HUNG),
    "rods in a hand, order 4": (lambda: hung(4, True), HUNG),
    "chain in a kernel, order 2": (lambda: chained(3, 2), ("q", "v", "linked.m", "weight.k", "drag.c")),
    "chain in a kernel, order 4": (lambda: chained(3, 4), ("q", "v", "linked.m", "weight.k", "drag.c")),
    "chain by sparse factors": (lambda: chained(10, 2), ("q", "v", "linked.m", "weight.k", "drag.c")),
    "held": (lambda: chained(3, 4, True), ("q", "v", "linked.m", "weight.k", "drag.c")),
    "cart and pole": (lambda: driven(4), ("s", "v_a", "v_s", "cart.M")),
    "oscillator, pushed": (
        lambda: made({"q": [0.3], "v": [0.1]}, [(books.shaken, {"parameters": {"f": 0.6}})], DT),
        ("q", "v", "shaken.f"),
    ),
}


def rollout(one: VariationalIntegrator) -> Rollout:
    """Misfits of coordinates and rates at three steps, the start among them."""
    fields, rng = one.potential.fields, np.random.default_rng(1)
    terms = [
        bind(
            misfit(field),
            fields,
            name=f"misfit_{field.name}",
            renamed={"x": field.name},
            data={"target": rng.normal(size=field.shape)},
            parameters={"sigma": 0.7},
        )
        for field in one.moving
    ]
    return Rollout(one, [Loss(Potential(fields, terms), (0, 3, STEPS))], STEPS)


def differences(run: Rollout, name: str, direction: np.ndarray, h: float = 4e-3) -> float:
    """dL along a direction of one field or parameter, of sixth order."""
    fields = run.stepper.potential.fields
    potential = next((p for p in run.potentials if name.partition(".")[0] in p.parts), None)
    base = fields[name].values.copy() if name in fields else np.array(potential.parameter(name))

    def loss(part: int) -> float:
        moved = base + part * h * direction
        fields[name].set(moved) if name in fields else potential.set_parameter(name, moved)
        return run.value()

    found = sum(c * (loss(k) - loss(-k)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)
    loss(0)
    return found


@pytest.mark.parametrize("case", sampled(CASES, ["chain by sparse factors", "held"]))
def test_gradient_against_differences(case: str) -> None:
    make, names = CASES[case]
    one = make()
    run = rollout(one)
    value, found = run.evaluate(names)
    assert value == pytest.approx(run.value(), rel=1e-14)
    rng = np.random.default_rng(5)
    for name in names:
        direction = rng.normal(size=np.shape(found[name]))
        if name in one.potential.fields:
            coordinates = {m.velocity: m.position for m in one.motions}
            free = one.holds.free(coordinates.get(name, name))
            assert not found[name][~free].any()
            direction = np.where(free, direction, 0.0)
        expected = differences(run, name, direction)
        assert abs(expected) > 1e-4
        assert float(np.sum(found[name] * direction)) == pytest.approx(expected, rel=1e-10), name


@pytest.mark.long
def test_check_asks_the_first_step_under_constraints_and_sees_its_damage(monkeypatch) -> None:
    found = [*of_first_step(hung(4, True))]
    assert all(f.passed for f in found), [f for f in found if not f.passed]
    assert [f.argument for f in found if f.question == "taylor"] == list(HUNG)
    real = ImpulseAdjoint._bent_by
    monkeypatch.setattr(ImpulseAdjoint, "_bent_by", lambda *given: 1.001 * real(*given))
    bad = {(f.question, f.argument) for f in of_first_step(hung(4, True)) if not f.passed}
    assert {("transpose", ""), ("taylor", "x")} <= bad


def test_numbers_of_holds_are_refused() -> None:
    with pytest.raises(
        EnergyError, match=r"'turned\.\w+': a run of a Lagrangian has no derivative by the numbers"
    ):
        rollout(chained(3, 2, True)).evaluate(["turned.displacement"])


@pytest.mark.parametrize("case", sampled(CASES, ["chain in a kernel, order 4", "rods in a hand, order 4"]))
def test_the_adjoint_is_the_transpose_of_the_tangents(case: str) -> None:
    make, names = CASES[case]
    one = make()
    run, rng = rollout(one), np.random.default_rng(7)
    run.losses[0].steps = (STEPS,)
    run.observed = [STEPS]
    _, found = run.evaluate(names)
    direction = {n: rng.normal(size=np.shape(found[n])) for n in names}
    found_at_end = run.end_tangents(direction)
    one.project_start()
    one.advance(STEPS)
    ends = {f.name: run.losses[0].potential.gradient(f.name) for f in one.moving}
    forward = sum(float(np.sum(ends[n] * found_at_end[n])) for n in ends)
    back = sum(float(np.sum(found[n] * direction[n])) for n in names)
    assert forward == pytest.approx(back, rel=1e-11)
