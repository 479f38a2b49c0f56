"""Soft walkers in space at the size of DiffTaichi's: their blocks, and the gradient against a Tape's."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape import liquid as tape

import minusgrad
from minusgrad import Loss, Potential, Rollout, bind
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.errors import SceneError
from minusgrad_elastic.loads import body_force
from tests.support.command import SCENES

SCENE, LIQUID = SCENES / "diffmpm3d.toml", SCENES / "liquid.toml"
NAMES = ("dense.w", "neuron.b")
LEGS = [f"leg{leg}_{part}" for leg in range(4) for part in range(4)]
BACK = [f"back{k}" for k in range(3)]
FEW = [
    {"name": f"leg{k}", "muscle": k, "corner": [0.1 + 0.1 * k, 0.05, 0.3], "size": [0.05, 0.07, 0.1]}
    | {"counts": [3, 4, 5]}
    for k in range(2)
]


def test_files_of_blocks_are_those_of_their_program() -> None:
    made = runpy.run_path(str(SCENES / "data/soft_walkers.py"))
    for name in made["NAMES"]:
        assert made["list_text"](name) == (SCENES / f"data/{name}.toml").read_text()


def test_diffmpm3d() -> None:
    """30,495 particles in sixteen muscles and a back, three to a cell; layers and activations follow."""
    simulation = minusgrad.build(SCENE)
    state, x = simulation.state, simulation.fields["x"].values
    assert len(x) == 30_495
    assert {body.name: len(body.nodes) for body in state.bodies} == dict.fromkeys(LEGS, 1026) | dict.fromkeys(
        BACK, 4693
    )
    np.testing.assert_array_equal(np.bincount(state.tuples["muscles"][:, 1]), np.full(16, 1026))
    assert (x.min(axis=0) > [0.1, 0.05, 0.3]).all()
    assert (x.max(axis=0) < [0.4, 0.12, 0.6]).all()
    assert simulation.potential.parameter("dense.w").shape == (16, 4)
    assert len(simulation.fields["a"]) == 30_495


def test_the_whole_liquid() -> None:
    """By a file of blocks: 15,150 particles of the solid, 12,996 of water at random places."""
    simulation = minusgrad.build(LIQUID, ["state.blocks=data/liquid_walker.toml"])
    state, x = simulation.state, simulation.fields["x"].values
    counts = {body.name: len(body.nodes) for body in state.bodies}
    assert counts == dict.fromkeys(LEGS, 525) | dict.fromkeys(BACK, 2250) | {"water": 12_996}
    water = x[state.bodies[-1].nodes]
    assert (water > [0.2, 0.2, 0.4]).all()
    assert (water < [0.4, 0.25, 0.6]).all()
    np.testing.assert_allclose(water.mean(axis=0), [0.3, 0.225, 0.5], atol=2e-3)
    assert len(np.unique(water[:, 0])) == len(water)


def of_tape(simulation: BuiltScene, w: np.ndarray, b: np.ndarray, steps: int) -> tuple:
    """Loss and gradients by the program in Taichi alone."""
    x = simulation.fields["x"].values
    particles, numbers = simulation.state.tuples["muscles"].T
    muscles = np.full(len(x), -1)
    muscles[particles] = numbers
    return tape.program(x, muscles, np.zeros(len(x), bool), steps)(w, b)


def compared(simulation: BuiltScene, steps: int) -> None:
    """Loss and gradient, with muscles that pull hard, are those of a Tape to 1e-9."""
    rng = np.random.default_rng(1)
    w, b = (rng.normal(size=simulation.potential.parameter(name).shape) for name in NAMES)
    b = b if b.shape else rng.normal(size=len(w))
    expected = of_tape(simulation, w, b, steps)
    for name, values in zip(NAMES, (w, b), strict=True):
        simulation.potential.set_parameter(name, values)
    ahead = [1.0 / len(simulation.fields["x"]), 0.0, 0.0]
    loss = bind(body_force, simulation.fields, parameters={"acceleration": ahead})
    run = Rollout(simulation.stepper, [Loss(Potential(simulation.fields, [loss]), (steps,))], steps)
    value, found = run.evaluate(NAMES)
    assert abs(value - expected[0]) < 1e-12
    for name, of_name in zip(NAMES, expected[1:], strict=True):
        assert np.abs(of_name).max() > 1e-9
        assert np.abs(found[name] - of_name).max() < 1e-9 * np.abs(of_name).max()


def test_the_gradient_of_a_few_blocks_is_that_of_a_tape() -> None:
    compared(minusgrad.build(SCENE, {"state.blocks": FEW}), 24)


@pytest.mark.long
def test_the_gradient_of_the_whole_walker_is_that_of_a_tape() -> None:
    """30,495 particles, 32 steps."""
    compared(minusgrad.build(SCENE), 32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[blocks]]\nname = 'a'\n", "few.toml:1:3: blocks.0.corner: required, but missing"),
        ("blocks = []\n", "few.toml:1:10: blocks: "),
        (
            "[[blocks]]\nname = 'a'\ncorner = [0.1, 0.1]\nsize = [0.1, 0.1, 0.1]\ncounts = [2, 2, 2]\n",
            "few.toml:1:3: blocks.0: 'a': corner needs 3 numbers, as the grid has axes, got 2; correct it",
        ),
    ],
)
def test_mistakes_of_a_file_of_blocks(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "scene.toml").write_text(SCENE.read_text())
    (tmp_path / "few.toml").write_text(text)
    with pytest.raises(SceneError) as error:
        minusgrad.build(tmp_path / "scene.toml", ["state.blocks=few.toml"])
    assert message in str(error.value)
