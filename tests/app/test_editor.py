"""The JSON schema as an editor uses it: shipped scenes are valid, mistakes are found at their keys."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from minusgrad.scene.document import load
from tests.support.command import minusgrad
from tests.support.short_scenes import SCENES

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def written_out() -> dict[str, Any]:
    """The schema as pydantic makes it, with every key of every table."""
    from minusgrad.assembly.registry import Registry
    from minusgrad.scene.json_schema import schema_written_out

    return schema_written_out(Registry.load().models())


@pytest.fixture(scope="module")
def printed() -> str:
    """What `minusgrad schema` prints."""
    return minusgrad("schema").stdout


@pytest.fixture(scope="module")
def validator(printed: str) -> Any:
    schema = json.loads(printed)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


OWN = ("yukawa_cluster",)
"""Scenes with kinds of a file beside them."""


def test_every_shipped_scene_is_valid(validator: Any) -> None:
    scenes = [path for path in sorted(SCENES.glob("*.toml")) if path.stem not in OWN]
    wrong = {path.stem: [*validator.iter_errors(load(path).data)] for path in scenes}
    assert {name: errors[0].message[:200] for name, errors in wrong.items() if errors} == {}


def _gravity(data: dict, **keys: Any) -> None:
    data["energy"].append({"kind": "gravity"} | keys)


MISTAKES: dict[str, tuple[str, Callable[[dict], Any]]] = {
    "a text for a number": ("run/steps", lambda data: data["run"].update(steps="ten")),
    "a run without an end": ("run", lambda data: data["run"].clear()),
    "a run with two ends": ("run", lambda data: data["run"].update(time="1 s")),
    "a number below its bound": ("checkpoint/keep", lambda data: data["checkpoint"].update(keep=0)),
    "a key that no table has": ("hold/0", lambda data: data["hold"][0].update(bodie="wall")),
    "an unknown kind": ("energy/0", lambda data: data["energy"][0].update(kind="neo_hokean")),
    "a key of another kind": ("energy/2", lambda data: _gravity(data, youngs_modulus=1.0)),
    "a parameter below 0": ("energy/2", lambda data: _gravity(data, G=-1.0)),
    "a parameter that is true": ("energy/2", lambda data: _gravity(data, G=True)),
    "a name that is a number": ("energy/2", lambda data: _gravity(data, name=3)),
    "bodies that are numbers": ("energy/2", lambda data: _gravity(data, body=[1])),
    "a cutoff of 0": ("energy/2", lambda data: _gravity(data, cutoff=0.0)),
    "a scale in words": ("energy/2", lambda data: _gravity(data, scale={"bonds": "half"})),
    "a tree with another key": ("energy/2", lambda data: _gravity(data, far={"angle": 0.5})),
    "no time step": ("stepper", lambda data: data.update(stepper={"kind": "leapfrog"})),
    "a time step of 0": ("stepper", lambda data: data.update(stepper={"kind": "leapfrog", "dt": 0.0})),
    "values that are drawn from lists": (
        "energy/0", lambda data: data["energy"][0].update(youngs_modulus={"each": 1.0, "within": [1.0]})
    ),
    "a negative deviation": (
        "energy/0", lambda data: data["energy"][0].update(youngs_modulus={"each": 1.0, "deviation": -1.0})
    ),
    "a fit without a loss": ("fit", lambda data: data.update(fit={"parameters": {}, "loss": []})),
    "no state": ("", lambda data: data.pop("state")),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_found_where_they_are(validator: Any, written_out: dict[str, Any], name: str) -> None:
    place, mistake = MISTAKES[name]
    data = deepcopy(load(SCENES / "cantilever.toml").data)
    mistake(data)
    places = [
        {"/".join(map(str, error.absolute_path)) for error in one.iter_errors(data)}
        for one in (validator, jsonschema.Draft202012Validator(written_out))
    ]
    assert place in places[0]
    assert places[0] == places[1]


def test_definitions_change_nothing(validator: Any, written_out: dict[str, Any]) -> None:
    """Every table with its definitions put in is what pydantic says of it, descriptions included."""
    made = validator.schema
    for name, table in {"scene": written_out, **written_out["$defs"]}.items():
        ours = made if name == "scene" else made["$defs"][name]
        assert _put_in(ours, made["$defs"]) == _put_in(table, written_out["$defs"]), name


def _put_in(part: Any, known: dict[str, Any]) -> Any:
    """A schema without definitions; a union of one is what it is of, and titles are left out."""
    if isinstance(part, list):
        return [_put_in(one, known) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        there = _put_in(known[part["$ref"].rpartition("/")[2]], known)
        return there | {word: _put_in(one, known) for word, one in part.items() if word != "$ref"}
    made = {
        word: {key: _put_in(one, known) for key, one in inner.items()}
        if word == "properties"
        else _put_in(inner, known)
        for word, inner in part.items()
        if word not in ("title", "$defs") or (isinstance(inner, dict) and word == "title")
    }
    if len(made.get("anyOf", ())) == 1:
        return made.pop("anyOf")[0] | made
    return made


def test_nothing_is_said_twice(validator: Any, printed: str) -> None:
    known = validator.schema["$defs"]
    contents = [json.dumps(one, sort_keys=True) for one in known.values()]
    assert len(contents) == len({*contents})
    kinds = {f"{name}" for name, one in known.items() if "kind" in one.get("properties", {})}
    assert [name for name in known if re.search(r"_\d+$", name) and name not in kinds] == []
    assert [name for name in known if "__" in name or not re.fullmatch(r"[\w.-]+", name)] == []
    assert len(printed) < 1_200 * len(kinds)


def _parts(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _parts(one)


def test_every_quantity_says_its_unit_once(validator: Any) -> None:
    units = [one for one in _parts(validator.schema) if isinstance(one.get("x-unit"), str)]
    assert len(units) > 200
    hint = "a number, or a quantity in {}"
    wrong = [
        text
        for one in units
        if (text := one["description"]).lower().count(hint.format(one["x-unit"]).lower()) != 1
        or hint.format(one["x-unit"])[1:] not in text
    ]
    assert wrong == []
    texts = [
        one["description"] for one in _parts(validator.schema) if isinstance(one.get("description"), str)
    ]
    halves = [(text, text[: len(text) // 2].rstrip(". ")) for text in texts]
    assert [text for text, half in halves if half and text.replace(half, "", 1).strip(". ") == half] == []


def test_keys_have_their_meaning_unit_and_default(validator: Any) -> None:
    known = validator.schema["$defs"]

    def key(table: str, name: str) -> dict[str, Any]:
        made = known[table]["properties"][name]
        return known[made["$ref"].rpartition("/")[2]] if "$ref" in made else made

    assert key("RunTable", "steps")["description"].startswith("Number of time steps")
    softening = key("energy_gravity", "softening")
    assert softening["description"] == "Plummer's softening length; 0: none."
    assert softening["default"] == 0.0
    dt = key("stepper_leapfrog", "dt")
    assert (dt["description"], dt["x-unit"]) == ("Time step. A number, or a quantity in s.", "s")
    assert (
        known["Pa_drawn"]["properties"]["each"]["description"]
        == "Mean of the values. A number, or a quantity in Pa."
    )
