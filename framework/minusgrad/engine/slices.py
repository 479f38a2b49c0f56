"""Launches in slices: a long kernel over independent jobs runs in parts of about a tenth of a second.

Between two slices Python runs, so that Ctrl-C is heard. A job (a target, or a block of them) writes its own
numbers only, so the slices do not change the bits.

Decisions 0215.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

BEGIN, END = "slice_begin", "slice_end"
"""The names of the first job of a slice, and of the one behind its last, in a kernel's text."""
SECONDS = 0.1
"""The time that a slice shall take."""
LEAST_WORK = 2**33
"""Statements of all jobs from which on a kernel is launched in slices: a second or two on one core."""


@dataclass(frozen=True)
class Slices:
    """How the text of a kernel becomes that of a slice.

    headers: lines of loops, and those that replace them. jobs: how many there are. pairs: how many times the
    inner statements run in all.
    """

    headers: Mapping[str, str]
    jobs: int
    pairs: int

    def of(self, text: str) -> str:
        """The text of a slice."""
        return "".join(f"{self.headers.get(line, line)}\n" for line in text.splitlines())

    def long(self, text: str) -> bool:
        """True if a launch of this text may take so long that it is divided."""
        return self.pairs * text.count("\n") >= LEAST_WORK


class SlicePace:
    """Jobs of a slice, adapted to the time that the slices before have taken."""

    def __init__(self, jobs: int, least: int):
        self.jobs, self.least = jobs, min(least, jobs)
        self.size = self.least

    def run(self, launch: Callable[[int, int], None], seconds: float = float("inf")) -> float:
        """Launch all jobs, or those of so many seconds, one slice at least. Returns the part that was run."""
        ends = perf_counter() + seconds
        done = 0
        while done < self.jobs:
            end = min(done + self.size, self.jobs)
            began = perf_counter()
            launch(done, end)
            self._adapt_size(end - done, perf_counter() - began)
            done = end
            if perf_counter() >= ends:
                break
        return done / self.jobs

    def _adapt_size(self, jobs: int, took: float) -> None:
        if took < SECONDS / 2 and jobs == self.size:
            self.size *= 2
        elif took > SECONDS * 1.5:
            self.size = max(self.least, self.size // 2)
