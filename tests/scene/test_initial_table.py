"""`[initial]` of scenes: files by field and the run to start from, each mistake at its place."""

import warnings
from pathlib import Path

import pytest

from minusgrad.errors import SceneError
from minusgrad.scene.document import read
from minusgrad.scene.state_tables.initial_table import FieldFile, InitialTable

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


def initial(tmp_path: Path, table: str) -> InitialTable | None:
    path = tmp_path / "scene.toml"
    path.write_text(SCENE + table)
    return read(path).initial


def test_a_file_or_a_table_gives_a_field(tmp_path: Path) -> None:
    table = '[initial]\nfields = { v = "v.csv", x = { file = "x.h5", data = "a/x", unit = "km" } }\n'
    found = initial(tmp_path, table)
    assert found is not None
    assert found.files == {"v": FieldFile(file="v.csv"), "x": FieldFile(file="x.h5", data="a/x", unit="km")}


def test_a_scene_without_the_table_is_resolved_as_before(tmp_path: Path) -> None:
    assert initial(tmp_path, "") is None
    assert "initial" not in read(tmp_path / "scene.toml").resolved()


@pytest.mark.parametrize(
    ("table", "place", "message"),
    [
        ("[initial]\n", "10:2: initial", "needs a `run` or `fields`, got neither; give one of them"),
        ('[initial]\nfields = { v = "v.csv" }\nstep = 3\n', "10:2: initial", "`step` belongs to a `run`"),
        ("[initial]\nfields = { v = 3 }\n", "11:16: initial.fields.v", "needs text in quotes, not 3"),
        (
            "[initial]\nfields = { v = { unit = 'm' } }\n",
            "11:16: initial.fields.v.file",
            "but missing",
        ),
        ("[initial]\nrun = 'a'\nsteps = 3\n", "12:1: initial.steps", "no key 'steps'; did you mean 'step'?"),
        ("[initial]\nrun = 'a'\nstep = -1\n", "12:8: initial.step", "at least 0"),
    ],
)
def test_a_mistake_is_reported_at_its_place(tmp_path: Path, table: str, place: str, message: str) -> None:
    with pytest.raises(SceneError) as caught:
        initial(tmp_path, table)
    text = str(caught.value).removeprefix(f"{tmp_path / 'scene.toml'}:")
    assert text.startswith(place)
    assert message in text


def test_a_table_of_files_is_written_back_without_a_warning() -> None:
    given = {"T": {"file": "T.csv", "unit": "K"}, "x": "x.csv"}
    with warnings.catch_warnings(action="error"):
        dumped = InitialTable.model_validate({"fields": given}).model_dump(mode="json", exclude_none=True)
    assert dumped["fields"] == given
