"""Named facets with all of their nodes: files may list corners alone, beside cells with nodes between them.

A body of such a facet would lack the nodes in the middle of its edges, and a support would leave them free.
"""

from dataclasses import replace

import numpy as np

from ..mesh import NOBODY, Mesh

CORNERS = {(2, 3): 2, (3, 6): 3, (3, 8): 4, (3, 9): 4}
"""By dimension and number of nodes: the corners of facets with nodes between them."""


def complete_facets(mesh: Mesh) -> Mesh:
    """The mesh whose named facets have the nodes of its cells' facets, as have the bodies of their names."""
    if not mesh.facet_bodies or all(kind.count == kind.corners for kind in mesh.kinds):
        return mesh
    facets = mesh.facets()
    counts = (facets != NOBODY).sum(axis=1)
    bodies, named = dict(mesh.bodies), {}
    for name, groups in mesh.facet_bodies.items():
        named[name] = groups
        for (d, nodes), corners in CORNERS.items():
            whole = facets[counts == nodes, :nodes]
            if d == mesh.dimension and len(whole):
                named[name] = [part for rows in named[name] for part in _completed(rows, whole, corners)]
        own = np.concatenate([rows.ravel() for rows in named[name]])
        bodies[name] = np.union1d(bodies[name], own).astype(np.int32) if name in bodies else np.unique(own)
    return replace(mesh, bodies=bodies, facet_bodies=named)


def _completed(rows: np.ndarray, whole: np.ndarray, corners: int) -> list[np.ndarray]:
    """Rows of corners as the whole facets of the same corners; those that are none stay as they are."""
    if rows.shape[1] != corners:
        return [rows]
    keys, wanted = np.sort(whole[:, :corners], axis=1), np.sort(rows, axis=1)
    _, which = np.unique(np.concatenate([keys, wanted]), axis=0, return_inverse=True)
    which = which.reshape(-1)
    place = np.full(which.max() + 1, NOBODY)
    place[which[: len(keys)]] = np.arange(len(keys))
    at = place[which[len(keys) :]]
    return [part for part in (whole[at[at >= 0]], rows[at < 0]) if len(part)]
