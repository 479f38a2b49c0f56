"""Derivatives of programs: adjoint, tangents and differences agree; budgets, holds, checks of a step."""

from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Datum,
    Fields,
    Loss,
    Node,
    Parameter,
    Potential,
    Rollout,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.adjoint.checks.first_step import OF_PROGRAM, of_program
from minusgrad.adjoint.programs.program import ProgramAdjoint, ProgramTangents
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.energies.fields import Hold, Motion
from minusgrad.engine.kernels import Code
from minusgrad.errors import EnergyError
from minusgrad.plugin import Evolution, Holds, Slope
from minusgrad.potential.term_kernels import MapKernels
from minusgrad.steppers.programs.serial_steps import SerialSteps
from minusgrad.steppers.programs.state_tape import StateTape
from minusgrad.steppers.systems.system import System
from tests.support.programs import ALL, DT, UPDATES, N, chain, differences, fields, program, scatter

NAMES = ["x", "v", "link.k", "kick.push", "kick.omega"]


@local_energy("seen", over="nodes", x=Node("m"), v=Node("m s^-1"), aim=Datum("m"))
def seen(x, v, aim):
    """A loss of places and velocities."""
    s = x[0] - aim
    return s * s + x[0] * v[0]


def rollout(one: Evolution, steps: int = 12, at: tuple[int, ...] = (0, 5, 12), **budget: int) -> Rollout:
    of = one.potential.fields
    loss = Potential(of, [bind(seen, of, data={"aim": 0.1 * np.ones(len(of["x"]))})])
    return Rollout(one, [Loss(loss, at)], steps, **budget)


def checked(run: Rollout, names: list[str], room: float = 1e-7) -> None:
    """The gradient against central differences of the run."""
    of, u = run.stepper.potential.fields, run.stepper.potential
    value, found = run.evaluate(names)
    assert value == run.value()
    for name in names:
        put: Any = of[name].set if name in of else lambda a, name=name: u.set_parameter(name, a)
        start = of[name].values if name in of else u.parameter(name)
        expected = differences(run.value, put, start, 1e-5)
        assert np.abs(expected).max() > 1e-3, name
        np.testing.assert_allclose(found[name], expected, rtol=room, atol=room * np.abs(expected).max())


def test_the_gradient_of_a_run_agrees_with_differences() -> None:
    checked(rollout(program(fields())), NAMES)


def test_every_budget_gives_the_same_bits() -> None:
    found = []
    for budget in (1 << 20, 2000, 900):
        run = rollout(program(fields()), 40, (3, 17, 40), budget=budget)
        value, gradient = run.evaluate(NAMES)
        found.append((value, [gradient[n].tobytes() for n in NAMES]))
    assert found[0] == found[1] == found[2]
    assert "recomputing" in str(run.plan)


def test_energies_that_are_only_observed_leave_the_derivatives_as_they_are() -> None:
    """U is no part of the program, also where a step only exchanges two fields."""
    of, found = fields(), []
    parts, data = chain(of), {"aim": np.zeros(N)}
    stages = [*parts.slopes.values(), *parts.maps.values()]
    for updates in ({"x": "x_next", "v": "v_next"}, {"x": "v", "v": "x"}):
        for terms in ([], [bind(seen, of, data=data, name="U")]):
            if updates["x"] == "v":
                of["v"].unit = "1"
            one = Evolution(System(Potential(of, terms, stages)), updates, DT)
            found.append(rollout(one).evaluate(["x", "v", "link.k"]))
        (value, gradient), (expected, plain) = found[-2:]
        assert value == expected
        assert {n: a.tobytes() for n, a in gradient.items()} == {n: a.tobytes() for n, a in plain.items()}
    assert np.abs(found[0][1]["x"]).max() > 0.1


@local_map("shown", gives="picture", over="nodes", x=Node("m"), gain=Parameter())
def shown(x, gain):
    """What one looks at; no state depends on it."""
    return gain * x[0] * x[0]


