"""Shapes of cells for pictures: their outlines, or those of their faces, by dimension and number of nodes.

A cell is drawn as polygons between its nodes, so that curved edges have two parts. Nodes are numbered as VTK
does. A polygon with fewer nodes than others of its list repeats its last one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Loop = tuple[int, ...]

_TETRAHEDRON: tuple[Loop, ...] = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))
_HEXAHEDRON: tuple[Loop, ...] = (
    (0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7),
)  # fmt: skip
_EDGES_4 = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
_EDGES_8 = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))


def _curved(faces: Sequence[Loop], edges: Sequence[tuple[int, int]], corners: int) -> tuple[Loop, ...]:
    """Faces with a node in the middle of each edge; those nodes follow the corners, edge by edge."""
    middle = {frozenset(edge): corners + n for n, edge in enumerate(edges)}
    around = [zip(face, (*face[1:], face[0]), strict=True) for face in faces]
    return tuple(tuple(n for a, b in pairs for n in (a, middle[frozenset((a, b))])) for pairs in around)


OUTLINES: dict[tuple[int, int], tuple[Loop, ...]] = {
    (2, 3): ((0, 1, 2),),
    (2, 6): ((0, 3, 1, 4, 2, 5),),
    (2, 4): ((0, 1, 2, 3),),
    (2, 8): ((0, 4, 1, 5, 2, 6, 3, 7),),
    (2, 9): ((0, 4, 1, 5, 2, 6, 3, 7),),
    (3, 4): _TETRAHEDRON,
    (3, 10): _curved(_TETRAHEDRON, _EDGES_4, 4),
    (3, 5): ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
    (3, 6): ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    (3, 8): _HEXAHEDRON,
    (3, 20): _curved(_HEXAHEDRON, _EDGES_8, 8),
    (3, 27): _curved(_HEXAHEDRON, _EDGES_8, 8),
}
"""Nodes around a cell of the plane, or around each face of a cell in space."""


class Outline(NamedTuple):
    """The polygons and edges that draw a list of cells.

    polygons (P, l), and of each its cell, owner (P,), and a node of that on its inner side, inner (P,);
    edges (K, 2): the parts of all edges drawn, each once; rim (R, 2): in the plane, those of one cell only.
    """

    polygons: np.ndarray
    owner: np.ndarray
    inner: np.ndarray
    edges: np.ndarray
    rim: np.ndarray


def outline(cells: np.ndarray, d: int) -> Outline:
    """The polygons and edges of cells (E, k): of all in the plane, of faces of one cell only in space."""
    loops, every = OUTLINES[d, cells.shape[1]], np.arange(len(cells))
    alone = np.ones((len(cells), len(loops)), bool) if d == 2 else _alone(cells, loops)
    most, polygons, owner, inner, pairs = max(map(len, loops)), [], [], [], []
    for n, loop in enumerate(loops):
        own = every[alone[:, n]]
        opposite = next((node for node in range(cells.shape[1]) if node not in loop), 0)
        polygons.append(cells[own][:, [*loop, *loop[-1:] * (most - len(loop))]])
        owner.append(own)
        inner.append(cells[own, opposite])
        pairs += [cells[own][:, pair] for pair in zip(loop, (*loop[1:], loop[0]), strict=True)]
    drawn = np.concatenate(owner)
    order = np.argsort(drawn, kind="stable")
    edges, counts = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0, return_counts=True)
    rim = edges[counts == 1] if d == 2 else edges[:0]
    return Outline(np.concatenate(polygons)[order], drawn[order], np.concatenate(inner)[order], edges, rim)


def _alone(cells: np.ndarray, loops: Sequence[Loop]) -> np.ndarray:
    """True (E, faces) for faces whose nodes no other cell has."""
    most = max(map(len, loops))
    faces = np.full((len(cells), len(loops), most), -1, np.int64)
    for n, loop in enumerate(loops):
        faces[:, n, : len(loop)] = np.sort(cells[:, loop], axis=1)
    _, number, counts = np.unique(faces.reshape(-1, most), axis=0, return_inverse=True, return_counts=True)
    return (counts[number.ravel()] == 1).reshape(len(cells), len(loops))
