"""Mistakes of a first hour in scenes and overrides: one message each, with what to write."""

from pathlib import Path
from typing import Any

import pytest

from minusgrad.errors import SceneError
from minusgrad.scene.document import load

pytestmark = pytest.mark.unit

SCENE = """
[state]
kind = "points"
[[energy]]
kind = "magnets"
strength = 1
[[energy]]
kind = "spring"
name = "bond"
stiffness = 2
[stepper]
kind = "leapfrog"
dt = 1
[run]
steps = 10
[fit]
method = "gauss_newton"
iterations = 10
[fit.parameters."magnets.strength"]
lower = 1
[[fit.loss]]
kind = "misfit"
"""


def said(text: str, *overrides: str) -> str:
    """What is wrong with a scene."""
    try:
        _, problems = load(text, overrides).skeleton()
    except SceneError as error:
        return str(error)
    return "\n".join(map(str, problems))


OVERRIDES = {
    "energy.strength=3": "'energy' is a list of 2, got no number or name of one; write magnets.strength",
    "energy.stiffness=3": "'energy' is a list of 2, got no number or name of one; write bond.stiffness",
    "energy.G=3": "'energy' has no element 'G' (there are 0 to 1)",
    "strength=3": "no section of a scene is named 'strength'; write magnets.strength",
    "dt=3": "no section of a scene is named 'dt'; write stepper.dt",
    "threads=2": "no section of a scene is named 'threads'; write runtime.threads",
    "arch=gpu": "no section of a scene is named 'arch'; write runtime.arch",
    "time=2": "no section of a scene is named 'time'; write units.time or initial.time or run.time",
    "runtime.arch=gpu": "runtime.arch: needs 'cpu', 'cuda', 'vulkan' or 'metal', not 'gpu'; did you mean"
    " 'cuda' or 'vulkan' or 'metal'?",
    "runtime.precision=double": "runtime.precision: needs 'f64' or 'f32', not 'double'; did you mean 'f64'?",
    "units=SI": "units: needs a table, not 'SI'; write units.system=si",
    "stepper=yoshida4": "stepper: needs a table, not 'yoshida4'; write stepper.kind=yoshida4",
    "run=long": "run: needs a table, not 'long' (keys: allow_dead, steps, time)",
    "run.steps=1e3": "run.steps: needs a whole number of at least 0, not 1000.0; write 1000",
    "run.steps=1.5": "run.steps: needs a whole number of at least 0, not 1.5",
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_a_wrong_override_is_answered_with_the_right_one(override: str) -> None:
    assert said(SCENE, override) == f"override '{override}': {OVERRIDES[override]}"


NAMED: dict[str, tuple[str, Any]] = {
    "fit.parameters.magnets.strength.lower=2": ("fit.parameters", {"magnets.strength": {"lower": 2}}),
    'fit.parameters."magnets.strength".lower=2': ("fit.parameters", {"magnets.strength": {"lower": 2}}),
    "fit.parameters.bond.rest.upper=3": ("fit.parameters", {"bond.rest": {"upper": 3}}),
    "fit.parameters.bond.scale={}": ("fit.parameters", {"bond.scale": {}}),
    "fit.parameters.load.traction.1={lower=0}": ("fit.parameters", {"load.traction.1": {"lower": 0}}),
    "fit.parameters.v.scale=2": ("fit.parameters", {"v": {"scale": 2}}),
    "ensemble.vary.bond.stiffness.uniform=[0, 1]": (
        "ensemble.vary",
        {"bond.stiffness": {"uniform": [0, 1]}},
    ),
    "ensemble.vary.wall.normal={grid=[1]}": ("ensemble.vary", {"wall.normal": {"grid": [1]}}),
    "ensemble.vary.state.a.range.count=3": ("ensemble.vary", {"state.a": {"range": {"count": 3}}}),
    "ensemble.vary.state.a.range={from=1, to=2, count=3}": (
        "ensemble.vary",
        {"state.a": {"range": {"from": 1, "to": 2, "count": 3}}},
    ),
}


@pytest.mark.parametrize("override", NAMED)
def test_a_dotted_name_of_a_parameter_needs_no_quotes(override: str) -> None:
    place, wanted = NAMED[override]
    data: Any = load(SCENE, [override]).data
    for step in place.split("."):
        data = data[step]
    wanted = {"magnets.strength": {"lower": 1}} | wanted if place == "fit.parameters" else wanted
    assert data == wanted


def test_in_a_scene_it_stands_in_quotes() -> None:
    text = SCENE.replace('"magnets.strength"', "magnets.strength")
    cure = 'a name with a dot stands in quotes; write [fit.parameters."magnets.strength"]'
    assert said(text).endswith(f":19:25: fit.parameters.magnets.strength: {cure}")


def test_missing_sections_say_what_to_add() -> None:
    lists = {"energy": "energies", "state": "states", "stepper": "steppers"}
    wanted = {
        f"{key}: required, but missing; add a table {'[[energy]]' if key == 'energy' else f'[{key}]'}"
        f" with its `kind` (`minusgrad {verb}` lists them)"
        for key, verb in lists.items()
    }
    wanted.add("run: required, but missing; add a table [run] with steps or time")
    assert {line.split(": ", 1)[1] for line in said("\ntitle = 'x'\n").splitlines()} == wanted
    text = SCENE.replace('kind = "leapfrog"\n', "")
    assert said(text).endswith("stepper.kind: required, but missing (`minusgrad steppers` lists them)")


def test_a_folder_is_no_scene(tmp_path: Path) -> None:
    for files, cure in (
        ((), "give a file that ends in .toml"),
        (("b.toml", "a.toml"), f"scenes in it are {tmp_path / 'a.toml'}, {tmp_path / 'b.toml'}"),
        (("journal.jsonl",), f"it is that of a run, which `minusgrad resume {tmp_path}` continues"),
    ):
        for name in files:
            (tmp_path / name).touch()
        with pytest.raises(SceneError) as caught:
            load(tmp_path)
        assert str(caught.value) == f"{tmp_path}: is a folder, not a scene; {cure}"
