"""Records of decisions and the modules that they bind name each other, and the index lists every record."""

import re
from pathlib import Path

import pytest

from tests.project import decision_records
from tests.project.decision_records import FOLDER, INDEX, Decision, disagreements, records, with_numbers
from tests.project.package_map import CORE
from tests.project.test_names_in_pages import QUOTED, missing

MODULE = CORE / "steppers" / "moves.py"


def sources() -> dict[Path, str]:
    return {path: path.read_text() for path in decision_records.modules()}


def test_records_and_modules_name_each_other() -> None:
    """`python -m tests.project.decision_records --write` puts the numbers into docstrings."""
    assert disagreements(records(), sources()) == []


def test_the_index_lists_every_record() -> None:
    """`python -m tests.project.decision_records --write` writes it."""
    assert INDEX.read_text() == decision_records.index(records())


def test_a_record_has_its_parts() -> None:
    found = records()
    assert len({one.number for one in found}) == len(found)
    for one in found:
        assert one.text.startswith(f"# {one.number}: "), one.path.name
        lacking = [part for part in ("Context", "Choice", "Files") if not one.part(part)]
        assert lacking == [], one.path.name


def quoted() -> set[str]:
    """The names in backticks of all records, each behind its record's number."""
    return {f"{one.number}: {token}" for one in records() for token in QUOTED.findall(one.text)}


def test_files_in_records_exist() -> None:
    """Wherever a record names them, not only at its end."""
    assert sorted(one for one in quoted() if "/" in one and missing(one[6:])) == []


@pytest.mark.long
def test_names_in_records_exist() -> None:
    assert sorted(one for one in quoted() if missing(one[6:])) == []


def record(files: str, number: str = "9001", more: str = "") -> Decision:
    text = f"# {number}: A title\n\n{more}**Context.** Why.\n\n**Choice.** This.\n\n**Files.** {files}.\n"
    return Decision(FOLDER / f"{number}-title.md", text)


def module(numbers: str) -> dict[Path, str]:
    """A source of `steppers.moves` whose docstring names these decisions."""
    return {MODULE: f'"""Moves.\n\nDecisions {numbers}.\n"""\n'}


@pytest.mark.parametrize(
    ("decision", "numbers", "said"),
    [
        (record("`steppers/moves.py`"), "9001", []),
        (record("`steppers/moves.py`"), "9001, 9002", ["names decision 9002, which does not exist"]),
        (record("`steppers/moves.py`"), "9002", ["which does not exist", "does not name it"]),
        (record("`steppers/tape.py`, `steppers/moves.py`"), "9001", ["tape.py does not name it"]),
        (record("No module: `tests/README.md`"), "9001", ["whose files leave it out"]),
        (record("No module: `steppers/moves.py`"), "9001", ["binds no module, and names one"]),
        (record("`tests/README.md`"), "9001", ["leave it out", "names no module"]),
        (record("`steppers/moves.py`, `steppers/jumps.py`"), "9001", ["jumps.py, which is no file"]),
        (record("`steppers/`"), "9001", ["steppers/__init__.py does not name it"]),
        (record("`steppers/moves.py`", more="**Replaces.** 9003.\n\n"), "9001", ["does not answer"]),
    ],
)
def test_a_disagreement_is_found(decision: Decision, numbers: str, said: list[str]) -> None:
    init, tape = CORE / "steppers" / "__init__.py", CORE / "steppers" / "tape.py"
    found = disagreements([decision], {init: '"""S."""', tape: '"""T."""', **module(numbers)})
    assert len(found) == len(said)
    assert all(words in line for words, line in zip(said, found, strict=True)), found


def test_what_replaces_what_is_said_on_both_sides() -> None:
    newer = record("`steppers/moves.py`", "9001", "**Replaces.** 9002.\n\n")
    older = record("`steppers/moves.py`", "9002", "**Replaced by.** 9001.\n\n")
    assert disagreements([newer, older], module("9001, 9002")) == []
    assert "(replaced by 9001)" in decision_records.index([newer, older])


@pytest.mark.parametrize(
    "text", ['"""One line."""\n', '"""Two.\n\nLines."""\nx = 1\n', 'r"""Raw: \\a.\n"""\n']
)
def test_numbers_are_put_at_the_end_of_a_docstring(text: str) -> None:
    given = with_numbers(text, ["0001", "0212"])
    assert decision_records.named(given) == ["0001", "0212"]
    assert with_numbers(given, ["0001", "0212"]) == given
    again = with_numbers(given, ["0300"])
    assert re.findall(r"\d{4}", again) == ["0300"]
    assert decision_records.named(with_numbers(again, [])) == []
