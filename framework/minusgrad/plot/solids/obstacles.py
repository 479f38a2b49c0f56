"""Obstacles in space as surfaces: balls, cuboids and facets, which hide what is behind them."""

import numpy as np

from ..surroundings.obstacle_artists import corners
from ..surroundings.saved import Surroundings
from .pieces import Piece, indexed, unit

ROUND = 64
"""Corners of a ball's equator."""


def obstacle_pieces(around: Surroundings | None, view: np.ndarray) -> list[Piece]:
    """The surfaces of balls, cuboids and facets, in the axes of a view (3, 3), without colour."""
    if around is None:
        return []
    found = [ball(np.asarray(one.centre, float), float(one.radius)) for _, one in around.spheres]
    found += [cuboid(np.asarray(one.low, float), np.asarray(one.high, float)) for _, one in around.cuboids]
    found += [flat(np.asarray(one.corners, float)) for _, one in around.facets]
    return [one.seen_in(view) for one in found]


def ball(centre: np.ndarray, radius: float) -> Piece:
    """A ball."""
    around, up = np.linspace(0.0, 2.0 * np.pi, ROUND + 1), np.linspace(0.0, np.pi, ROUND // 2 + 1)
    a, b = np.meshgrid(around, up, indexing="ij")
    out = np.stack([np.sin(b) * np.cos(a), np.sin(b) * np.sin(a), np.cos(b)], axis=-1)
    number = np.arange(a.size).reshape(a.shape)
    one, other, third, last = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    quads = np.stack([one, other, third, last], axis=-1).reshape(-1, 4)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    normals = out.reshape(-1, 3)
    return indexed(centre + radius * normals, normals, faces, np.zeros((len(normals), 3)))


def cuboid(low: np.ndarray, high: np.ndarray) -> Piece:
    """A cuboid along the axes."""
    box = corners(low, high).reshape(2, 2, 2, 3)
    made = []
    for axis in range(3):
        for side in (0, 1):
            face = np.take(box, side, axis=axis).reshape(4, 3)[[0, 1, 3, 2]]
            normal = np.cross(face[1] - face[0], face[2] - face[0])
            out = (1.0 if side else -1.0) * np.eye(3)[axis]
            face = face if normal @ out > 0.0 else face[::-1]
            made += [face[[0, 1, 2]], face[[0, 2, 3]]]
    return flat(np.array(made))


def flat(places: np.ndarray) -> Piece:
    """Facets with corners (F, 3, 3), outwards."""
    normal = unit(np.cross(places[:, 1] - places[:, 0], places[:, 2] - places[:, 0]))
    return Piece(
        places,
        np.repeat(normal[:, None], 3, axis=1),
        np.zeros_like(places),
        np.full(places.shape[:2], np.nan),
    )
