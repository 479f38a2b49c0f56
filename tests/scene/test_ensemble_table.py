"""`[ensemble]` of scenes: how keys are varied, and each mistake at its place."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from minusgrad.errors import SceneError
from minusgrad.scene.document import members, read
from minusgrad.scene.json_schema import schema_of

SCENE = """
[state]
kind = "points"

[[energy]]
kind = "gravity"

[stepper]
kind = "leapfrog"

[run]
steps = 10
"""

KEYS = "uniform, normal, lognormal, sobol, jitter, list, table, range, grid"


def refused(tmp_path: Path, table: str) -> str:
    """The message about `[ensemble]`, without the file's name."""
    path = tmp_path / "scene.toml"
    path.write_text(SCENE + table)
    with pytest.raises(SceneError) as caught:
        read(path)
    return str(caught.value).removeprefix(f"{path}:")


def vary(key: str, how: str) -> str:
    return f"[ensemble]\nmembers = 3\n[ensemble.vary]\n{key} = {how}\n"


def test_every_way_to_vary_a_key_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    ways = {
        "uniform": "[1.0, '2 m']",
        "normal": "[[0.0, 1.0], 0.1]",
        "lognormal": "['1 kg', 0.5]",
        "sobol": "[0, 1]",
        "jitter": "'1e-6 AU'",
        "list": "[1, 2, 3]",
        "table": "'points.csv', column = ['a', 'b'], unit = 'km'",
        "range": "{ from = 0, to = 1, step = 0.25 }",
        "grid": "[[[1, 2], [3, 4]]]",
    }
    assert list(ways) == KEYS.split(", ")
    table = "\n".join(f"'gravity.{kind}' = {{ {kind} = {text} }}" for kind, text in ways.items())
    path.write_text(f"{SCENE}[ensemble]\nmember = 2\n[ensemble.vary]\n{table}")
    found = read(path).ensemble
    assert found is not None
    assert found.member == 2
    assert [how.kind for how in found.vary.values()] == list(ways)
    assert found.vary["gravity.grid"].grid == (((1, 2), (3, 4)),)
    assert found.vary["gravity.table"].column == ("a", "b")
    resolved = read(path).resolved()["ensemble"]["vary"]
    assert resolved["gravity.range"] == {"range": {"from": 0, "to": 1, "step": 0.25}}
    assert resolved["gravity.uniform"] == {"uniform": [1.0, "2 m"]}


def test_a_scene_without_an_ensemble_is_resolved_as_before(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    assert read(path).ensemble is None
    assert "ensemble" not in read(path).resolved()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "[ensemble]\n",
            "13:2: ensemble: needs a number of `members`, or keys in [ensemble.vary], got neither; give one",
        ),
        ("[ensemble]\nmembers = 0", "14:11: ensemble.members: needs a number of at least 1, not 0"),
        ("[ensemble]\nmembers = 2.0", "14:11: ensemble.members: needs a whole number, not 2.0; write 2"),
        (
            "[ensemble]\nmembers = 2\nmember = -1",
            "15:10: ensemble.member: needs a number of at least 0, not -1",
        ),
        (
            "[ensemble]\nmembres = 2",
            "14:1: ensemble.membres: no key 'membres'; did you mean 'members'?",
        ),
        (vary('"a.b"', "3"), "16:9: ensemble.vary.a.b: needs a table, not 3"),
        (
            vary('"a.b"', "{}"),
            f"16:9: ensemble.vary.a.b: needs one of {KEYS}, got none; say how it is varied",
        ),
        (
            vary('"a.b"', "{ uniform = [0, 1], sobol = [0, 1] }"),
            f"16:9: ensemble.vary.a.b: needs one of {KEYS}, got uniform and sobol; say how it is varied",
        ),
        (
            vary('"a.b"', "{ unifrom = [0, 1] }"),
            "16:11: ensemble.vary.a.b.unifrom: no key 'unifrom'; did you mean 'uniform'?",
        ),
        (
            vary('"a.b"', "{ uniform = [0] }"),
            "16:21: ensemble.vary.a.b.uniform: needs at least 2 elements, not 1",
        ),
        (
            vary('"a.b"', "{ normal = [0, 1, 2] }"),
            "16:20: ensemble.vary.a.b.normal: needs at most 2 elements, not 3",
        ),
        (
            vary('"a.b"', "{ uniform = [0, true] }"),
            "16:25: ensemble.vary.a.b.uniform.1: needs a number, a quantity or a list of them, not true",
        ),
        (
            vary('"a.b"', "{ list = [[]] }"),
            "16:19: ensemble.vary.a.b.list.0: needs a number, a quantity or a list of them, not an"
            " empty list",
        ),
        (vary('"a.b"', "{ list = [] }"), "16:18: ensemble.vary.a.b.list: needs at least 1 element, not 0"),
        (
            vary('"a.b"', "{ range = { from = 0, to = 1 } }"),
            "16:19: ensemble.vary.a.b.range: needs a `count` or a `step`, got neither; give one of them",
        ),
        (
            vary('"a.b"', "{ range = { from = 0, count = 3 } }"),
            "16:19: ensemble.vary.a.b.range.to: required, but missing",
        ),
        (
            vary('"a.b"', "{ grid = [1], column = 'x' }"),
            "16:9: ensemble.vary.a.b: `column` belongs to a table, got grid; leave it out",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_place(tmp_path: Path, table: str, message: str) -> None:
    assert refused(tmp_path, table).partition(" (keys:")[0] == message


def test_the_schema_of_scenes_has_the_section() -> None:
    schema = schema_of({key: dict[str, type[BaseModel]]() for key in ("state", "energy", "stepper")})
    text = json.dumps(schema["$defs"]["VaryTable"]["properties"])
    assert all(f'"{kind}"' in text for kind in KEYS.split(", "))
    assert {"from", "to", "count", "step"} == set(schema["$defs"]["RangeTable"]["properties"])
    assert "ensemble" in schema["properties"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", ""),
        ("[ensemble]\nmembers = 0", ""),
        ("[ensemble]\nmembers = 4096", "4,096 members"),
        (vary('"a.b"', "{ uniform = [0, 1] }"), "3 members that differ in a.b"),
        (vary('"a.b"', "{ list = [1, 2] }").replace("members = 3", ""), "2 members that differ in a.b"),
        (vary('"a.b"', "{ table = 'a' }").replace("members = 3", ""), "members that differ in a.b"),
        (
            "[ensemble.vary]\n'a.b' = { grid = [1, 2] }\n'a.c' = { range = { from = 0, to = 1, count = 5 } }",
            "10 members that differ in a.b, a.c",
        ),
    ],
)
def test_the_members_of_a_scene_are_said_in_words(tmp_path: Path, table: str, said: str) -> None:
    (tmp_path / "scene.toml").write_text(SCENE + table)
    assert members(tmp_path / "scene.toml") == said
