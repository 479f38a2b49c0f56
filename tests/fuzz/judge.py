"""Judging of mutants in a process with limits: each is read, refused by one message, or a fault.

fault       a traceback, a process that ended, more than `SECONDS` of computing, more than `MEMORY`

Computing is that of the process, of its children that ended, and of the server of bounded reading with all
that it forked.
"""

import os
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from minusgrad.errors import MinusgradError
from minusgrad.files.bounded import door

from . import direct
from .mutations import mutant
from .targets import CORPUS, ROOT, TARGETS

SECONDS, PATIENCE, MEMORY = 5.0, 60.0, 2 << 30
"""Computing time of a mutant, children included; time on the clock; address space beyond the start's."""
PROGRAM = "tests.fuzz.judge"
"""The module whose `main` judges in a process of its own."""
LINE = "\N{INFORMATION SEPARATOR ONE}"
"""Between the parts of a line."""


@dataclass
class Verdict:
    """How many were read and refused; number (below 0: of the corpus) and words of each fault."""

    reader: str
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0

    def __str__(self) -> str:
        total = sum(self.counts.values())
        head = f"{self.reader}: {total} files: {self.counts['read']} read, {self.counts['refused']} refused"
        head += f", {len(self.faults)} faults, slowest {self.slowest:.2f} s of computing"
        return "\n".join([head, *(f"  {number}: {words}" for number, words in self.faults[:20])])


def contents(reader: str, number: int) -> bytes:
    """The bytes of a mutant; -1, -2, ... are those of the corpus."""
    if number < 0:
        return corpus(reader)[-number - 1].read_bytes()
    return mutant(TARGETS[reader].sound(), number)


def corpus(reader: str) -> list[Path]:
    return sorted((CORPUS / reader).glob("*"))


def judged(reader: str, numbers: range, seconds: float = float("inf"), is_direct: bool = False) -> Verdict:
    """The verdict on the corpus and on mutants of these numbers, as far as the seconds on the clock reach.

    is_direct: libraries read in the judging process where they can (`direct`), which is faster.
    """
    verdict, until = Verdict(reader), time.monotonic() + seconds
    pending = [*range(-len(corpus(reader)), 0), *numbers]
    while pending and time.monotonic() < until:
        left = _in_a_process(verdict, pending, until, is_direct)
        if is_direct and verdict.faults and verdict.faults[-1][1].startswith((ENDED, UNENDED)):
            number, _ = verdict.faults.pop()
            verdict.counts["fault"] -= 1
            _in_a_process(verdict, [number], until, False)
        pending = left
    return verdict


ENDED, UNENDED = "ended the process", "did not end"


def _in_a_process(verdict: Verdict, pending: list[int], until: float, is_direct: bool) -> list[int]:
    """Judge until the time is over or the process ends; those that are left."""
    given = pending[:5000]
    words = verdict.reader, *map(str, (given[0], given[-1], int(is_direct)))
    child = subprocess.Popen(
        [sys.executable, "-m", PROGRAM, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    at, wait = 0, 3 * PATIENCE
    try:
        while at < len(given):
            if time.monotonic() > until:
                return []
            ready = select.select([child.stdout], [], [], min(wait, max(0.1, until - time.monotonic())))[0]
            if not ready and time.monotonic() > until:
                return []
            line = child.stdout.readline() if ready else ""
            number = given[at]
            if not line:
                why = UNENDED if not ready else f"{ENDED}: {child.wait()}"
                verdict.counts["fault"] += 1
                verdict.faults.append((number, why))
                return pending[at + 1 :]
            _, outcome, seconds, words = line.rstrip("\n").split(LINE)
            verdict.slowest = max(verdict.slowest, float(seconds))
            if outcome != "fault" and float(seconds) > SECONDS:
                outcome, words = "fault", f"{float(seconds):.1f} s of computing"
            verdict.counts[outcome] += 1
            if outcome == "fault":
                verdict.faults.append((number, words))
            at, wait = at + 1, PATIENCE
        return pending[len(given) :]
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        if child.stderr is not None:
            child.stderr.close()


# The process ----------------------------------------------------------------------------------------


def outcomes(reader: str, numbers: range, is_direct: bool = False) -> Iterator[tuple[int, str, float, str]]:
    """Number, outcome, seconds of computing and words of each."""
    target = TARGETS[reader]
    for number in numbers:
        data, begun = contents(reader, number), computed()
        outcome, words = "read", ""
        with tempfile.TemporaryDirectory() as folder:
            try:
                with direct.reading(number) if is_direct else nullcontext():
                    target.read(data, Path(folder))
            except MinusgradError as error:
                outcome, words = "refused", str(error)
                if not words.strip() or any(len(row) > 2000 for row in words.split("\n")):
                    outcome = "fault"
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                outcome = "fault"
                words = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        yield number, outcome, computed() - begun, " ".join(words.split())[:300]


def computed() -> float:
    """Seconds of computing of this process and its children so far.

    A server counts with what it forked and waited for. Source: numbers 14 to 17 of /proc/PID/stat, in ticks.
    """
    total = sum(os.times()[:4])
    server = door._server
    if server is not None and server.serves():
        fields = Path(f"/proc/{server.child.pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def main(reader: str, first: str, last: str, is_direct: str = "0") -> None:
    TARGETS[reader].sound()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    with os.fdopen(os.dup(1), "w", buffering=1) as out:
        os.dup2(2, 1)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.dup2(null, 1)
        for row in outcomes(reader, range(int(first), int(last) + 1), is_direct == "1"):
            print(*row, sep=LINE, file=out)


if __name__ == "__main__":
    main(*sys.argv[1:])
