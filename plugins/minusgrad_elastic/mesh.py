"""Meshes of cells of one kind or several, and gradients of their shape functions at rest.

    X = sum_a X_a N_a(xi)          J = dX/dxi = sum_a X_a (x) dN_a/dxi          V_q = w_q det J
    grad N_a = J^-T dN_a/dxi       F = sum_a x_a (x) grad N_a = I at rest, A for x = A X + b
    m_i = sum_{cells e at i} rho_e V_e w_a,     w_a = int N_a^2 / sum_b int N_b^2

X (n, d) [m] are the points at rest, N_a the shape function that is 1 at node a of a cell
(`cells.reference_cells`), V_q [m^d] the rest volume of a quadrature point (2D: area), rho [kg/m^d] a
density. F and V as in Sifakis & Barbic 2012 (FEM simulation of 3D deformable solids, SIGGRAPH courses, part
I, chapter 4). Lumped masses are in proportion to the diagonal of the consistent ones (Hinton, Rock &
Zienkiewicz 1976, Earthquake Eng. Struct. Dyn. 4, 245): always positive, where row sums give corners of
10-node tetrahedra negative masses and those of 6-node triangles none; of linear cells alike they are row
sums. Where digits matter (single precision, small cells) write F with x_a - x_0: the sum over a loses them
in proportion to |x| / h.

Decisions 0071, 0319.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from minusgrad.plugin import UserError

from .cells import reference_cells
from .cells.reference_cells import ReferenceCell

NOBODY = -1
"""Fills rows of facets that have fewer nodes than others."""


class AtPoints(NamedTuple):
    """Values at the quadrature points of the cells of one kind, in the order of the cells.

    cell (P,): the cell of each point, counted from 0 within its kind; gradients (P, k, d) [1/m]; volume (P,)
    [m^d]; shares (P, k): N_a; jacobian (P,): det J, negative where a cell is inverted.
    """

    cell: np.ndarray
    gradients: np.ndarray
    volume: np.ndarray
    shares: np.ndarray
    jacobian: np.ndarray


@dataclass(frozen=True, eq=False)
class Mesh:
    """points (n, d) [m] f64; cells (E, k) int32: the nodes of each, in positive orientation (V > 0).

    more: the cells of further kinds, an array for each, whose numbers follow. A kind is known by d and k
    (`cells.reference_cells.cells`). bodies: sorted node numbers by name; cell_bodies: sorted cell numbers
    by name; facet_bodies: nodes of facets by name, an array (F, b) for each kind, corners first. `source`
    names the mesh in messages; node_tags (n,) and cell_tags (E,) are the numbers that its file gave; remarks:
    what its reader did; length: the unit of its points, if the file states one. Meshes from files are
    validated by `inspection.inspect`. Raises `UserError` for arrays of other shapes.
    """

    points: np.ndarray
    cells: np.ndarray
    bodies: dict[str, np.ndarray] = field(default_factory=dict)
    cell_bodies: dict[str, np.ndarray] = field(default_factory=dict)
    source: str = "the mesh"
    node_tags: np.ndarray | None = None
    cell_tags: np.ndarray | None = None
    more: tuple[np.ndarray, ...] = ()
    facet_bodies: dict[str, list[np.ndarray]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    length: str = ""

    def __post_init__(self) -> None:
        points = np.shape(self.points)
        flat = len(points) == 2 and points[1] in (2, 3)
        for cells in map(np.shape, self.blocks):
            if not flat or len(cells) != 2 or (points[1], cells[1]) not in reference_cells.cells():
                raise UserError(
                    f"{self.source} has points of shape {points} and cells of shape {cells}; needed: (n, d) "
                    "and (E, k), d = 2 (triangles, quadrilaterals) or 3 (tetrahedra, pyramids, wedges,"
                    " hexahedra)"
                )

    @property
    def dimension(self) -> int:
        """d: 2 in the plane, 3 in space."""
        return self.points.shape[1]

    @property
    def blocks(self) -> tuple[np.ndarray, ...]:
        """The cells of each kind, (E, k)."""
        return (self.cells, *self.more)

    @cached_property
    def kinds(self) -> tuple[ReferenceCell, ...]:
        """The kind of the cells of each block."""
        return tuple(reference_cells.cells()[self.dimension, block.shape[1]] for block in self.blocks)

    @property
    def count(self) -> int:
        """E, the number of all cells."""
        return sum(map(len, self.blocks))

    def scaled_mesh(self, factor: float) -> "Mesh":
        """The same mesh, scaled by a factor."""
        return self if factor == 1.0 else replace(self, points=self.points * factor)

    @cached_property
    def at_points(self) -> tuple[AtPoints, ...]:
        """Gradients, volumes and shares at the quadrature points of each block."""
        pairs = zip(self.kinds, self.blocks, strict=True)
        return tuple(_at_points(self.points[block], kind) for kind, block in pairs)

    def mean_gradients(self) -> list[np.ndarray]:
        """The means of the gradients (E, k, d) [1/m] over each cell, of each block."""
        found = []
        for at, block in zip(self.at_points, self.blocks, strict=True):
            total = np.zeros((*block.shape, self.dimension))
            np.add.at(total, at.cell, at.volume[:, None, None] * at.gradients)
            found.append(total / _sum_by_cell(at.volume, at.cell, len(block))[:, None, None])
        return found

    def mean_shares(self) -> list[np.ndarray]:
        """The means of the shares (E, k) over each cell, of each block."""
        found = []
        for at, block in zip(self.at_points, self.blocks, strict=True):
            total = np.zeros(block.shape)
            np.add.at(total, at.cell, at.volume[:, None] * at.shares)
            found.append(total / _sum_by_cell(at.volume, at.cell, len(block))[:, None])
        return found

    def volumes(self) -> np.ndarray:
        """V [m^d] of each cell at rest, shape (E,); negative where a linear cell is inverted."""
        pairs = zip(self.at_points, self.blocks, strict=True)
        return np.concatenate([_sum_by_cell(at.volume, at.cell, len(block)) for at, block in pairs])

    def least_jacobians(self) -> np.ndarray:
        """The least det J at the quadrature points of each cell, shape (E,)."""
        found = []
        for at, block in zip(self.at_points, self.blocks, strict=True):
            least = np.full(len(block), np.inf)
            np.minimum.at(least, at.cell, at.jacobian)
            found.append(least)
        return np.concatenate(found)

    def gradients(self) -> np.ndarray:
        """grad N_a [1/m] at the quadrature points of the first kind of cells, shape (P, k, d)."""
        return self.at_points[0].gradients

    def edges(self) -> np.ndarray:
        """The pairs of nodes next to each other on an edge, each once, the lower first, (K, 2), in order."""
        found = [block[:, pair] for kind, block in self._kind_blocks() for pair in _edge_halves(kind)]
        pairs = np.concatenate(found)
        low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1)
        return np.stack(np.divmod(np.unique(low * len(self.points) + high), len(self.points)), 1).astype(
            np.int32
        )

    def facets(self) -> np.ndarray:
        """The facets of all cells, each as its cell sees it: outward, corners first, shape (F, b).

        Rows of facets with fewer nodes than others end with -1.
        """
        most = max(len(facet) for kind in self.kinds for facet in kind.facets)
        found = []
        for kind, block in self._kind_blocks():
            own = np.full((len(block), len(kind.facets), most), NOBODY, np.int32)
            for n, facet in enumerate(kind.facets):
                own[:, n, : len(facet)] = block[:, facet]
            found.append(own.reshape(-1, most))
        return np.concatenate(found)

    def boundary(self) -> np.ndarray:
        """The facets that belong to one cell only, outward, rows as in `facets`, in their order."""
        return self._outer_facets[0]

    @cached_property
    def _outer_facets(self) -> tuple[np.ndarray, np.ndarray]:
        """The facets that belong to one cell only, and their numbers among those of all cells."""
        facets = self.facets()
        rank, new = ranked_tuples(facets)
        outer = np.sort(rank[new & np.append(new[1:], True)])
        return facets[outer], outer

    def boundary_of(self, name: str) -> tuple[np.ndarray, int]:
        """The numbers of the facets of `boundary` that are in a named group, and how many others it has.

        Of a group of cells they are those of its cells. Raises `KeyError` for a name of neither.
        """
        facets, outer = self._outer_facets
        if name not in self.facet_bodies:
            sides = [len(kind.facets) for kind in self.kinds]
            cell = np.repeat(np.arange(self.count), np.repeat(sides, [len(block) for block in self.blocks]))
            return np.flatnonzero(np.isin(cell[outer], self.cell_bodies[name])), 0
        corners = _sorted_corners(facets, self.dimension)
        found, others = [], 0
        for group in self.facet_bodies[name]:
            keys = np.unique(_sorted_corners(group, self.dimension), axis=0)
            _, which = np.unique(np.concatenate([corners, keys]), axis=0, return_inverse=True)
            own = np.isin(which.reshape(-1)[: len(corners)], which.reshape(-1)[len(corners) :])
            found.append(np.flatnonzero(own))
            others += len(keys) - int(own.sum())
        return np.unique(np.concatenate(found)), others

    def lumped_masses(self, density: float | np.ndarray) -> np.ndarray:
        """m [kg] of each node, shape (n,), positive: every cell gives its nodes shares of its mass.

        density [kg/m^d] is one number or one for each cell, shape (E,); in 2D it is mass per area.
        """
        mass, start, total = density * self.volumes(), 0, np.zeros(len(self.points))
        for kind, block in self._kind_blocks():
            of_nodes = _node_masses(self.points, kind, block, mass[start : start + len(block), None])
            total += np.bincount(block.ravel(), weights=of_nodes.ravel(), minlength=len(self.points))
            start += len(block)
        return total

    def _kind_blocks(self) -> Iterator[tuple[ReferenceCell, np.ndarray]]:
        return zip(self.kinds, self.blocks, strict=True)


def _at_points(corners: np.ndarray, kind: ReferenceCell) -> AtPoints:
    """At the points of all cells; corners (E, k, d) are the places of their nodes."""
    straight = np.ones(len(corners), bool)
    if kind.curved is not None:
        middles = [corners[:, m] - 0.5 * (corners[:, a] + corners[:, b]) for a, b, m in kind.edges]
        size = np.ptp(corners, axis=1).max(axis=1)
        straight = np.max(np.abs(middles), axis=(0, 2)) <= 1e-12 * size
    parts = []
    for chosen, rule in ((straight, kind.rule), (~straight, kind.curved)):
        if rule is None or not chosen.any():
            continue
        cells, (places, weights) = np.flatnonzero(chosen), rule
        made = [_shape_slopes(corners[cells], kind, place) for place in places]
        jacobian = np.stack([det for _, det in made], 1)
        shares = np.tile(kind.values(places), (len(cells), 1))
        gradients, volume = np.stack([slopes for slopes, _ in made], 1), jacobian * weights / kind.parts
        parts.append((np.repeat(cells, len(places)), gradients, volume, shares, jacobian))
    k, d = corners.shape[1:]
    if not parts:
        return AtPoints(np.zeros(0, int), np.zeros((0, k, d)), np.zeros(0), np.zeros((0, k)), np.zeros(0))
    cell, gradients, volume, shares, jacobian = (
        np.concatenate([np.reshape(part[n], shape) for part in parts])
        for n, shape in enumerate(((-1,), (-1, k, d), (-1,), (-1, k), (-1,)))
    )
    order = np.argsort(cell, kind="stable")
    return AtPoints(cell[order], gradients[order], volume[order], shares[order], jacobian[order])


def _shape_slopes(
    corners: np.ndarray, kind: ReferenceCell, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """grad N_a (E, k, d) and det J (E,) at one place of every cell."""
    slopes = kind.slopes(place[None])[0]
    transposed = np.einsum("aj,eai->eji", slopes, corners)
    determinant = np.linalg.det(transposed)
    sound = np.where((np.abs(determinant) > 0.0)[:, None, None], transposed, np.eye(kind.dimension))
    return np.einsum("aj,eij->eai", slopes, np.linalg.inv(sound)), determinant


def _node_masses(points: np.ndarray, kind: ReferenceCell, block: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The mass (E, k) of each node of a cell, of its whole mass (E, 1)."""
    if kind.is_linear_simplex:
        return np.broadcast_to(mass / kind.count, block.shape)
    squares = np.zeros(block.shape)
    for place, weight in zip(*kind.fine, strict=True):
        volume = np.abs(_shape_slopes(points[block], kind, place)[1]) * weight
        squares += volume[:, None] * kind.values(place[None]) ** 2
    return mass * squares / squares.sum(axis=1, keepdims=True)


