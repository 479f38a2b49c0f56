"""Offset curves of a region: closed rings at a distance inside its outline.

    ring(r) = boundary of the opening of {d > r} with a disc of radius o       d(p): distance to the outline

The opening leaves out parts narrower than 2 o, in which the two sides of a ring would nearly coincide. The
outline is where the target, bilinear between the centres of cells, is 1/2. All lengths are in cells, and
points (k, 2) are (column, row).

Decisions 0229.
"""

import numpy as np
from scipy.spatial import cKDTree

from minusgrad.plugin import UserError, pip_line

from .stroke import resample_line

FINE = 0.25
"""Distance of the points that stand for a polyline where distances to it are measured."""
FAR = 1e6


def outlines(values: np.ndarray, level: float, beyond: float = -FAR) -> list[np.ndarray]:
    """The closed polylines (k, 2) on which an array (rows, columns) has a value; outside it is `beyond`.

    Raises `UserError` without contourpy.
    """
    try:
        from contourpy import contour_generator
    except ImportError:
        raise UserError(f"path: contours need contourpy: {pip_line('plot')}") from None
    lines = contour_generator(z=np.pad(values, 1, constant_values=beyond), line_type="Separate").lines(level)
    return [np.asarray(line) - 1.0 for line in lines if len(line) > 3]


def distance(points: np.ndarray, lines: list[np.ndarray]) -> np.ndarray:
    """Distance (n,) of points (n, 2) to the nearest of some polylines; without a polyline infinite."""
    if not lines or not len(points):
        return np.full(len(points), np.inf)
    return cKDTree(np.concatenate([resample_line(line, FINE) for line in lines])).query(points.astype(float))[
        0
    ]


def rings(target: np.ndarray, first: float, step: float, least: float) -> list[np.ndarray]:
    """Closed rings (k, 2) at the distances first, first + step, ... inside the outline of target > 1/2.

    least: half the least width of the region inside of a ring, the radius o of the opening.
    """
    inside = target > 0.5
    depth = _signed_distance(inside, outlines(target, 0.5, beyond=0.0), _grow_cells(inside))
    found: list[np.ndarray] = []
    level, corner = first, np.zeros(2)
    while depth.max() > level + least:
        low, part = _least_box(depth > level - least - 2.0)
        depth, corner = depth[part], corner + low
        core = depth > level + least
        band = (depth > level - least - 2.0) & (depth < level + least + 2.0)
        around = outlines(_signed_distance(core, outlines(depth, level + least), band), -least)
        found += [line + corner for line in around]
        level += step
    return found


def _signed_distance(inside: np.ndarray, lines: list[np.ndarray], band: np.ndarray) -> np.ndarray:
    """Distance to some polylines in the cells of a band, positive inside; elsewhere it is only far."""
    found = np.where(inside, FAR, -FAR)
    rows, columns = np.nonzero(band)
    found[band] = np.copysign(distance(np.stack([columns, rows], axis=1), lines), found[band])
    return found


def _least_box(inside: np.ndarray) -> tuple[np.ndarray, tuple[slice, slice]]:
    """The least column and row of some cells, and their box."""
    rows, columns = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    box = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return np.array([columns[0], rows[0]], float), box


def _grow_cells(inside: np.ndarray) -> np.ndarray:
    """Cells and those beside them."""
    wide = np.pad(inside, 1)
    across = wide[1:-1] | wide[:-2] | wide[2:]
    return across[:, 1:-1] | across[:, :-2] | across[:, 2:]
