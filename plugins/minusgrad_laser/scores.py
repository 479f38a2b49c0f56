"""Scores of a developed map against its target: intersection over union, edge placement, areas.

Maps are (rows, columns) of numbers; what exceeds 1/2 counts as developed, or wanted. Needs NumPy and SciPy
alone.

    intersection over union     |Z and T| / |Z or T|                   (Jaccard index; 1 where both are empty)
    over-exposed area           pixel^2 |Z and not T|
    under-exposed area          pixel^2 |T and not Z|

Edge placement error (Mack 2007, Fundamental Principles of Optical Lithography, ch. 8): along the target's
contour T = 1/2, the distance e along its outward normal n to the contour Z = 1/2 of the developed map,

    Z(p + e n) = 1/2,   Z falling along n, the nearest such e within +-reach;   e > 0: too much is developed

Points p and normals are those of the target's contour (`contours`), each with the weight of its piece; values
of Z between centres of cells are bilinear. Where no contour is found, |e| counts as reach.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from .contours import HALF, Contour

SAMPLES = 4
"""Samples in a cell along the normal."""
CHUNK = 4096
"""Points whose samples are held in memory together."""


@dataclass(frozen=True, eq=False)
class EdgePlacement:
    """The edge placement error at points of the target's contour.

    points (n, 2) [length]: x, y. normals (n, 2): outwards. error (n,) [length]: signed, `reach` where no
    contour was found. weight (n,) [length]: the piece of the contour. found (n,): True where one was found.
    """

    points: np.ndarray
    normals: np.ndarray
    error: np.ndarray
    weight: np.ndarray
    found: np.ndarray

    @property
    def mean(self) -> float:
        """The mean of |e| along the contour [length]; NaN for a target without a contour."""
        return self._weighted_average(np.abs(self.error))

    @property
    def bias(self) -> float:
        """The mean of e: above zero where developed shapes are too large on average [length]."""
        return self._weighted_average(self.error)

    @property
    def largest_error(self) -> float:
        """The largest |e| [length]."""
        return float(np.abs(self.error).max()) if len(self.error) else np.nan

    @property
    def missing(self) -> float:
        """The part of the contour beside which none was found within reach."""
        return self._weighted_average(~self.found)

    @property
    def length(self) -> float:
        """Of the contour [length]."""
        return float(self.weight.sum())

    def quantile(self, part: float = 0.95) -> float:
        """The |e| that this part of the contour does not exceed [length]."""
        if not len(self.error):
            return np.nan
        order = np.argsort(np.abs(self.error))
        reached = np.cumsum(self.weight[order]) >= part * self.length * (1.0 - 1e-12)
        return float(np.abs(self.error)[order][np.argmax(reached)])

    def _weighted_average(self, values: np.ndarray) -> float:
        return float(np.average(values, weights=self.weight)) if len(values) else np.nan


def intersection_over_union(developed: np.ndarray, target: np.ndarray) -> float:
    """Of the cells above 1/2 in each map; 1 where there are none in both.

    Raises `ValueError` for maps of different shapes, and NaN.
    """
    z, t = _cut_at_half(developed, target)
    union = np.count_nonzero(z | t)
    return np.count_nonzero(z & t) / union if union else 1.0


def misplaced_areas(developed: np.ndarray, target: np.ndarray, pixel: float) -> tuple[float, float]:
    """The over-exposed and the under-exposed area [length^2]; raises as `intersection_over_union`."""
    z, t = _cut_at_half(developed, target)
    return np.count_nonzero(z & ~t) * pixel**2, np.count_nonzero(t & ~z) * pixel**2


def edge_placement(
    developed: np.ndarray,
    target: np.ndarray,
    pixel: float,
    reach: float | None = None,
    contour: Contour | None = None,
    order: int = 1,
) -> EdgePlacement:
    """The edge placement error along the target's contour.

    pixel: side of a cell [length]. reach: how far along the normal a contour is sought (default: 10 pixels).
    contour: that of the target, where it is known. order: of the spline between cells, 3 where the map is a
    smooth dose. Raises as `intersection_over_union`.
    """
    _cut_at_half(developed, target)
    z, contour = np.asarray(developed, float), contour or Contour.of(target)
    points, normals = contour.points, contour.normals
    smooth = ndimage.spline_filter(z, order) if order > 1 else z
    far = int(np.ceil(SAMPLES * (10.0 if reach is None else reach / pixel)))
    parts = [slice(k, k + CHUNK) for k in range(0, len(points), CHUNK)]
    each = [_contour_offsets(smooth, points[part], normals[part], far, order) for part in parts]
    error = np.concatenate([e for e, _ in each]) if each else np.zeros(0)
    found = np.concatenate([f for _, f in each]) if each else np.zeros(0, bool)
    return EdgePlacement(
        points[:, ::-1] * pixel, normals[:, ::-1], error * pixel, contour.pieces * pixel, found
    )


def _cut_at_half(developed: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two maps, cut at 1/2."""
    z, t = np.asarray(developed), np.asarray(target)
    if z.shape != t.shape or z.ndim != 2:
        raise ValueError(f"scores: need two maps of one shape (rows, columns), got {z.shape} and {t.shape}")
    for name, values in (("developed", z), ("target", t)):
        if np.isnan(values).any():
            row, column = np.argwhere(np.isnan(values))[0]
            raise ValueError(f"scores: the {name} map needs numbers, got NaN in row {row}, column {column}")
    return z > HALF, t > HALF


def _contour_offsets(
    z: np.ndarray, points: np.ndarray, normals: np.ndarray, far: int, order: int
) -> tuple[np.ndarray, np.ndarray]:
    """The signed distances (n,) [cells] to the nearest fall of Z through 1/2, and where there is one."""
    s = np.arange(-far, far + 1) / SAMPLES
    at = points[:, :, None] + normals[:, :, None] * s
    along = ndimage.map_coordinates(z, at.transpose(1, 0, 2), order=order, mode="nearest", prefilter=False)
    a, b = along[:, :-1] - HALF, along[:, 1:] - HALF
    falls = (a >= 0.0) & (b < 0.0)
    place = s[:-1] + np.where(falls, a / np.where(falls, a - b, 1.0), 0.0) / SAMPLES
    nearest = np.argmin(np.where(falls, np.abs(place), np.inf), axis=1)
    rows = np.arange(len(points))
    found = falls[rows, nearest]
    lost = np.where(along[:, far] > HALF, 1.0, -1.0) * far / SAMPLES
    return np.where(found, place[rows, nearest], lost), found
