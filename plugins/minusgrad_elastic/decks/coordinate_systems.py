"""Coordinates in systems of their own: from cylinders and spheres to Cartesian ones, and axes from points.

    cylinder   x = r cos t, y = r sin t, z
    sphere     x = r sin t cos p, y = r sin t sin p, z = r cos t        t from the z axis, as in Nastran
    local      X = a + x e_1 + y e_2 + z e_3

t, p in degrees, points (n, 3). e_i are unit vectors, right-handed. Sources: Abaqus Keywords Guide (*NODE,
*SYSTEM), MSC Nastran Quick Reference Guide (CORD1R to CORD2S).
"""

from dataclasses import dataclass

import numpy as np


def cylinder_points(points: np.ndarray) -> np.ndarray:
    """Cartesian coordinates of (r, t, z)."""
    r, t = points[:, 0], np.deg2rad(points[:, 1])
    return np.stack([r * np.cos(t), r * np.sin(t), points[:, 2]], axis=1)


def sphere_points(points: np.ndarray) -> np.ndarray:
    """Cartesian coordinates of (r, t, p), t from the z axis."""
    r, t, p = points[:, 0], np.deg2rad(points[:, 1]), np.deg2rad(points[:, 2])
    return np.stack([r * np.sin(t) * np.cos(p), r * np.sin(t) * np.sin(p), r * np.cos(t)], axis=1)


@dataclass(frozen=True)
class Axes:
    """An origin (3,) and unit vectors, the rows of (3, 3)."""

    origin: np.ndarray
    vectors: np.ndarray

    def placed(self, points: np.ndarray) -> np.ndarray:
        """Global coordinates (n, 3) of local ones."""
        return self.origin + points @ self.vectors


def axes_x(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Axes | None:
    """From origin, a point on the x axis, and one at positive y; None where they are on a line."""
    return _axes(a, b - a, c - a, (0, 1, 2))


def axes_z(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Axes | None:
    """From origin, a point on the z axis, and one at positive x; None where they are on a line."""
    return _axes(a, b - a, c - a, (2, 0, 1))


def _axes(origin: np.ndarray, first: np.ndarray, second: np.ndarray, order: tuple[int, ...]) -> Axes | None:
    """The first axis along a vector, the second in the plane of both; `order`: which axes these are."""
    third = np.cross(first, second)
    if not np.linalg.norm(third) > 1e-12 * np.linalg.norm(first) * np.linalg.norm(second):
        return None
    vectors = np.zeros((3, 3))
    for axis, vector in zip(order, (first, np.cross(third, first), third), strict=True):
        vectors[axis] = vector / np.linalg.norm(vector)
    return Axes(origin, vectors)


def turned_points(points: np.ndarray, a: np.ndarray, b: np.ndarray, angle: float) -> np.ndarray:
    """Points (n, 3) turned by an angle [degrees] about the axis from a to b (Rodrigues' formula)."""
    axis = (b - a) / np.linalg.norm(b - a)
    turn, r = np.deg2rad(angle), points - a
    along = np.outer(r @ axis, axis)
    return a + along + np.cos(turn) * (r - along) + np.sin(turn) * np.cross(axis, r)
