"""Facts of other kinds in journals and checkpoints of strangers are refused by their names."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.errors import CheckpointError, RunFolderError
from minusgrad.files import checkpoint
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.held import facts, journals

pytestmark = pytest.mark.unit

SOUND: dict[str, Any] = {
    "sealed": -1, "interim": ["a"], "title": "", "names": ["sun"], "bodies": {"left": [[0, 2]]}, "fit": True,
    "labels": {"x": "position"}, "files": {"a": "00"}, "versions": {"numpy": "2"}, "plugins": {"core": {}},
    "ensemble": {"members": 3}, "surroundings": {}, "initial": {}, "fitted": [{}], "origin": None,
    "scene": {
        "title": 3, "units": {}, "run": {"steps": 3}, "fit": {}, "checkpoint": {"keep": 2}, "ensemble": {},
        "runtime": {},
    },
}  # fmt: skip
"""What checkpoints hold, and more that nobody relies upon."""
OTHERS: tuple[Any, ...] = (
    None,
    True,
    0.5,
    1 << 62,
    float("inf"),
    float("nan"),
    "x",
    [1],
    [[]],
    {"a": 1},
    [{}],
)


def _put(name: str, value: Any) -> dict[str, Any]:
    found = json.loads(json.dumps(SOUND))
    *way, last = name.split(".")
    table = found
    for one in way:
        table = table[one]
    table[last] = value
    return found


def _moment(meta: dict[str, Any]) -> Snapshot:
    return Snapshot(1, 0.1, 0.1, {"fields/x": np.zeros(2)}, meta=meta)


@pytest.mark.parametrize("name", facts.OF_CHECKPOINTS)
def test_a_fact_of_another_kind_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    assert checkpoint.load(checkpoint.save(tmp_path, _moment(SOUND))).meta == SOUND
    kind, refused = facts.OF_CHECKPOINTS[name], 0
    for value in OTHERS:
        if kind.holds(value):
            continue
        path = checkpoint.save(tmp_path, replace(_moment(_put(name, value)), step=2))
        with pytest.raises(CheckpointError) as error:
            checkpoint.load(path)
        said = f"{path}: in its meta '{name}' must be {kind.words}, got {json.dumps(value)}; it was not"
        assert str(error.value).startswith(said)
        refused += 1
    assert refused >= len(OTHERS) - 3


def test_missing_facts_are_no_fault(tmp_path: Path) -> None:
    assert checkpoint.load(checkpoint.save(tmp_path, _moment({}))).meta == {}


@pytest.mark.parametrize(
    ("value", "shown"),
    [("1e400", "Infinity"), ("NaN", "NaN"), ("null", "null"), ('"x"', '"x"'), ("1.5", "1.5"), ("[2]", "[2]")],
)
def test_a_step_of_a_journal_is_a_whole_number(value: str, shown: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text('{"event": "started"}\n{"event": "saved", "step": ' + value + "}\n")
    with pytest.raises(RunFolderError) as error:
        list(journals.events(journal))
    said = f"{journal}, line 2: 'step' must be a whole number, got {shown}; restore the original file, or"
    assert str(error.value).startswith(said)
