"""Bravais lattices with a basis, by their conventional cells: rows of edge vectors and of places, for a = 1.

    x = (n + s) h,     n whole numbers, s the fractional places of the basis, h the rows of edge vectors

fcc, bcc, simple cubic and diamond have the cubic cell of edge a; the triangular lattice of the plane, with
neighbours at the distance a, has the rectangular cell of edges a and sqrt(3) a.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

_CUBE = np.eye(3)
_FACES = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]


@dataclass(frozen=True)
class Lattice:
    """The conventional cell of a crystal: `edges` (d, d), rows in units of a; `basis` (k, d), fractional."""

    edges: np.ndarray
    basis: np.ndarray

    def crystal(self, a: float, cells: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Places (n, d) of so many cells along each edge, and the edge vectors (d, d) of them all.

        The atoms of a cell follow each other; the last axis varies first. No atom lies on a face of the box.
        """
        edges = a * self.edges
        corners = np.indices(cells).reshape(len(cells), -1).T
        places = (corners[:, None] + self.basis[None] + _INSIDE) @ edges
        return places.reshape(-1, len(cells)), np.array(cells)[:, None] * edges

    def nearest(self) -> float:
        """The distance of nearest neighbours, in units of a."""
        around = np.indices((3,) * len(self.edges)).reshape(len(self.edges), -1).T - 1
        places = (around[:, None] + self.basis[None]).reshape(-1, len(self.edges)) @ self.edges
        lengths = np.linalg.norm(places - self.basis[0] @ self.edges, axis=1)
        return float(lengths[lengths > 1e-9].min())


def bonds(x: np.ndarray, length: float) -> np.ndarray:
    """The pairs of places (n, d) at this distance, to 1 %, (m, 2): none reaches beyond the faces of a box."""
    pairs = cKDTree(x).query_pairs(1.01 * length, output_type="ndarray")
    return pairs[np.lexsort(pairs.T[::-1])].astype(np.int32)


_INSIDE = 0.125
"""In cells: the distance of the first atom from the corner. Rounding moves no atom to the other side."""

LATTICES = {
    "simple_cubic": Lattice(_CUBE, np.zeros((1, 3))),
    "bcc": Lattice(_CUBE, np.array([[0.0] * 3, [0.5] * 3])),
    "fcc": Lattice(_CUBE, np.array(_FACES)),
    "diamond": Lattice(_CUBE, np.concatenate([_FACES, np.add(_FACES, 0.25)])),
    "triangular": Lattice(np.diag([1.0, 3.0**0.5]), np.array([[0.0, 0.0], [0.5, 0.5]])),
}
"""By the name of the crystal; the triangular one is in the plane."""
