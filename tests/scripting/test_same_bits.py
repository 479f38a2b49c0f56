"""A scene's state as arrays, with its tables as arguments, gives the bits of the scene."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.scripting.scene_tables import LISTS

SCENES = Path("scenes")
TABLES = ("title", "plugins", "units", "runtime", "box", "stepper", "run", "checkpoint")


def in_python(scene: Any) -> mg.Simulation:
    """The simulation of the arrays of a built scene."""
    data, state = scene.scene.document.data, scene.state
    return mg.Simulation(
        fields=dict(state.fields),
        motions=state.motions,
        labels=dict(state.labels),
        tuples={name: (rows, dict(state.data.get(name, {}))) for name, rows in state.tuples.items()},
        bodies={body.name: body.nodes for body in state.bodies},
        **{name: data.get(section, ()) for name, section in LISTS.items()},
        **{name: data.get(name) for name in TABLES},
    )


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("stretch", {}),  # cells, holds, a minimiser
        ("warm_crystal", {}),  # a heat bath, springs, friction
        ("argon_npt", {"state.displacement": "0.3 angstrom"}),  # pairs within a cutoff, a box that moves
    ],
)
def test_arrays_and_tables_give_the_bits_of_a_scene(name: str, overrides: dict[str, Any]) -> None:
    scene = mg.build(SCENES / f"{name}.toml", overrides)
    simulation = in_python(scene)
    scene.step(4)
    simulation.step(4)
    for field, given in scene.fields.items():
        assert np.array_equal(simulation.fields[field].values, given.values), field


@pytest.mark.parametrize("form", ["text", "dictionary", "path"])
def test_a_scene_is_loaded_from_every_form(form: str, tmp_path: Path) -> None:
    text = (SCENES / "two_body.toml").read_text()
    path = SCENES / "two_body.toml"
    scene = {"text": text, "dictionary": tomllib.loads(text), "path": path}[form]
    run = mg.load(scene, {"run.steps": 20}).run(out=tmp_path / "run")
    other = mg.run(scene, {"run.steps": 20}, out=tmp_path / "other")
    whole = mg.build(path)
    whole.step(20)
    assert np.array_equal(run["position"], other["position"])
    assert np.array_equal(run["position"][-1], whole.fields["x"].values)


def test_a_fit_of_a_scene_that_was_loaded(tmp_path: Path) -> None:
    path, few = SCENES / "weigh_a_planet.toml", {"fit.iterations": 1}
    found = mg.load(path, few).fit(out=tmp_path / "fit")
    other = mg.fit(path, few, out=tmp_path / "other")
    assert found.estimates is not None
    assert other.estimates is not None
    assert found.estimates.as_dict() == other.estimates.as_dict()
