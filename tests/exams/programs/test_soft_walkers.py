"""Soft walkers in space at the size of DiffTaichi's: their blocks."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from tests.support.command import SCENES

LIQUID = SCENES / "liquid.toml"
LEGS = [f"leg{leg}_{part}" for leg in range(4) for part in range(4)]
BACK = [f"back{k}" for k in range(3)]


def test_files_of_blocks_are_those_of_their_program() -> None:
    made = runpy.run_path(str(SCENES / "data/soft_walkers.py"))
    for name in made["NAMES"]:
        assert made["list_text"](name) == (SCENES / f"data/{name}.toml").read_text()


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[blocks]]\nname = 'a'\n", "few.toml:1:3: blocks.0.corner: required, but missing"),
        ("blocks = []\n", "few.toml:1:10: blocks: "),
        (
            "[[blocks]]\nname = 'a'\ncorner = [0.1, 0.1]\nsize = [0.1, 0.1, 0.1]\ncounts = [2, 2, 2]\n",
            "few.toml:1:1: blocks: 'a': corner needs 3 numbers, as the grid has axes, got 2; correct it",
        ),
    ],
)
def test_mistakes_of_a_file_of_blocks(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "scene.toml").write_text(LIQUID.read_text())
    (tmp_path / "few.toml").write_text(text)
    with pytest.raises(SceneError) as error:
        minusgrad.build(tmp_path / "scene.toml", ["state.blocks=few.toml"])
    assert message in str(error.value)
