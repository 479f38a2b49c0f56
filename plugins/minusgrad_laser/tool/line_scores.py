"""Edges that a layer's lines leave: where the dose of the layer is the threshold, on both sides of each line.

A line is looked at in points `STEP` of a waist apart; e(s) is the distance from the line to the threshold
along its normal. The edge of a part lies on the side of the part: inside of outlines, outside of holes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from ..drawings.polygons import signed_area
from ..layers.nesting import holders_of
from ..paths.stroke import Stroke, resample_line

STEP = 0.5
"""Distance of points along a line, in waists."""
REACH = 3.0
"""How far from a line the threshold is sought, in waists."""
FINE = 8
"""Samples along a normal, to a cell."""


@dataclass(frozen=True, eq=False)
class LineEdges:
    """Distances (n, 2) [m] of the threshold from lines, to the left and to the right; NaN without one.

    It is missing where nothing is marked, and near a corner, where the normal runs along the other side.
    dose (n,): on the line. part (n,): 0 or 1, the side on which the part is.
    """

    distance: np.ndarray
    dose: np.ndarray
    part: np.ndarray
    threshold: float

    @property
    def marked(self) -> float:
        """The part of the lines that is marked."""
        return float((self.dose >= self.threshold).mean())

    @property
    def width(self) -> float:
        """The median width of the mark [m]; 0 without one."""
        found = self.distance.sum(axis=1)
        return float(np.nanmedian(found)) if np.isfinite(found).any() else 0.0

    @property
    def errors(self) -> np.ndarray:
        """Distance (n,) of the part's edge from its outline [m], above 0 where the part is too small."""
        found = self.distance[np.arange(len(self.part)), self.part]
        return found[np.isfinite(found)]


def line_edges(
    dose: np.ndarray,
    origin: tuple[float, float],
    pixel: float,
    lines: Sequence[np.ndarray],
    threshold: float,
    waists: tuple[float, float],
) -> LineEdges:
    """The edges of a layer's dose (rows, columns), whose first cell is centred at `origin` [m]."""
    strokes = [Stroke.gapless_stroke(line) for line in lines]
    depth = [len(around) for around in holders_of(strokes)]
    distances, doses, parts = [], [], []
    dose = ndimage.spline_filter(dose)  # cubic: linear between cells of a fifth of the spot is 3 um off
    for stroke, deep in zip(strokes, depth, strict=True):
        points = resample_line(stroke.points, STEP * min(waists))
        way = np.diff(points, axis=0)
        middle, length = 0.5 * (points[1:] + points[:-1]), np.hypot(*way.T)
        way = way / np.where(length > 0.0, length, 1.0)[:, None]
        left = np.stack([-way[:, 1], way[:, 0]], axis=1)
        places = [(middle[:, axis] - origin[axis]) / pixel for axis in (1, 0)]
        doses.append(ndimage.map_coordinates(dose, places, prefilter=False))
        both = [
            _threshold_distance(dose, origin, pixel, middle, side * left, threshold, REACH * max(waists))
            for side in (1.0, -1.0)
        ]
        inside_is_left = signed_area(stroke.points) > 0.0
        part = 0 if inside_is_left == (deep % 2 == 0) else 1
        distances.append(np.stack(both, axis=1))
        parts.append(np.full(len(middle), part))
    return LineEdges(np.concatenate(distances), np.concatenate(doses), np.concatenate(parts), threshold)


def _threshold_distance(
    dose: np.ndarray,
    origin: tuple[float, float],
    pixel: float,
    points: np.ndarray,
    normals: np.ndarray,
    threshold: float,
    reach: float,
) -> np.ndarray:
    """Where the dose first falls below a threshold along normals (n,) [m]; NaN where it does not."""
    s = np.linspace(0.0, reach, max(8, int(FINE * reach / pixel)))
    at = points[:, None, :] + s[None, :, None] * normals[:, None, :]
    places = [(at[..., axis] - origin[axis]) / pixel for axis in (1, 0)]
    along = ndimage.map_coordinates(dose, places, prefilter=False) - threshold
    falls = (along[:, :-1] >= 0.0) & (along[:, 1:] < 0.0)
    first = np.argmax(falls, axis=1)
    rows = np.arange(len(points))
    a, b = along[rows, first], along[rows, first + 1]
    place = s[first] + (s[1] - s[0]) * a / np.where(a == b, 1.0, a - b)
    return np.where(falls.any(axis=1) & (along[:, 0] >= 0.0), place, np.nan)
