"""A few frames of a series, spread evenly over the run, for pictures of its course."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import UserError
from ..files import trajectory
from . import readings


class ShownMoment(NamedTuple):
    """One frame: its step, its time and its values."""

    step: int
    time: float
    value: np.ndarray


def moments(run: Path, name: str, between: int, until: int | None = None) -> list[ShownMoment]:
    """The first frame of a series, the last, and so many in between if time advances.

    until: a step; the last frame is the newest one up to it. The series is read in pieces, because a whole
    one may not fit into memory. Raises `UserError` if the first frame is after that step.
    """
    begin = _moment(next(readings.pieces(run, name)), 0)
    steps = trajectory.steps(run, name)
    count = len(steps) if until is None else int(np.searchsorted(steps, until, "right"))
    if not count:
        last = f"{steps[0]} to {steps[-1]}"
        raise UserError(f"{run}: no frame up to this step, got {until}; '{name}' has frames from {last}")
    if count == 1:
        return [begin]
    end = newest(run, name, until)
    if begin.step == end.step:
        return [begin]
    if not between or begin.time == end.time:
        return [begin, end]
    wanted = np.unique(np.linspace(0, count - 1, between + 2).round().astype(int))[1:-1]
    return [begin, *_rows(run, name, wanted), end]


def newest(run: Path, name: str, until: int | None) -> ShownMoment:
    """The newest row of a series up to a step, or its first one; None: the last row."""
    if until is None:
        return _moment(readings.last_row(run, name), -1)
    count = int(np.searchsorted(trajectory.steps(run, name), until, "right"))
    return _rows(run, name, np.array([max(count - 1, 0)]))[0]


def _rows(run: Path, name: str, wanted: np.ndarray) -> list[ShownMoment]:
    found, start = [], 0
    for piece in readings.pieces(run, name):
        inside = wanted[(wanted >= start) & (wanted < start + len(piece.step))]
        found += [_moment(piece, k - start) for k in inside]
        start += len(piece.step)
    return found


def _moment(piece: trajectory.Series, k: int) -> ShownMoment:
    return ShownMoment(int(piece.step[k]), float(piece.time[k]), piece.value[k].astype(float))
