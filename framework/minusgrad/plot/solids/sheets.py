"""Sheets of facets with a thickness: two sides in colours of their own, and walls along the rim.

    n_i = sum of the normals of the facets at node i, as long as twice their areas

A corner has the normal of its node unless the facet is turned from it by more than `SHARP`: creases stay.
"""

import numpy as np

from .pieces import Piece, joined, unit

SHARP = np.cos(np.radians(40.0))


def facet_normals(x: np.ndarray, facets: np.ndarray) -> np.ndarray:
    """Normals (E, 3) of facets (E, 3) between nodes x (N, 3), as long as twice the area."""
    a, b, c = (x[facets[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def node_normals(x: np.ndarray, facets: np.ndarray) -> np.ndarray:
    """Unit normals (N, 3) of nodes, weighted by area; zero beside the facets."""
    found = np.zeros_like(x, float)
    np.add.at(found, facets, facet_normals(x, facets)[:, None])
    return unit(found)


def sheet(
    x: np.ndarray, facets: np.ndarray, thickness: np.ndarray, front: np.ndarray, back: np.ndarray
) -> Piece:
    """The surface of facets (E, 3) between nodes x (N, 3) of thickness (E,).

    front, back: colours of the sides, (E, 3), or (E, 3, 3) of corners; the front is seen against the normals.
    """
    flat, nodes = unit(facet_normals(x, facets)), node_normals(x, facets)
    half = np.zeros(len(x))
    count = np.bincount(facets.ravel(), minlength=len(x))
    np.add.at(half, facets, 0.5 * thickness[:, None])
    half /= np.maximum(count, 1)
    corner = nodes[facets]
    sharp = np.einsum("eki,ei->ek", corner, flat) < SHARP
    normals = np.where(sharp[..., None], flat[:, None], corner)
    upper, lower = (x + sign * half[:, None] * nodes for sign in (1.0, -1.0))
    none = np.full(facets.shape, np.nan)
    fore, aft = (rgb if rgb.ndim == 3 else np.repeat(rgb[:, None], 3, axis=1) for rgb in (front, back))
    turned = facets[:, ::-1]
    sides = [
        Piece(upper[facets], normals, fore, none),
        Piece(lower[turned], -normals[:, ::-1], aft[:, ::-1], none),
    ]
    return joined([*sides, _rim(upper, lower, facets, 0.8 * fore)])


def _rim(upper: np.ndarray, lower: np.ndarray, facets: np.ndarray, rgb: np.ndarray) -> Piece:
    """The walls along the edges of one facet."""
    edges = np.concatenate([facets[:, [k, (k + 1) % 3]] for k in range(3)])
    shade = np.concatenate([rgb[:, [k, (k + 1) % 3]] for k in range(3)])
    _, first, counts = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    alone = first[counts == 1]
    (a, b), (p, q) = edges[alone].T, shade[alone].swapaxes(0, 1)
    corners = np.concatenate(
        [np.stack([lower[a], lower[b], upper[b]], axis=1), np.stack([lower[a], upper[b], upper[a]], axis=1)]
    )
    out = unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    colours = np.concatenate([np.stack([p, q, q], axis=1), np.stack([p, q, p], axis=1)])
    return Piece(corners, np.repeat(out[:, None], 3, axis=1), colours, np.full(corners.shape[:2], np.nan))
