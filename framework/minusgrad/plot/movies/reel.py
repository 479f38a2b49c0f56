"""The frames of a movie: rows of a series, and those of others at the same steps, read in pieces."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...files import trajectory
from ...files.trajectory import Series
from .. import readings

LONGEST = 240
"""So many frames has a movie unless its user chooses which."""
SECONDS = 8.0
"""A movie is about so long, unless that would be faster than 25 or slower than 5 frames a second."""


def rate(frames: int) -> float:
    """The usual number of frames a second of a movie of so many."""
    return min(max(frames / SECONDS, 5.0), 25.0)


Row = tuple[int, float, np.ndarray]
"""A step, its time, a value."""


class ReelFrame(NamedTuple):
    """One recorded state: its step, its time, and a value of each series."""

    step: int
    time: float
    values: tuple[np.ndarray, ...]


class Reel:
    """Frames of a run that can be read several times: rows of the first series, and its last row.

    every: which rows (default: as few as give `LONGEST` frames at most); of these, those after a step. Of the
    other series the newest row at each step is taken, before that their first one. at: the steps, if they
    are known. recorded: True for numbers in the units of the files, else they are in those of pictures.
    """

    def __init__(
        self,
        run: Path,
        names: Sequence[str],
        every: int | None = None,
        after: int = -1,
        at: Sequence[int] | None = None,
        recorded: bool = False,
    ):
        self.run, self.names, self.after = run, names, after
        self._rows = partial(_rows_of, trajectory.pieces if recorded else readings.pieces)
        steps = trajectory.steps(run, names[0]) if at is None else np.array(at)
        if at is None:
            steps = np.union1d(steps[:: every or -(-len(steps) // LONGEST)], steps[-1:])
        self.steps = steps[steps > after]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[ReelFrame]:
        if not len(self.steps):
            return
        first = int(self.steps[0])
        others = [_Newest(partial(self._rows, self.run, name), self.after, first) for name in self.names[1:]]
        wanted = set(self.steps.tolist())
        for step, time, value in self._rows(self.run, self.names[0], self.after):
            if step in wanted:
                yield ReelFrame(step, time, (value, *(other.at(step) for other in others)))


class _Newest:
    """The newest row of a series at steps that rise from `first` on, read from after a step if it can be."""

    def __init__(self, rows: Callable[..., Iterator[Row]], after: int, first: int):
        self._rows = rows(after)
        now = next(self._rows, None)
        if now is None or (after >= 0 and now[0] > first):
            self._rows = rows()
            now = next(self._rows)
        self._now = now
        self._next = next(self._rows, None)

    def at(self, step: int) -> np.ndarray:
        while self._next is not None and self._next[0] <= step:
            self._now, self._next = self._next, next(self._rows, None)
        return self._now[2]


def _rows_of(
    pieces: Callable[[Path, str, int], Iterator[Series]], run: Path, name: str, after: int = -1
) -> Iterator[Row]:
    for piece in pieces(run, name, after):
        for step, time, value in zip(piece.step, piece.time, piece.value, strict=True):
            yield int(step), float(time), value
