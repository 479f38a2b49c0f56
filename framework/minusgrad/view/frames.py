"""The frames of a view, in memory: chosen rows of recorded series, which grow with the run."""

from pathlib import Path
from typing import Any

import numpy as np

from ..files import trajectory
from ..plot.movies.reel import LONGEST, Reel

MOST = 1 << 30
"""Bytes: so much memory the first series of a view takes at most."""


class RunFrames:
    """Rows of a run at the steps of one series, `clock`; of the other series the newest row at each step.

    every: which rows (default: at most `LONGEST`). As they grow beyond `MOST`, every other one is dropped.
    """

    def __init__(self, run: Path, clock: str, every: int | None = None):
        self.run, self.clock = run, clock
        count = len(trajectory.steps(run, clock))
        size = next(trajectory.pieces(run, clock)).value[0].nbytes
        self.every = max(every or -(-count // LONGEST), -(-count * size // MOST))
        self.steps: list[int] = []
        self.times: list[float] = []
        self._rows: dict[str, list[np.ndarray]] = {clock: []}
        self.refresh()

    def __len__(self) -> int:
        return len(self.steps)

    def values(self, name: str) -> list[np.ndarray]:
        """The rows of a series, one for each frame."""
        if name not in self._rows:
            reel = Reel(self.run, (self.clock, name), at=self.steps)
            self._rows[name] = [frame.values[1] for frame in reel]
        return self._rows[name]

    def refresh(self) -> int:
        """Read the frames that were recorded since; returns how many."""
        names, known = list(self._rows), len(self.steps)
        for frame in Reel(self.run, names, self.every, after=self.steps[-1] if known else -1):
            self.steps.append(frame.step)
            self.times.append(frame.time)
            for name, value in zip(names, frame.values, strict=True):
                self._rows[name].append(value)
        new = len(self.steps) - known
        rows = self._rows[self.clock]
        while len(rows) > 2 and len(rows) * rows[0].nbytes > MOST:
            self._halve_frames()
        return new

    def _halve_frames(self) -> None:
        self.every *= 2
        columns: list[list[Any]] = [self.steps, self.times, *self._rows.values()]
        for column in columns:
            del column[1:-1:2]
