"""Rows that a run records, passed to a page in the same process before they are saved.

    run:   hear(name, step, time, value)   each row of each series, as it is recorded
           publish()                       between two batches: the rows since then are those of one moment
    page:  take()                          the moments since the last call

A page that does not take them loses the oldest; the run's folder has all.

Decisions 0144.
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from ..plot.movies.reel import LONGEST


class LiveRow(NamedTuple):
    """One row of a series."""

    name: str
    step: int
    time: float
    value: np.ndarray


class LiveRows:
    """The rows of a run that goes on; `over` once it has ended. One thread hears, another takes."""

    def __init__(self) -> None:
        self._heard: list[LiveRow] = []
        self._moments: deque[list[LiveRow]] = deque(maxlen=LONGEST)
        self.over = False

    def hear(self, name: str, step: int, time: float, value: np.ndarray) -> None:
        """Keep a row, whose value is not written any more."""
        self._heard.append(LiveRow(name, step, time, value))

    def publish(self) -> None:
        """Let the page have what was heard."""
        if self._heard:
            self._moments.append(self._heard)
            self._heard = []

    def end(self) -> None:
        """The run has ended, and its folder has all rows."""
        self.publish()
        self.over = True

    def take(self) -> list[list[LiveRow]]:
        """The moments that were published since."""
        return [self._moments.popleft() for _ in range(len(self._moments))]
