"""The frames of a view, in memory: chosen rows of recorded series, which grow with the run."""

from pathlib import Path
from typing import Any

import numpy as np

from ..files import trajectory
from ..plot.movies.reel import LONGEST, Reel
from .live_rows import LiveRows

MOST = 1 << 30
"""Bytes: so much memory the first series of a view takes at most."""


class RunFrames:
    """Rows of a run at the steps of one series, `clock`; of the other series the newest row at each step.

    every: which rows (default: at most `LONGEST`). As they grow beyond `MOST`, every other one is dropped.
    live: rows of a run in this process, of which the newest `LONGEST` are kept, until it is over.
    """

    def __init__(self, run: Path, clock: str, every: int | None = None, live: LiveRows | None = None):
        self.run, self.clock, self._given, self._live = run, clock, every, live
        self._begin()

    def _begin(self) -> None:
        """Read the frames that are saved."""
        count = len(trajectory.steps(self.run, self.clock))
        size = next(trajectory.pieces(self.run, self.clock)).value[0].nbytes
        self.every = max(self._given or -(-count // LONGEST), -(-count * size // MOST))
        self.steps: list[int] = []
        self.times: list[float] = []
        self._rows: dict[str, list[np.ndarray]] = {self.clock: []}
        self._read_saved()

    def __len__(self) -> int:
        return len(self.steps)

    def values(self, name: str) -> list[np.ndarray]:
        """The rows of a series, one for each frame."""
        if name not in self._rows:
            reel = Reel(self.run, (self.clock, name), at=self.steps)
            rows = [frame.values[1] for frame in reel]
            last = rows[-1:] or [trajectory.last_row(self.run, name).value[0]]
            self._rows[name] = rows + last * (len(self.steps) - len(rows))  # not saved yet
        return self._rows[name]

    def refresh(self) -> int:
        """Take in the frames that were recorded since; returns how many."""
        if self._live is None:
            return self._read_saved()
        if self._live.over:
            self._live = None
            self._begin()
            return len(self)
        return self._take_live(self._live)

    def _read_saved(self) -> int:
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

    def _take_live(self, live: LiveRows) -> int:
        new = 0
        for moment in live.take():
            heard = {row.name: row for row in moment}
            now = heard.get(self.clock)
            if now is None or now.step <= self.steps[-1]:
                continue
            new += 1
            self.steps.append(now.step)
            self.times.append(now.time)
            for name, row in heard.items():
                self._rows.setdefault(name, [row.value] * (len(self.steps) - 1))
            for name, rows in self._rows.items():
                rows.append(heard[name].value if name in heard else rows[-1])
        self._drop_oldest()
        return new

    def _drop_oldest(self) -> None:
        """Keep the newest `LONGEST` frames, and fewer of large ones."""
        size = sum(rows[-1].nbytes for rows in self._rows.values())
        gone = max(0, len(self.steps) - max(2, min(LONGEST, MOST // max(size, 1))))
        columns: list[list[Any]] = [self.steps, self.times, *self._rows.values()]
        for column in columns:
            del column[:gone]

    def _halve_frames(self) -> None:
        self.every *= 2
        columns: list[list[Any]] = [self.steps, self.times, *self._rows.values()]
        for column in columns:
            del column[1:-1:2]
