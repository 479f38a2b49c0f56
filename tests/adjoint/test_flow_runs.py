"""Derivatives of runs of gradient flows: the adjoint and the tangents against differences of order 4.

By the initial temperatures, the conductivity of each cell, capacities, and the parameter of a potential that
is not quadratic; with a wall that warms up, and held nodes.
"""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Hold, Node, Parameter, Potential, bind, local_energy
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.implicit.gradient_flow import FLOW_SCHEMES, GradientFlow
from minusgrad.steppers.systems.system import System
from minusgrad_elastic import generators
from minusgrad_heat.conduction import conduction
from tests.support.tiers import sampled

STEPS = 6
NAMES = ("T", "C", "heat_conduction.conductivity", "loss.rate")


@local_energy("loss", over="nodes", T=Node("K"), rate=Parameter("W K^-4"))
def radiated(T, rate):
    return 0.25 * rate * T[0] ** 4


@local_energy("judge", over="nodes", T=Node("K"))
def judge(T):
    return T[0] ** 3 + 2.0 * T[0]


def rollout(scheme: str, **budget: int) -> Rollout:
    mesh = generators.rectangle((0.3, 0.1), (3, 2))
    rng = np.random.default_rng(3)
    of = Fields({"T": rng.uniform(1.0, 2.0, len(mesh.points)), "C": rng.uniform(1.0, 2.0, len(mesh.points))})
    data = {"gradients": mesh.gradients(), "volume": mesh.volumes()}
    k = rng.uniform(1.0, 2.0, len(mesh.cells))
    term = bind(conduction, of, tuples=mesh.cells, data=data, parameters={"conductivity": k})
    potential = Potential(of, [term, bind(radiated, of, parameters={"rate": 0.3})])
    wall = Hold("wall", "T", mesh.bodies["left"], velocity=(0.4,))
    stepper = GradientFlow(System(potential, holds=Holds(of, (wall,))), {"T": "C"}, dt=0.3, scheme=scheme)
    return Rollout(stepper, [Loss(Potential(of, [bind(judge, of)]), (2, 5, STEPS))], STEPS, **budget)


def put(run: Rollout, name: str, values: np.ndarray) -> None:
    potential = run.stepper.potential
    potential.fields[name].set(values) if name in potential.fields else potential.set_parameter(name, values)


def present(run: Rollout, name: str) -> np.ndarray:
    potential = run.stepper.potential
    return np.array(potential.fields[name].values if name in potential.fields else potential.parameter(name))


@pytest.mark.parametrize("scheme", FLOW_SCHEMES)
def test_the_adjoint_equals_differences(scheme: str) -> None:
    run = rollout(scheme)
    value, found = run.evaluate(NAMES)
    assert value == pytest.approx(run.value(), rel=1e-14)
    for name in NAMES:
        at = present(run, name)
        v = np.random.default_rng(5).normal(size=at.shape) * (run.inputs_of(name) if name == "T" else 1.0)
        values = {}
        for k in (-2, -1, 1, 2):
            put(run, name, at + 1e-3 * k * v)
            values[k] = run.value()
        put(run, name, at)
        expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / (12.0 * 1e-3)
        assert np.sum(found[name] * v) == pytest.approx(expected, rel=1e-9), name
        assert np.abs(found[name]).max() > 0.0
    assert (found["T"][~run.inputs_of("T")] == 0.0).all()


@pytest.mark.parametrize("scheme", sampled(FLOW_SCHEMES, ["crank_nicolson"]))
def test_the_tangents_equal_differences(scheme: str) -> None:
    """J' l'' J by each of the names: l'' = 6 T at the states that the loss sees, J by differences of them."""
    run, rng = rollout(scheme), np.random.default_rng(8)
    directions: list[dict[str, Any]] = []
    for name in NAMES:
        at = present(run, name)
        directions.append({name: rng.normal(size=at.shape) * (run.inputs_of(name) if name == "T" else 1.0)})
    matrix = run.curvature(directions)
    assert matrix == pytest.approx(matrix.T)
    for k, name in enumerate(NAMES):
        expected = squared_change(run, name, directions[k][name])
        assert matrix[k, k] == pytest.approx(expected, rel=1e-8), name


def squared_change(run: Rollout, name: str, along: np.ndarray, h: float = 1e-4) -> float:
    """The sum of 6 T (dT)^2 over the states that the loss sees, dT by differences of order 4."""
    at, states = present(run, name), {}
    for k in (-2, -1, 0, 1, 2):
        put(run, name, at + h * k * along)
        states[k] = np.array(visited(run))
    put(run, name, at)
    slope = (8.0 * (states[1] - states[-1]) - (states[2] - states[-2])) / (12.0 * h)
    return float(np.sum(6.0 * states[0] * slope**2))


def visited(run: Rollout) -> list[np.ndarray]:
    """The temperatures that the loss sees, in a run from the present fields."""
    field, start = run.stepper.potential.fields["T"], present(run, "T")
    one, clock = run.stepper, run.stepper.clock
    one.holds.place(one.time)
    one.evaluate()
    found = []
    for step in range(1, STEPS + 1):
        one.advance(1)
        if step in (2, 5, STEPS):
            found.append(field.values.copy())
    one.clock = clock
    field.set(start)
    one.evaluate()
    return found


@pytest.mark.parametrize("scheme", sampled(FLOW_SCHEMES, ["bdf2"]))
def test_stored_blocks_change_nothing(scheme: str) -> None:
    """With room for a few steps, states are stored and steps taken again."""
    _, whole = rollout(scheme).evaluate(NAMES)
    small = rollout(scheme, budget=1650)
    assert small.plan != rollout(scheme).plan
    _, found = small.evaluate(NAMES)
    for name in NAMES:
        assert found[name] == pytest.approx(whole[name], rel=1e-12, abs=1e-13)
