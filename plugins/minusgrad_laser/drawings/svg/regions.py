"""Regions that clip: a viewport within another, a clip path. Each is a convex polygon in metres.

A shape within all of them is drawn whole, one beyond a side of one is not drawn, others are cut (`clipping`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .faults import refuse
from .transforms import Matrix


@dataclass(frozen=True, eq=False)
class Region:
    """corners (k, 2) [m], counterclockwise. name: of the element that it belongs to, with its line."""

    corners: np.ndarray
    name: str

    def sides(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Both ends of each side."""
        for a, b in zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True):
            if (a != b).any():
                yield a, b

    @staticmethod
    def distance(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Of points (n, 2) from the line of a side, above 0 outside."""
        side = b - a
        return np.asarray((points - a) @ np.array([side[1], -side[0]]) / np.hypot(*side))

    def holds(self, points: np.ndarray, slack: float) -> bool | None:
        """True for points (n, 2) that all lie within, False if all lie beyond one side, None otherwise."""
        within = True
        for a, b in self.sides():
            out = self.distance(points, a, b)
            if float(out.min()) >= -slack and float(out.max()) > slack:
                return False
            within = within and float(out.max()) <= slack
        return True if within else None


def rectangle_region(matrix: Matrix, size: tuple[float, float], name: str) -> Region:
    """Of the rectangle from (0, 0) in coordinates that a matrix takes to metres."""
    w, h = size
    return polygon_region(map_points(matrix, np.array([[0.0, 0.0], [w, 0.0], [w, h], [0.0, h]])), name)


def polygon_region(points: np.ndarray, name: str) -> Region:
    """Of a convex polygon. Raises `SvgError` for one that is not."""
    side = np.roll(points, -1, axis=0) - points
    next_side = np.roll(side, -1, axis=0)
    turn = side[:, 0] * next_side[:, 1] - side[:, 1] * next_side[:, 0]
    x, y = points.T
    area = float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2.0
    rounding = 1e-9 * float(np.hypot(*side.T).sum()) ** 2
    if abs(area) <= rounding or (turn * np.sign(area) < -rounding).any() or _turns(side) > 1:
        refuse(f"{name} is no convex shape; cut the shapes themselves, or engrave the file as a picture")
    return Region(points if area > 0.0 else points[::-1], name)


def _turns(side: np.ndarray) -> int:
    """How often the sides go around."""
    angle = np.arctan2(side[:, 1], side[:, 0])
    step = (np.diff(np.append(angle, angle[0])) + np.pi) % (2.0 * np.pi) - np.pi
    return round(abs(float(step.sum())) / (2.0 * np.pi))


def map_points(matrix: Matrix, points: np.ndarray) -> np.ndarray:
    a, b, c, d, e, f = matrix
    return points @ np.array([[a, b], [c, d]]) + np.array([e, f])
