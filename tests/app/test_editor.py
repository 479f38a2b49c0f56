"""The JSON schema as an editor uses it: shipped scenes are valid, mistakes are found at their keys."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from minusgrad.scene.document import load
from tests.support.short_scenes import SCENES

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def validator() -> Any:
    from minusgrad.assembly.registry import Registry
    from minusgrad.scene.json_schema import schema_of

    schema = json.loads(json.dumps(schema_of(Registry.load().models())))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


OWN = ("yukawa_cluster",)
"""Scenes with kinds of a file beside them."""


def test_every_shipped_scene_is_valid(validator: Any) -> None:
    scenes = [path for path in sorted(SCENES.glob("*.toml")) if path.stem not in OWN]
    wrong = {path.stem: [*validator.iter_errors(load(path).data)] for path in scenes}
    assert {name: errors[0].message[:200] for name, errors in wrong.items() if errors} == {}


MISTAKES: dict[str, Callable[[dict], Any]] = {
    "run/steps": lambda data: data["run"].update(steps="ten"),
    "checkpoint/keep": lambda data: data["checkpoint"].update(keep=0),
    "hold/0": lambda data: data["hold"][0].update(bodie="wall"),
    "energy/0": lambda data: data["energy"][0].update(kind="neo_hokean"),
}


@pytest.mark.parametrize("place", MISTAKES)
def test_mistakes_are_found_where_they_are(validator: Any, place: str) -> None:
    data = deepcopy(load(SCENES / "cantilever.toml").data)
    MISTAKES[place](data)
    assert "/".join(map(str, next(validator.iter_errors(data)).absolute_path)) == place


def test_keys_have_their_meaning_unit_and_default(validator: Any) -> None:
    known = validator.schema["$defs"]
    assert known["Run"]["properties"]["steps"]["description"].startswith("Number of time steps")
    softening = known["energy_gravity"]["properties"]["softening"]
    assert softening["description"] == "Plummer's softening length; 0: none."
    assert softening["default"] == 0.0
    dt = known["stepper_leapfrog"]["properties"]["dt"]
    assert (dt["description"], dt["x-unit"]) == ("Time step. A number, or a quantity in s.", "s")
