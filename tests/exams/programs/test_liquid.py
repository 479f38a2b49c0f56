"""A soft walker under falling water, in space: its gradient against a Tape's."""

import numpy as np
import pytest
from benchmarks.tape import liquid as tape

from minusgrad import Loss, Potential, Rollout, bind, build
from minusgrad_elastic.loads import body_force
from tests.support.command import SCENES

SCENE = SCENES / "liquid.toml"
NAMES = ["dense.w", "neuron.b"]
FEW, SOME = [2, 2, 3], 20 * 12
"""Particles of each block, and of all."""


def compared(overrides: list[str], steps: int) -> None:
    """Loss and gradient by weights and biases, with muscles that pull hard, are a Tape's to 1e-9."""
    simulation = build(SCENE, overrides)
    fields, bodies = simulation.fields, {body.name: body for body in simulation.state.bodies}
    n, (particles, numbers) = len(fields["x"]), simulation.state.tuples["muscles"].T
    muscles, water = np.full(n, -1), np.zeros(n, bool)
    muscles[particles], water[bodies["water"].nodes] = numbers, True
    rng = np.random.default_rng(1)
    w, b = rng.normal(size=(16, 4)), rng.normal(size=16)
    expected = tape.program(fields["x"].values, muscles, water, steps)(w, b)
    simulation.potential.set_parameter("dense.w", w)
    simulation.potential.set_parameter("neuron.b", b)
    solid, ahead = [one for name, one in bodies.items() if name != "water"], [1.0 / (~water).sum(), 0.0, 0.0]
    loss = bind(body_force, fields, bodies=solid, parameters={"acceleration": ahead})
    value, found = Rollout(simulation.stepper, [Loss(Potential(fields, [loss]), (steps,))], steps).evaluate(
        NAMES
    )
    assert abs(value - expected[0]) < 1e-12
    for name, of_tape in zip(NAMES, expected[1:], strict=True):
        assert np.abs(of_tape).max() > 1e-9
        assert np.abs(found[name] - of_tape).max() < 1e-9 * np.abs(of_tape).max()


def test_liquid() -> None:
    """Some steps of a few particles of each block."""
    few = [f"state.blocks.{k}.counts={FEW}" for k in range(20)]
    compared([*few, f"map.3.sizes={{ particle = {SOME} }}"], 24)


@pytest.mark.long
def test_the_whole_walker() -> None:
    """5,000 particles, 32 steps."""
    compared([], 32)
