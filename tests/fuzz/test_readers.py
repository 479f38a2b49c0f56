"""Files that ever failed, and damaged ones of every reader: each is read or refused by one message."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.errors import UserError
from minusgrad.files.bounded import limits, plain_data
from minusgrad.plugin import bounded_read
from tests.fuzz import direct, judge
from tests.fuzz.judge import corpus, judged
from tests.fuzz.targets import CORPUS, TARGETS, Target
from tests.support import greedy_readers

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

    def read(data: bytes, folder: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setitem(TARGETS, "broken", Target(lambda: [b"sound"], read))
    ((number, outcome, _, words),) = judge.outcomes("broken", range(7, 8))
    assert (number, outcome) == (7, "fault")
    assert words.startswith("IndexError: list index out of range (test_readers.py:")
    assert judge.contents("broken", 7) == judge.contents("broken", 7)


# The judge itself -------------------------------------------------------------------------------------


def hang() -> None:
    while True:
        pass


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "raises": (lambda: [][1], r"IndexError: list index out of range \(test_readers\.py:\d+\)"),
    "hoards": (lambda: bytearray(3 << 30), r"MemoryError: .*"),
    "ends": (lambda: os._exit(3), "ended the process: 3"),
    "dies": (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ended the process: -11"),
    "hangs": (hang, "did not end"),
    "computes": (lambda: until(1.0), r"1\.\d s of computing"),
    "computes in a child": (lambda: subprocess.run([sys.executable, "-c", SPIN]), r"1\.\d s of computing"),
}
SPIN = "import time\nwhile time.process_time() < 1.0: pass"


def until(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.parametrize(
    ("way", "is_direct"),
    [
        pytest.param(
            way, short, marks=() if (way, short) in (("raises", True), ("ends", False)) else pytest.mark.long
        )
        for way in BAD
        for short in (False, True)
    ],
)
def test_the_judge_sees_whatever_is_wrong(way: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """At one of four mutants; the others are judged as they were."""
    monkeypatch.setattr(judge, "PATIENCE", 2.0)
    monkeypatch.setattr(judge, "SECONDS", 0.8)
    monkeypatch.setattr(judge, "PROGRAM", "tests.fuzz.test_readers")
    monkeypatch.setenv("MINUSGRAD_FUZZ_WAY", way)
    verdict = judged("pdb", range(4), is_direct=is_direct)
    ((number, words),) = verdict.faults
    assert number == 2
    assert re.fullmatch(BAD[way][1], words)
    assert sum(verdict.counts.values()) == 4 + len(corpus("pdb"))
    assert verdict.counts["fault"] == 1


def main() -> None:
    """The process of the judge with a reader that is bad at mutant 2."""
    target, bad = TARGETS["pdb"], judge.contents("pdb", 2)

    def read(data: bytes, folder: Path) -> object:
        return BAD[os.environ["MINUSGRAD_FUZZ_WAY"]][0]() if data == bad else target.read(data, folder)

    TARGETS["pdb"] = Target(target.sound, read)
    judge.main(*sys.argv[1:])


@pytest.mark.parametrize("reader", ["ply", "image", "openmm"])
def test_what_is_read_in_the_judge_is_judged_as_by_the_child(reader: str) -> None:
    numbers = range(1, 20)
    short, whole = list(judge.outcomes(reader, numbers, True)), list(judge.outcomes(reader, numbers))
    assert [(number, outcome, words) for number, outcome, _, words in short] == [
        (number, outcome, words) for number, outcome, _, words in whole
    ]


def test_a_library_that_does_not_end_or_raises_goes_through_the_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direct, "SECONDS", 0.1)
    monkeypatch.setattr(limits, "SECONDS", 1.0)
    for reader in (greedy_readers.loops, greedy_readers.raises, greedy_readers.gives):
        asked: dict[str, object] = {
            "module": reader.__module__,
            "name": reader.__name__,
            "source": greedy_readers.__file__,
        }
        request = plain_data.encode(
            asked | {"file": "a", "data": b"", "options": {}, "seconds": 1, "space": 0}
        )
        with monkeypatch.context() as patched:
            patched.setattr(limits, "keep", lambda limits: None)
            assert ("result" in direct.answered(request)) == (reader is greedy_readers.gives)
    with direct.reading(1):
        with pytest.raises(UserError, match="did not end within 1 s"):
            bounded_read(greedy_readers.loops, "a", b"")
        assert bounded_read(greedy_readers.gives, "a", b"")["pid"] == os.getpid()
    assert bounded_read(greedy_readers.gives, "a", b"")["pid"] != os.getpid()


if __name__ == "__main__":
    main()
