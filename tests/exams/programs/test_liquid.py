"""A soft walker under falling water, in space: its gradient against a Tape's."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape import liquid as tape

import minusgrad
from minusgrad import Loss, Potential, Rollout, bind, build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad_elastic.loads import body_force
from tests.support.command import SCENES

SCENE = SCENES / "liquid.toml"
NAMES = ["dense.w", "neuron.b"]
TRAINED = json.loads((Path(__file__).parent / "references" / "liquid_training.json").read_text())
FEW = [2, 2, 3]
"""Particles of each block."""


def of_tape(simulation: BuiltScene, steps: int) -> Callable[[np.ndarray, np.ndarray], tuple]:
    """Loss and gradients by the program in Taichi alone, from weights and biases."""
    n, bodies = len(simulation.fields["x"]), {body.name: body for body in simulation.state.bodies}
    particles, numbers = simulation.state.tuples["muscles"].T
    muscles, water = np.full(n, -1), np.zeros(n, bool)
    muscles[particles], water[bodies["water"].nodes] = numbers, True
    return tape.program(simulation.fields["x"].values, muscles, water, steps)


def compared(overrides: list[str], steps: int) -> None:
    """Loss and gradient by weights and biases, with muscles that pull hard, are a Tape's to 1e-9."""
    simulation = build(SCENE, overrides)
    fields, solid = simulation.fields, [one for one in simulation.state.bodies if one.name != "water"]
    rng = np.random.default_rng(1)
    w, b = rng.normal(size=(16, 4)), rng.normal(size=16)
    expected = of_tape(simulation, steps)(w, b)
    simulation.potential.set_parameter("dense.w", w)
    simulation.potential.set_parameter("neuron.b", b)
    ahead = [1.0 / sum(len(one.nodes) for one in solid), 0.0, 0.0]
    loss = bind(body_force, fields, bodies=solid, parameters={"acceleration": ahead})
    value, found = Rollout(simulation.stepper, [Loss(Potential(fields, [loss]), (steps,))], steps).evaluate(
        NAMES
    )
    assert abs(value - expected[0]) < 1e-12
    for name, of_name in zip(NAMES, expected[1:], strict=True):
        assert np.abs(of_name).max() > 1e-9
        assert np.abs(found[name] - of_name).max() < 1e-9 * np.abs(of_name).max()


def descended(iterations: int, rate: float = 10.0) -> list[float]:
    """The losses of the program in Taichi alone, as DiffTaichi trains it: before each iteration and after."""
    simulation = build(SCENE)
    evaluate, losses = of_tape(simulation, simulation.scene.run.steps), []
    w, b = (np.array(simulation.potential.parameter(name)) for name in NAMES)
    for _ in range(iterations + 1):
        loss, by_w, by_b = evaluate(w, b)
        losses.append(loss)
        w, b = w - rate * by_w, b - rate * by_b
    return losses


def test_liquid() -> None:
    """Some steps of a few particles of each block."""
    few = [f"state.blocks.{k}.counts={FEW}" for k in range(20)]
    compared(few, 24)


@pytest.mark.long
def test_the_whole_walker() -> None:
    """5,000 particles, 32 steps."""
    compared([], 32)


@pytest.mark.long
def test_the_liquid_of_difftaichi_at_its_size() -> None:
    """28,146 particles, 8 steps."""
    compared(["state.blocks=data/liquid_walker.toml"], 8)


@pytest.mark.long
def test_it_learns_to_walk_farther_than_the_program_in_taichi_alone(tmp_path: Path) -> None:
    """After 20 iterations of each, from the same weights; the reference is stored."""
    fit = minusgrad.fit(SCENE, out=tmp_path / "fit")
    loss, other = fit.series("observables/loss").value, TRAINED["losses"]
    assert len(loss) == len(other) == 21
    assert abs(loss[0] - other[0]) < 1e-12
    assert loss[0] - loss[-1] > 2.0 * (other[0] - other[-1]) > 0.0


@pytest.mark.long
def test_the_stored_descent_is_that_of_the_program() -> None:
    """Its first iterations."""
    assert descended(2) == pytest.approx(TRAINED["losses"][:3], rel=1e-9)
