"""A few frames of a series, spread evenly over the run, for pictures of its course."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..files import trajectory


class Moment(NamedTuple):
    """One frame: its step, its time and its values."""

    step: int
    time: float
    value: np.ndarray


def moments(run: Path, name: str, between: int) -> list[Moment]:
    """The first frame of a series, the last, and so many in between if time advances.

    The series is read in pieces, because a whole one may not fit into memory.
    """
    ends = [_moment(next(trajectory.pieces(run, name)), 0), _moment(trajectory.last(run, name), -1)]
    if ends[0].step == ends[1].step:
        return ends[:1]
    if not between or ends[0].time == ends[1].time:
        return ends
    count = len(trajectory.steps(run, name))
    wanted = np.unique(np.linspace(0, count - 1, between + 2).round().astype(int))[1:-1]
    found, start = [], 0
    for piece in trajectory.pieces(run, name):
        inside = wanted[(wanted >= start) & (wanted < start + len(piece.step))]
        found += [_moment(piece, k - start) for k in inside]
        start += len(piece.step)
    return [ends[0], *found, ends[1]]


def _moment(piece: trajectory.Series, k: int) -> Moment:
    return Moment(int(piece.step[k]), float(piece.time[k]), piece.value[k].astype(float))
