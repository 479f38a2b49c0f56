"""Files that ever failed, and damaged ones of every reader: each is read or refused by one message."""

from pathlib import Path

import pytest

from tests.fuzz.judge import corpus, judged
from tests.fuzz.targets import CORPUS, TARGETS

pytestmark = pytest.mark.unit

QUICK = ("field", "grid_array", "svg", "gcode", "sweep", "vtk")
"""Readers of which some mutants are judged by `make test`."""


def test_every_folder_of_the_corpus_has_a_reader() -> None:
    assert {one.name for one in CORPUS.iterdir()} <= set(TARGETS)


@pytest.mark.parametrize("reader", [name for name in TARGETS if name not in ("scene", "fit")])
def test_sound_files_are_read(reader: str, tmp_path: Path) -> None:
    """Those that are damaged: mutants of a file that is refused as it is would show nothing."""
    for number, data in enumerate(TARGETS[reader].sound()):
        folder = tmp_path / str(number)
        folder.mkdir()
        TARGETS[reader].read(data, folder)


@pytest.mark.parametrize("reader", [name for name in TARGETS if corpus(name)])
def test_what_ever_failed_is_refused(reader: str) -> None:
    verdict = judged(reader, range(0))
    assert verdict.faults == []
    assert sum(verdict.counts.values()) == len(corpus(reader))


@pytest.mark.parametrize("reader", QUICK)
def test_some_mutants(reader: str) -> None:
    verdict = judged(reader, range(40))
    assert verdict.faults == []
    assert verdict.counts["refused"] > 5


@pytest.mark.long
@pytest.mark.parametrize("reader", TARGETS)
def test_mutants_for_twenty_seconds(reader: str, record_property) -> None:
    verdict = judged(reader, range(100_000), 20.0)
    record_property("shown", str(verdict))
    assert verdict.faults == []


def test_a_fault_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that raises anything else is at fault, and the number brings the mutant again."""
    from tests.fuzz import judge
    from tests.fuzz.targets import Target

    def read(data: bytes, folder: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setitem(TARGETS, "broken", Target(lambda: [b"sound"], read))
    ((number, outcome, _, words),) = judge.outcomes("broken", range(7, 8))
    assert (number, outcome) == (7, "fault")
    assert words.startswith("IndexError: list index out of range (test_readers.py:")
    assert judge.contents("broken", 7) == judge.contents("broken", 7)
