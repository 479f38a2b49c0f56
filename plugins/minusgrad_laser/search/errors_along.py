"""Errors along a path: how much the developed map differs from the target beside each move.

    blame_i = l_i mean over s, o of |developed - target| (x(s) + o n),     s along move i, o across it

at the cells that are nearest to points along the move, on it and half a pitch beside it on either side.
"""

from dataclasses import dataclass

import numpy as np

from .edits import Points

ALONG = np.linspace(0.1, 0.9, 5)
LEAST = 0.02
"""A mean error below this is none to blame a move for."""


@dataclass(frozen=True)
class ErrorsAlong:
    """columns, rows: of the canvas; pixel: side of a cell; beside: half a pitch; developed: a field."""

    columns: int
    rows: int
    pixel: float
    beside: float
    developed: str

    def of(self, path: Points, error: np.ndarray) -> np.ndarray:
        """The blame (n,) of each move for an error (cells,); 0 for travels, and where errors are slight."""
        here, length = path.point[:, :2], path.lengths
        before = np.concatenate([here[:1], here[:-1]])
        along = here - before
        across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.where(length > 0.0, length, 1.0)[:, None]
        found = np.zeros(len(path))
        for s in ALONG:
            for o in (-self.beside, 0.0, self.beside):
                cell = np.rint((before + s * along + o * across) / self.pixel).astype(int)
                column, row = np.clip(cell, 0, [self.columns - 1, self.rows - 1]).T
                found += error[row * self.columns + column] / (3 * len(ALONG))
        return np.where(path.lit & (found > LEAST), found * length, 0.0)
