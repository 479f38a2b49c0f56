"""Steps within which no element of a map passes a kink, and none is steep.

Along a step h, about n h of n elements with kinks at random places pass one. Each is off by h at most, with
random sign, so that the remainder of a right gradient falls as h^1.5, as long as n h is large. Elements with
values of their own have steps of their own: those of an element are halved until none of its conditions, ties
and rounded numbers changes along them, and its gradient by no more than half of itself: p / (m + 1e-10) is
steep at the rim of matter. Elements that lie on a kink are judged by themselves.

Decisions 0336.
"""

from typing import NamedTuple

import numpy as np

from .variables import Variable

HALVINGS = 40
"""An element that passes a kink within a step 2^-40 as long lies on it."""
NEAR = 2.0**-42
"""Where an element that leaves a kink is on one of its sides."""
LEAST = 1e-3
"""The part of a step that must remain: a gradient that is off by 1e-9 is still seen."""


class Apart(NamedTuple):
    """A step in two parts: of elements that pass no kink along it, and of those that lie on one."""

    smooth: np.ndarray
    kinked: np.ndarray
    left_out: int
    """How many elements lie on a kink."""


def split_smooth_steps(variable: Variable, direction: np.ndarray) -> Apart | None:
    """The step without kinks to either side, and the rest; None of other subjects, or if little remains."""
    if variable.rows is None or variable.sides is None:
        return None
    rows = variable.rows
    scale = _row_factors(variable, direction, rows, 0.0)
    smooth = _gentle_step(variable, _scale_rows(direction, scale))
    if not np.linalg.norm(smooth) > LEAST * np.linalg.norm(direction):
        return None
    kinked = _scale_rows(direction, (scale == 0.0).astype(float))
    left_out = int((scale[rows] == 0.0).any(axis=1).sum())
    if left_out:
        kinked = _scale_rows(kinked, _row_factors(variable, kinked, rows, NEAR))
    variable.put(variable.values)
    return Apart(smooth, kinked, left_out)


def _gentle_step(variable: Variable, direction: np.ndarray) -> np.ndarray:
    """The step, with rows halved along which the gradient changes by more than half of itself."""
    variable.put(variable.values)
    start, step = variable.gradient(), direction.copy()
    rows = start.reshape(len(start), -1)
    for _ in range(HALVINGS):
        steep = np.zeros(len(rows), bool)
        for sign in (1.0, -1.0):
            variable.put(variable.values + sign * step)
            change = variable.gradient().reshape(rows.shape) - rows
            steep |= np.linalg.norm(change, axis=1) > 0.5 * np.linalg.norm(rows, axis=1)
        if not steep.any():
            break
        step[steep] *= 0.5
    variable.put(variable.values)
    return step


def _scale_rows(direction: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return direction * scale.reshape(-1, *[1] * (direction.ndim - 1))


def _row_factors(variable: Variable, direction: np.ndarray, rows: np.ndarray, near: float) -> np.ndarray:
    """Factors of rows of the step for which sides do not change from `near` on; 0 where there are none."""
    assert variable.sides is not None
    scale, among = np.ones(len(direction)), np.arange(len(rows))
    for halving in range(HALVINGS + 1):
        step, passing = _scale_rows(direction, scale), np.zeros(len(among), bool)
        for sign in (1.0, -1.0):
            variable.put(variable.values + sign * near * step)
            before = variable.sides(among)
            for s in (0.25, 0.5, 1.0):
                variable.put(variable.values + sign * s * step)
                passing |= (variable.sides(among) != before).any(axis=0)
        if not passing.any():
            break
        halved = np.unique(rows[among[passing]])
        scale[halved] *= 0.5 if halving < HALVINGS else 0.0
        among = np.flatnonzero(np.isin(rows, halved).any(axis=1))
    return scale
