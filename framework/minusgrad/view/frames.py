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
        """Read the frames that are saved; those before are shown until then."""
        count = len(trajectory.steps(self.run, self.clock))
        size = next(trajectory.pieces(self.run, self.clock)).value[0].nbytes
        self.every = max(self._given or -(-count // LONGEST), -(-count * size // MOST))
        self.steps, self.times, self._rows = self._read_after(-1, [self.clock])
        self._halve_large()

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
        steps, times, rows = self._read_after(self.steps[-1] if self.steps else -1, list(self._rows))
        for name, values in rows.items():
            self._rows[name] += values
        self.times += times
        self.steps += steps
        self._halve_large()
        return len(steps)

    def _read_after(
        self, step: int, names: list[str]
    ) -> tuple[list[int], list[float], dict[str, list[np.ndarray]]]:
        """Steps, times and rows of the saved frames after a step."""
        frames = list(Reel(self.run, names, self.every, after=step))
        rows = {name: [frame.values[column] for frame in frames] for column, name in enumerate(names)}
        return [frame.step for frame in frames], [frame.time for frame in frames], rows

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

    def _halve_large(self) -> None:
        """Keep every other frame as long as those of the clock take more than `MOST`."""
        rows = self._rows[self.clock]
        while len(rows) > 2 and len(rows) * rows[0].nbytes > MOST:
            self.every *= 2
            columns: list[list[Any]] = [self.steps, self.times, *self._rows.values()]
            for column in columns:
                del column[1:-1:2]
