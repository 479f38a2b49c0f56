"""The contour T = 1/2 of a target: points on it, the pieces of it that they stand for, and outward normals.

Points are where the lines between centres of neighbouring cells cross the contour; values between centres are
linear. Normals point where the target, blurred over SMOOTH cells, falls. A line of length L with the normal n
has L (|n_x| + |n_y|) / pixel such points, so each stands for a piece of length pixel / (|n_x| + |n_y|).

Where its cells are only 0 or 1, the contour of a target is known to about a quarter of a pixel.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

HALF = 0.5
SMOOTH = 2.0
"""Standard deviation of the blur that normals are taken from, in cells."""


@dataclass(frozen=True, eq=False)
class Contour:
    """Points (n, 2) as row, column [cells], outward unit normals (n, 2) alike, and pieces (n,) [cells]."""

    points: np.ndarray
    normals: np.ndarray
    pieces: np.ndarray

    @classmethod
    def of(cls, target: np.ndarray) -> "Contour":
        """Of a map (rows, columns)."""
        t = np.asarray(target, float)
        points, axes = contour_crossings(t)
        normals = _outward_normals(t, points, axes)
        return cls(points, normals, 1.0 / np.abs(normals).sum(axis=1))

    def squares(self, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """The four cells around each point, (n, 4) int32, and its place (n, 2) between them, within 0 and 1.

        Cells in the order (row, column), (row, column + 1), (row + 1, column), (row + 1, column + 1); there
        are none on a canvas of one row or one column.
        """
        rows, columns = shape
        if min(shape) < 2:
            return np.zeros((0, 4), np.int32), np.zeros((0, 2))
        base = np.clip(np.floor(self.points).astype(int), 0, [rows - 2, columns - 2])
        first = base[:, 0] * columns + base[:, 1]
        cells = first[:, None] + np.array([0, 1, columns, columns + 1])
        return cells.astype(np.int32), self.points - base


def contour_crossings(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 2) as row, column, where T = 1/2 between neighbours, and the axis outwards (n, 2) there."""
    points, axes = [], []
    for axis in (0, 1):
        low, high = (np.moveaxis(t, axis, 0)[some] for some in (slice(None, -1), slice(1, None)))
        at = np.argwhere((low > HALF) != (high > HALF))
        a, b = low[tuple(at.T)], high[tuple(at.T)]
        point = at.astype(float)
        point[:, 0] += (HALF - a) / (b - a)
        out = np.zeros_like(point)
        out[:, 0] = np.where(a > b, 1.0, -1.0)
        order = [0, 1] if axis == 0 else [1, 0]
        points.append(point[:, order])
        axes.append(out[:, order])
    return np.concatenate(points), np.concatenate(axes)


def _outward_normals(t: np.ndarray, points: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Outward unit normals (n, 2) as row, column; along the axis where the blurred target has no slope."""
    if min(t.shape) < 2:
        return axes
    smooth = ndimage.gaussian_filter(t, SMOOTH, mode="nearest")
    slopes = [ndimage.map_coordinates(g, points.T, order=1, mode="nearest") for g in np.gradient(smooth)]
    fall = -np.stack(slopes, axis=1)
    norm = np.linalg.norm(fall, axis=1, keepdims=True)
    outwards = (norm > 1e-6) & ((fall * axes).sum(axis=1, keepdims=True) > 0.0)
    return np.where(outwards, fall / np.where(norm > 0.0, norm, 1.0), axes)
