"""Facts of other kinds in journals and checkpoints of strangers are refused by their names."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.assembly.ensembles.marks import read_marks
from minusgrad.errors import CheckpointError, RunFolderError
from minusgrad.files import checkpoint, node_ranges
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.held import facts, journals
from minusgrad.plot import clouds
from minusgrad.plot.surroundings.saved import surroundings
from tests.support.recorded_runs import recorded_run

pytestmark = pytest.mark.unit

SOUND: dict[str, Any] = {
    "sealed": -1, "interim": ["a"], "title": "", "names": ["sun"], "bodies": {"left": [[0, 2]]}, "fit": True,
    "labels": {"x": "position"}, "files": {"a": "00"}, "versions": {"numpy": "2"}, "plugins": {"core": {}},
    "ensemble": {
        "members": 3, "member": 1, "nodes": 2, "numbers": [[0, 3]], "names": ["sun"],
        "bodies": {"a": [[0, 0]]},
    },
    "surroundings": {}, "initial": {}, "fitted": [{}], "origin": None,
    "scene": {
        "title": 3, "units": {}, "run": {"steps": 3}, "fit": {}, "checkpoint": {"keep": 2}, "ensemble": {},
        "runtime": {},
    },
}  # fmt: skip
"""What checkpoints hold, and more that nobody relies upon."""
OTHERS: tuple[Any, ...] = (None, True, 0.5, 1 << 62, float("inf"), float("nan"), "x", [1], [[]], [[2, 1]])
OTHERS += ({"a": 1}, {"a": [[-1, 2]]}, [{}])


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
    assert refused >= len(OTHERS) - 5


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


@pytest.mark.parametrize(
    "size",
    [
        {"members": 10**12, "nodes": 2, "numbers": [[0, 10**12]]},
        {"members": 2, "nodes": 2, "numbers": [[0, 3]]},
        {"members": 2, "numbers": [[0, 2]]},
        {"nodes": 2, "numbers": [[0, 2]]},
        {"members": 2, "nodes": 2},
    ],
)
def test_members_that_are_not_there_are_refused_before_they_are_counted_out(size: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match="step 1: needs members by their numbers, and values of each"):
        node_ranges.members(_moment({"ensemble": size}))
    assert node_ranges.members(_moment({"ensemble": {"members": 2, "nodes": 1, "numbers": [[3, 5]]}})) == [
        3,
        4,
    ]


def test_a_body_of_more_nodes_than_there_are_takes_no_memory() -> None:
    found = clouds.look(3, {"all": [[0, 10**15]], "none": [[10**15, 10**16]]}, every=False)
    assert found.shown.tolist() == [True, True, True]
    assert found.owner.tolist() == [0, 0, 0]


BAD_MARKS = [b"", b"[0]", b"[0, [[1]]]", b'[1, [["a", 1, ""]]]', b"[0, [[0, 1e400, 0]]]", b"{}"]


@pytest.mark.parametrize("text", BAD_MARKS)
def test_marks_of_members_that_are_none_are_refused(text: bytes) -> None:
    with pytest.raises(CheckpointError, match="its members' ends cannot be read"):
        read_marks({"members/marks": np.frombuffer(text, np.uint8)})


@pytest.mark.parametrize(
    "around",
    [
        {"shapes": 3},
        {"shapes": [3]},
        {"shapes": [{}]},
        {"loads": [{"kind": "x"}]},
        {"supports": [{"field": "x"}]},
    ],
)
def test_surroundings_of_another_kind_are_refused(around: dict[str, Any], tmp_path: Path) -> None:
    frames = {"position": np.zeros((2, 1, 3))}
    run = recorded_run(tmp_path / "run", frames, times=np.arange(2.0), meta={"surroundings": around})
    with pytest.raises(CheckpointError, match="its surroundings cannot be read"):
        surroundings(run)
