"""Quality of cells: the least scaled Jacobian of their corners, 1 for the regular cell.

    q = c min over corners of det(e_1, ..., e_d) / (|e_1| ... |e_d|)

e_i are the edges that meet at a corner, in the order of the reference cell, c is such that q = 1 for the
equilateral triangle (2 / sqrt 3), the regular tetrahedron (sqrt 2), the square and the cube (1), the wedge
and the pyramid of equal edges. q <= 0 where a corner is turned inside out. The middle nodes of edges do not
count, nor the apex of a pyramid, where four edges meet. Source: Knupp, Ernst, Thompson, Stimpson & Pebay
2006, The Verdict library (Sandia SAND2007-1751).
"""

from functools import cache

import numpy as np

from ..cells.reference_cells import ReferenceCell
from ..mesh import Mesh

MEASURE = "least scaled Jacobian of the corners (1: regular, 0: flat, below: inside out)"
PERFECT = {
    "triangles": 2.0 / 3.0**0.5,
    "tetrahedra": 2.0**0.5,
    "wedges": 2.0 / 3.0**0.5,
    "pyramids": 2.0**0.5,
}
"""c, by the end of the cell's name; of others 1."""


def corner_quality(mesh: Mesh) -> np.ndarray:
    """q (E,) of each cell; negative for cells that are turned over."""
    found = []
    for kind, block in zip(mesh.kinds, mesh.blocks, strict=True):
        least = np.full(len(block), np.inf)
        for corner, around in corner_edges(kind):
            legs = mesh.points[block[:, around]] - mesh.points[block[:, corner], None]
            sizes = np.linalg.norm(legs, axis=2).prod(axis=1)
            volume = np.linalg.det(legs)
            least = np.minimum(least, np.where(sizes > 0.0, volume / np.where(sizes > 0.0, sizes, 1.0), 0.0))
        found.append(_perfect(kind) * least)
    return np.concatenate(found)


def _perfect(kind: ReferenceCell) -> float:
    return next((c for name, c in PERFECT.items() if kind.name.endswith(name)), 1.0)


@cache
def corner_edges(kind: ReferenceCell) -> list[tuple[int, list[int]]]:
    """Each corner where d edges meet, and their far ends in positive order."""
    found = []
    for corner in range(kind.corners):
        ends = [a + b - corner for a, b, *_ in kind.edges if corner in (a, b)]
        if len(ends) != kind.dimension:
            continue
        if np.linalg.det(corner_places(kind)[ends] - corner_places(kind)[corner]) < 0.0:
            ends[:2] = ends[1], ends[0]
        found.append((corner, ends))
    return found


def corner_places(kind: ReferenceCell) -> np.ndarray:
    """The places (k, d) of the corners in the reference cell; of a pyramid its apex above the middle."""
    if not kind.merged:
        return kind.nodes[: kind.corners]
    groups = [np.flatnonzero(np.array(kind.merged) == node) for node in range(kind.corners)]
    return np.array([kind.nodes[group].mean(axis=0) for group in groups])
