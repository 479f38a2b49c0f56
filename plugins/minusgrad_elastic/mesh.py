"""Meshes of linear triangles (d = 2) and tetrahedra (d = 3), and gradients of their shape functions at rest.

    D = [X_1 - X_0, ..., X_d - X_0]          V = det D / d!
    grad N_a = row a of D^-1, a = 1..d       grad N_0 = -sum_{a>0} grad N_a
    F = sum_a x_a (x) grad N_a               I at rest, A for x = A X + b
    m_i = sum_{cells e at i} rho_e V_e / (d + 1)

X (n, d) [m] are the points at rest, N_a the shape function that is 1 at node a of a cell, V [m^d] its rest
volume (2D: area), rho [kg/m^d] its density. F and V as in Sifakis & Barbic 2012 (FEM simulation of 3D
deformable solids, SIGGRAPH courses, part I, chapter 4); lumped masses as row sums: Hughes 2000 (The Finite
Element Method, chapter 7). Where digits matter (single precision, small cells) write F with x_a - x_0: the
sum over a loses them in proportion to |x| / h.
"""

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import factorial

import numpy as np

from minusgrad.plugin import UserError

OUTWARD = {2: ((1, 2), (2, 0), (0, 1)), 3: ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))}
"""Nodes of the facet opposite to each node of a positive cell, seen from outside counterclockwise."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """points (n, d) [m] f64; cells (E, d + 1) int32: the nodes of each, in positive orientation (V > 0).

    bodies: sorted node numbers by name; cell_bodies: sorted cell numbers by name. `source` names the mesh in
    messages; node_tags (n,) and cell_tags (E,) are the numbers that its file gave. Meshes from files
    are validated by `inspection.inspect`. Raises `UserError` for arrays of other shapes.
    """

    points: np.ndarray
    cells: np.ndarray
    bodies: dict[str, np.ndarray] = field(default_factory=dict)
    cell_bodies: dict[str, np.ndarray] = field(default_factory=dict)
    source: str = "the mesh"
    node_tags: np.ndarray | None = None
    cell_tags: np.ndarray | None = None

    def __post_init__(self) -> None:
        points, cells = np.shape(self.points), np.shape(self.cells)
        if len(points) != 2 or points[1] not in (2, 3) or cells[1:] != (points[1] + 1,):
            raise UserError(
                f"{self.source} has points of shape {points} and cells of shape {cells}; "
                "needed: (n, d) and (E, d + 1), d = 2 (triangles) or 3 (tetrahedra)"
            )

    @property
    def dimension(self) -> int:
        """d: 2 for triangles, 3 for tetrahedra."""
        return self.points.shape[1]

    def scaled(self, factor: float) -> "Mesh":
        """The same mesh, scaled by a factor."""
        return self if factor == 1.0 else replace(self, points=self.points * factor)

    def volumes(self) -> np.ndarray:
        """V [m^d] of each cell at rest, shape (E,); negative where a cell is inverted."""
        return np.linalg.det(self._legs()) / factorial(self.dimension)

    def gradients(self) -> np.ndarray:
        """grad N_a [1/m] of each cell at rest, shape (E, d + 1, d)."""
        others = np.linalg.inv(self._legs()).transpose(0, 2, 1)
        return np.concatenate([-others.sum(axis=1, keepdims=True), others], axis=1)

    def edges(self) -> np.ndarray:
        """The pairs of nodes that share a cell, each once, the lower first, shape (K, 2), in order."""
        pairs = np.concatenate([self.cells[:, pair] for pair in combinations(range(self.dimension + 1), 2)])
        low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1)
        return np.stack(np.divmod(np.unique(low * len(self.points) + high), len(self.points)), 1).astype(
            np.int32
        )

    def facets(self) -> np.ndarray:
        """The facets of all cells, each as its cell sees it: outward, shape (E (d + 1), d)."""
        return self.cells[:, np.array(OUTWARD[self.dimension])].reshape(-1, self.dimension)

    def boundary(self) -> np.ndarray:
        """The facets that belong to one cell only, outward, shape (B, d), in the order of the cells."""
        facets = self.facets()
        rank, new = ranked(facets)
        return facets[np.sort(rank[new & np.append(new[1:], True)])]

    def lumped(self, density: float | np.ndarray) -> np.ndarray:
        """m [kg] of each node, shape (n,): every cell gives each of its nodes the same share of its mass.

        density [kg/m^d] is one number or one for each cell, shape (E,); in 2D it is mass per area.
        """
        share = density * self.volumes() / (self.dimension + 1)
        shares = np.repeat(share, self.dimension + 1)
        return np.bincount(self.cells.ravel(), weights=shares, minlength=len(self.points))

    def _legs(self) -> np.ndarray:
        """D transposed: X_a - X_0 in row a - 1, shape (E, d, d)."""
        corners = self.points[self.cells]
        return corners[:, 1:] - corners[:, :1]


def ranked(tuples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order (k,) in which tuples (k, d) of the same nodes stand together, and where a new set begins."""
    nodes = np.sort(tuples, axis=1)
    rank = np.lexsort(nodes.T)
    return rank, np.any(np.diff(nodes[rank], axis=0, prepend=-1) != 0, axis=1)


def few(numbers: np.ndarray) -> str:
    """The first of some numbers, for messages: `3, 17, 92, 101, 103 and 12 more`."""
    shown = ", ".join(map(str, numbers[:5].tolist()))
    return shown if len(numbers) <= 5 else f"{shown} and {len(numbers) - 5} more"