def _edge_halves(kind: ReferenceCell) -> list[list[int]]:
    """The pairs of neighbours on the edges of a cell."""
    pairs = [[(a, b)] if not middle else [(a, middle[0]), (middle[0], b)] for a, b, *middle in kind.edges]
    return [list(pair) for pair in chain.from_iterable(pairs)]


def _sum_by_cell(values: np.ndarray, cell: np.ndarray, count: int) -> np.ndarray:
    """Sums over the points of each cell; one value for each is kept bit for bit."""
    return values if len(values) == count else np.bincount(cell, weights=values, minlength=count)


def _sorted_corners(facets: np.ndarray, d: int) -> np.ndarray:
    """The corners of facets, sorted: 2 in the plane, in space 4, of which the first of triangles is -1."""
    if d == 2:
        return np.sort(facets[:, :2], axis=1)
    kept = np.full((len(facets), 4), NOBODY)
    kept[:, : facets.shape[1]] = facets[:, :4]
    kept[np.isin((facets != NOBODY).sum(axis=1), (3, 6)), 3] = NOBODY
    return np.sort(kept, axis=1)


def ranked_tuples(tuples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order (k,) in which tuples (k, d) of the same nodes stand together, and where a new set begins."""
    nodes = np.sort(tuples, axis=1)
    rank = np.lexsort(nodes.T)
    return rank, np.any(np.diff(nodes[rank], axis=0, prepend=-2) != 0, axis=1)


def first_few(numbers: np.ndarray) -> str:
    """The first of some numbers, for messages: `3, 17, 92, 101, 103 and 12 more`."""
    shown = ", ".join(map(str, numbers[:5].tolist()))
    return shown if len(numbers) <= 5 else f"{shown} and {len(numbers) - 5} more"
