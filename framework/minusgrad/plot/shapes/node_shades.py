"""Smooth colours of bodies by values of their nodes: polygons in small pieces, each with its own value.

A polygon is a fan of blades around its middle, with three corners each, and these are cut into equal pieces,
in which values are linear; so a peak at a node has its colour, which the mean over a cell hides.
"""

from typing import NamedTuple

import numpy as np

from ..mesh_artists import DrawnList

MOST = 40_000
"""The largest number of pieces."""
FINEST = 6
"""The most parts along an edge."""


class Shades(NamedTuple):
    """Nodes with further ones (N + M, 2 or 3), a list of pieces with three corners, and the value of each."""

    nodes: np.ndarray
    part: DrawnList
    values: np.ndarray


def shaded(nodes: np.ndarray, value: np.ndarray, part: DrawnList) -> Shades | None:
    """The polygons of a list with values (N,) at nodes (N, 2 or 3); None where they are too many to cut."""
    ring = part.shown
    fans = len(ring) * (ring.shape[1] if ring.shape[1] > 3 else 1)
    parts = min(FINEST, int(np.sqrt(MOST / max(fans, 1))))
    if parts < 2 or not np.isfinite(value[ring]).all():
        return None
    every = np.concatenate([nodes, value[:, None]], axis=1)
    corners, owner = _fan(every, ring)
    places, small = _grid(parts)
    points = np.einsum("gc,tcx->tgx", places, corners)
    count, width = len(corners), len(places)
    rows = (np.arange(count) * width)[:, None, None] + small
    flat = points.reshape(-1, every.shape[1])
    shown = rows.reshape(-1, 3)
    whole = np.concatenate([nodes, flat[:, :-1]])
    inner = np.repeat(part.inner[owner], len(small))
    cut = part._replace(shown=len(nodes) + shown, owner=np.arange(len(shown)), inner=inner)
    return Shades(whole, cut, flat[shown, -1].mean(axis=1))


def _fan(every: np.ndarray, ring: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The blades (T, 3, columns) of polygons, and the polygon of each."""
    polygons = np.arange(len(ring))
    if ring.shape[1] == 3:
        return every[ring], polygons
    weights = _middle_weights(ring)
    middle = np.einsum("pa,pax->px", weights, every[ring])
    following = np.roll(ring, -1, axis=1)
    blades = np.stack(
        [np.repeat(middle[:, None], ring.shape[1], axis=1), every[ring], every[following]], axis=2
    )
    kept = ring != following
    return blades[kept], np.repeat(polygons[:, None], ring.shape[1], axis=1)[kept]


def _middle_weights(ring: np.ndarray) -> np.ndarray:
    """The share of each node of a polygon in its middle: of curved ones by their shape functions."""
    size = ring.shape[1]
    whole = (ring != np.roll(ring, -1, axis=1)).all(axis=1)
    single = (ring != np.roll(ring, 1, axis=1)).astype(float)
    weights = single / single.sum(axis=1, keepdims=True)
    if size in (6, 8):
        of_corner, of_middle = (-1.0 / 9.0, 4.0 / 9.0) if size == 6 else (-0.25, 0.5)
        weights[whole] = np.where(np.arange(size) % 2 == 0, of_corner, of_middle)
    return weights


def _grid(parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of a blade in equal parts, as shares of its corners (G, 3), and its pieces."""
    at = {
        (i, j): n for n, (i, j) in enumerate((i, j) for i in range(parts + 1) for j in range(parts + 1 - i))
    }
    places = np.array([(parts - i - j, i, j) for i, j in at]) / parts
    up = [(at[i, j], at[i + 1, j], at[i, j + 1]) for i in range(parts) for j in range(parts - i)]
    down = [
        (at[i + 1, j], at[i + 1, j + 1], at[i, j + 1]) for i in range(parts) for j in range(parts - i - 1)
    ]
    return places, np.array(up + down)