@pytest.mark.parametrize("fused", [True, False])
def test_a_map_that_no_state_depends_on_waits_for_who_reads_it(
    fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps by launches leave it out, and the way back does; its parameter has the derivative zero."""
    if not fused:
        monkeypatch.setattr(SerialSteps, "serve", staticmethod(lambda statements: False))
    of, ran = fields(), []
    parts = chain(of)
    stages = [*parts.slopes.values(), *parts.maps.values()]
    plain = rollout(Evolution(System(Potential(of, [], stages)), UPDATES, DT)).evaluate(NAMES)
    one = Evolution(
        System(Potential(of, [], [*stages, bind(shown, of, parameters={"gain": 2.0})])), UPDATES, DT
    )
    assert one.fused is fused
    value, gradient = rollout(one).evaluate([*NAMES, "shown.gain"])
    assert value == plain[0]
    assert {n: gradient[n].tobytes() for n in NAMES} == {n: a.tobytes() for n, a in plain[1].items()}
    assert gradient["shown.gain"] == 0.0
    one.advance(1)  # verifies all maps
    by_map = MapKernels.__call__

    def run(self: MapKernels, t: float) -> None:
        ran.append(self.loops.term.name)
        by_map(self, t)

    monkeypatch.setattr(MapKernels, "__call__", run)
    one.advance(5)
    assert "shown" not in ran
    assert fused or ran.count("kick") == 5
    one.potential.refresh()
    np.testing.assert_array_equal(of["picture"].values, 2.0 * of["x"].values ** 2)
    request = DerivativeRequest(gradient={"x": np.zeros(N)}, seeds={"x_next": np.ones(N)}, only_seeds=True)
    assert "shown" not in one.potential.plan(request, {}).requests


def test_single_precision_follows_double() -> None:
    found = {p: rollout(program(fields(p))).evaluate(NAMES)[1] for p in ("f32", "f64")}
    for name in NAMES:
        np.testing.assert_allclose(found["f32"][name], found["f64"][name], rtol=2e-4, atol=2e-4)


def test_held_components_have_no_derivative() -> None:
    of = fields()
    holds = Holds(of, [Hold("pin", "x", np.array([0]), velocity=(0.5,))], [Motion("x", "v")])
    run = rollout(program(of, holds=holds))
    _, found = run.evaluate(["x", "link.k"])
    assert found["x"][0] == 0.0
    checked(run, ["link.k"])
    others = differences(run.value, of["x"].set, of["x"].values, 1e-5)[1:]
    np.testing.assert_allclose(found["x"][1:], others, rtol=1e-7, atol=1e-7)


@local_map("wave", gives="q_next", over=3, p=Node(), q=Node(), c=Parameter())
def wave(p, q, c):
    """A wave on a ring; the element is a node with its neighbours."""
    return 2.0 * q[0] - p[0] + c * (q[1] + q[2] - 2.0 * q[0])


@local_energy("picture", over="nodes", q=Node(), aim=Node())
def picture(q, aim):
    """How far the wave is from a picture."""
    return (q[0] - aim[0]) ** 2


def test_a_field_may_become_another_of_the_state() -> None:
    """p <- q, q <- 2 q - p + ...: the adjoint of q is passed on to p's place, and back."""
    rng, n = np.random.default_rng(2), 7
    values = {name: rng.normal(size=n) for name in ("p", "q", "aim")}
    of = Fields(values)
    ring = np.array([[k, (k + 1) % n, (k - 1) % n] for k in range(n)])
    u = Potential(of, [], [bind(wave, of, tuples=ring, parameters={"c": 0.3})])
    one = Evolution(System(u), {"p": "q", "q": "q_next"})
    loss = Potential(of, [bind(picture, of)])
    run = Rollout(one, [Loss(loss, (4, 9))], 9)
    checked(run, ["p", "q", "aim", "wave.c"])


@local_map("moved", gives="x_next", over="nodes", unit="m", x=Node("m"), w_next=Node("1"), h=Parameter())
def moved(x, w_next, h):
    """By what was gathered."""
    return x[0] + h * ti.sin(w_next[0])


def gathering() -> Evolution:
    """Scatter to a density, a field of it, and the gather back: the loop of a particle-in-cell method."""
    rng = np.random.default_rng(3)
    of = fields(w=rng.uniform(0.5, 1.5, N))

    @local_map("field", gives="V", over="nodes", density=Node("kg m^-1"), a=Parameter())
    def field(density, a):
        """Of the density."""
        return a * density[0] * density[0]

    to = bind(scatter, of, tuples=ALL, parameters={"reach": 1.3})
    of.derive("V", N, "1")
    there = bind(field, of, parameters={"a": 0.7})
    back = Slope("gather", Potential(of, [], [to], frozen=True), {"w": "w_next"}, 1.0, {"density": "V"}, "1")
    then = bind(moved, of, parameters={"h": 0.2})
    return Evolution(System(Potential(of, [], [to, there, back, then])), {"x": "x_next"}, DT)


def test_scatter_and_gather_go_back() -> None:
    one = gathering()
    checked(rollout(one, 6, (3, 6)), ["x", "w", "scatter.reach", "field.a", "moved.h"])


@pytest.mark.parametrize("made", [lambda: program(fields()), gathering], ids=["chain", "gather"])
def test_the_adjoint_is_the_transpose_of_the_tangent(made: Any) -> None:
    """(l, J w) = (J' l, w) over five steps."""
    one, rng = made(), np.random.default_rng(4)
    recorded = one.with_tape(StateTape(one.moving, 5))
    names = [*one.updates, "w"] if "w" in one.potential.fields else [*NAMES]
    start = {f.name: f.values.copy() for f in one.moving}
    tangents, adjoint = ProgramTangents(one, names), ProgramAdjoint(recorded, names)
    way = {n: rng.normal(size=a.shape) for n, a in (tangents.tangents | tangents.parameters).items()}
    tangents.start(way)
    tangents.advance(5)
    weights = {n: rng.normal(size=N) for n in one.updates}
    forward = sum(float(weights[n] @ tangents.tangents[n]) for n in weights)
    for field in one.moving:
        field.set(start[field.name])
    recorded.begin_tape(0)
    recorded.advance(5)
    adjoint.clear()
    adjoint.add(weights)
    adjoint.back(5, 5)
    back = sum(float(np.sum(adjoint.found(n) * way[n])) for n in way)
    assert abs(forward - back) < 1e-12 * max(abs(forward), 1.0)


def test_curvature_is_that_of_differences_of_the_states() -> None:
    run = rollout(program(fields()), 6, (6,))
    one, of = run.stepper, run.stepper.potential.fields
    start, clock = {n: of[n].values.copy() for n in ("x", "v")}, one.clock

    def end(k: float) -> tuple[np.ndarray, np.ndarray]:
        one.potential.set_parameter("link.k", k)
        one.clock = clock
        one.advance(6)
        found = of["x"].values.copy(), of["v"].values.copy()
        for n, values in start.items():
            of[n].set(values)
        one.clock = clock
        return found

    up, down = end(2.0 + 1e-5), end(2.0 - 1e-5)
    one.potential.set_parameter("link.k", 2.0)
    dx, dv = ((a - b) / 2e-5 for a, b in zip(up, down, strict=True))
    expected = 2.0 * dx @ dx + 2.0 * dx @ dv
    assert run.curvature([{"link.k": np.array(1.0)}])[0, 0] == pytest.approx(expected, rel=1e-7)


def test_names_without_a_derivative() -> None:
    with pytest.raises(EnergyError, match=r"^a run has no derivative with respect to 'f'"):
        rollout(program(fields())).evaluate(["f"])


# Check of a step ------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [lambda: program(fields()), gathering], ids=["chain", "gather"])
def test_the_first_step_is_checked(made: Any) -> None:
    one = made()
    before = {
        n: f.values.copy() for n, f in one.potential.fields.items() if n not in one.potential.fields.derived
    }
    findings = list(of_program(one))
    assert all(f.passed for f in findings), [f.text for f in findings]
    assert {f.question for f in findings} == {"taylor", "transpose"}
    assert findings[0].figure is not None
    assert findings[0].figure < OF_PROGRAM[0]
    assert {f.argument for f in findings} >= {"", "x"}
    for name, values in before.items():
        np.testing.assert_array_equal(one.potential.fields[name].values, values)


def test_a_wrong_adjoint_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adjoints of the outputs are lost by a percent."""
    written = ProgramAdjoint._free

    def wrong(self: ProgramAdjoint, name: str, into: Any) -> Code:
        code = written(self, name, into)
        return Code(code.text.replace("= source", "= 0.99 * source"), code.arrays)

    monkeypatch.setattr(ProgramAdjoint, "_free", wrong)
    failed = {f.question for f in of_program(program(fields())) if not f.passed}
    assert failed == {"taylor", "transpose"}


def test_chains_are_chained() -> None:
    """The potential of the program has its parts in the order in which they run."""
    assert [name for name, _, _ in chain(fields()).computed] == ["force", "kick", "drift"]
