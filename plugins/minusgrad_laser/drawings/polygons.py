"""Closed lines as polygons: corners (k, 2), the first of which is not repeated."""

import numpy as np


def signed_area(corners: np.ndarray) -> float:
    """The area of a polygon [m^2], above 0 if it turns to the left; of loops of two senses the difference."""
    x, y = (corners - corners[0]).T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2.0


def holds_point(corners: np.ndarray, point: np.ndarray) -> bool:
    """True if a point (2,) is inside: a line from it to the right crosses an odd number of sides."""
    a, b = corners - point, np.roll(corners, -1, axis=0) - point
    crosses = (a[:, 1] > 0.0) != (b[:, 1] > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = a[:, 0] - a[:, 1] * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1])
    return bool(np.count_nonzero(crosses & (at > 0.0)) % 2)
