"""The frames of a movie: rows of a series, and those of others at the same steps, read in pieces."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...files import trajectory

LONGEST = 240
"""So many frames has a movie unless its user chooses which."""


class Frame(NamedTuple):
    """One recorded state: its step, its time, and a value of each series."""

    step: int
    time: float
    values: tuple[np.ndarray, ...]


class Reel:
    """Frames of a run that can be read several times: rows of the first series, and its last row.

    every: which rows (default: as few as give `LONGEST` frames at most). Of the other series the newest row
    at each step is taken, before that their first one.
    """

    def __init__(self, run: Path, names: Sequence[str], every: int | None = None):
        self.run, self.names = run, names
        steps = trajectory.steps(run, names[0])
        self.every = every or -(-len(steps) // LONGEST)
        self.steps = np.union1d(steps[:: self.every], steps[-1:])

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Frame]:
        others = [_Newest(self.run, name) for name in self.names[1:]]
        wanted = set(self.steps.tolist())
        for step, time, value in _rows(self.run, self.names[0]):
            if step in wanted:
                yield Frame(step, time, (value, *(other.at(step) for other in others)))


class _Newest:
    """The newest row of a series at steps that rise."""

    def __init__(self, run: Path, name: str):
        self._rows = _rows(run, name)
        self._now = next(self._rows)
        self._next = next(self._rows, None)

    def at(self, step: int) -> np.ndarray:
        while self._next is not None and self._next[0] <= step:
            self._now, self._next = self._next, next(self._rows, None)
        return self._now[2]


def _rows(run: Path, name: str) -> Iterator[tuple[int, float, np.ndarray]]:
    for piece in trajectory.pieces(run, name):
        for step, time, value in zip(piece.step, piece.time, piece.value, strict=True):
            yield int(step), float(time), value
