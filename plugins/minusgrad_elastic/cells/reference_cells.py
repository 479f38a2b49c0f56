"""Reference cells: nodes, shape functions, facets and quadrature of triangles, hexahedra and their kin.

    N_a(xi) = sum_m c_ma xi^(p_m),     N_a(xi_b) = 1 for a = b, else 0

xi (d,) are coordinates in the reference cell: 0 <= xi, sum xi <= 1 for triangles and tetrahedra, -1 <= xi
<= 1 for lines, quadrilaterals and hexahedra, a product of both for wedges. p_m are the exponents of the
monomials that the functions consist of: those of total degree 1 or 2 (triangles, tetrahedra), of degree 1
or 2 along each axis (4, 9; 8, 27 nodes), or of superlinear degree 2 at most (8; 20 nodes: Arnold & Awanou
2011, Found. Comput. Math. 11, 337). A pyramid is a hexahedron whose upper four nodes are one. Nodes are
numbered as VTK does.

Quadrature is such that an affine motion of curved cells gives no force inside of a body: the products of
derivatives in V P grad N are integrated exactly. Of tetrahedra that takes other points where edges are
curved.

Decisions 0320.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np

from .quadrature import (
    CENTRE_2,
    CENTRE_3,
    DEGREE_2,
    DEGREE_3,
    DEGREE_4,
    Rule,
    collapsed_points,
    gauss,
    of_wedge,
)


@dataclass(frozen=True, eq=False)
class ReferenceCell:
    """One kind of cells. nodes (k, d): their places, the corners first; powers (k, d): the exponents p.

    edges: the corners of each, with the node between them if there is one. facets: their nodes, seen from
    outside counterclockwise, corners first. rule: the quadrature; curved: that of cells with curved edges, if
    it is another one. parts: how many of the cell fill a unit cube. mirror: the order of the nodes of a cell
    that is turned over. merged: the nodes of a hexahedron as nodes of this cell.
    """

    name: str
    nodes: np.ndarray
    powers: np.ndarray
    edges: tuple[tuple[int, ...], ...]
    facets: tuple[tuple[int, ...], ...]
    rule: Rule
    parts: int
    mirror: tuple[int, ...]
    curved: Rule | None = None
    merged: tuple[int, ...] = ()

    @property
    def dimension(self) -> int:
        """d."""
        return self.nodes.shape[1]

    @property
    def count(self) -> int:
        """k, the number of nodes."""
        return max(self.merged) + 1 if self.merged else len(self.nodes)

    @property
    def products_rule(self) -> Rule:
        """Points of a flat facet at which products of two shape functions are integrated exactly."""
        more = {("edges", 2): gauss(2, 1), ("3-node edges", 3): gauss(3, 1), ("triangles", 3): DEGREE_2[2]}
        return more.get((self.name, self.count), self.rule)

    @property
    def corners(self) -> int:
        """The number of corners, which are the first nodes."""
        return 1 + max(max(edge[:2]) for edge in self.edges)

    @property
    def is_linear_simplex(self) -> bool:
        """True if the gradients of the shape functions are constant in a cell."""
        return self.count == self.dimension + 1

    @cached_property
    def coefficients(self) -> np.ndarray:
        """c (k, k), exact: the coefficients of all functions used are multiples of 1/64."""
        values = self._monomials_at(self.nodes)
        found = np.round(64.0 * np.linalg.inv(values)) / 64.0
        if not self.merged:
            return found
        joined = np.zeros((len(found), self.count))
        for column, node in zip(found.T, self.merged, strict=True):
            joined[:, node] += column
        return joined

    def values(self, at: np.ndarray) -> np.ndarray:
        """N_a at places (q, d), shape (q, k)."""
        return self._monomials_at(at) @ self.coefficients

    def slopes(self, at: np.ndarray) -> np.ndarray:
        """dN_a / dxi at places (q, d), shape (q, k, d)."""
        found = []
        for axis in range(self.dimension):
            lower = self.powers.copy()
            lower[:, axis] = np.maximum(lower[:, axis] - 1, 0)
            terms = np.prod(at[:, None, :] ** lower, axis=2) * self.powers[:, axis]
            found.append(terms @ self.coefficients)
        return np.stack(found, axis=2)

    @cached_property
    def fine(self) -> Rule:
        """Points enough for squares of the shape functions, which masses are made of."""
        if self.parts in (2, 6):
            return collapsed_points(4, self.dimension)
        return of_wedge() if self.name == "wedges" else gauss(4, self.dimension)

    def _monomials_at(self, at: np.ndarray) -> np.ndarray:
        return np.prod(at[:, None, :] ** self.powers, axis=2)


def _admitted_powers(most: int, d: int, admitted: Callable[[tuple[int, ...]], bool]) -> np.ndarray:
    return np.array([p for p in product(range(most + 1), repeat=d) if admitted(p)])


def _middles(corners: np.ndarray, *groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Corners, then the middles of edges, facets, the cell, each given by its corners."""
    return np.concatenate([corners, *[[corners[list(g)].mean(axis=0) for g in group] for group in groups]])


def _with_middles(
    corners: int, pairs: Sequence[tuple[int, int]], facets: Sequence[Sequence[int]], centred: bool = False
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Edges and facets of a quadratic cell, whose nodes follow the corners in the order of pairs.

    centred: facets have a node in their middle, in their order, after those of the edges.
    """
    between = {frozenset(pair): corners + n for n, pair in enumerate(pairs)}
    edges = tuple((*pair, between[frozenset(pair)]) for pair in pairs)
    made = []
    for n, facet in enumerate(facets):
        around = zip(facet, [*facet[1:], facet[0]] if len(facet) > 2 else facet[1:], strict=False)
        middle = (corners + len(pairs) + n,) if centred else ()
        made.append((*facet, *(between[frozenset(pair)] for pair in around), *middle))
    return edges, tuple(made)


_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
_TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
_LINE = np.array([[-1.0], [1.0]])
_SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
_CUBE = np.array([[*corner, z] for z in (-1.0, 1.0) for corner in _SQUARE.tolist()])
_WEDGE = np.array([[*corner, z] for z in (-1.0, 1.0) for corner in _TRIANGLE.tolist()])

_OF_TRIANGLE = ((0, 1), (1, 2), (2, 0))
_OF_SQUARE = ((0, 1), (1, 2), (2, 3), (3, 0))
_OF_TETRAHEDRON = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
_OF_CUBE = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
_OF_WEDGE = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))
_OF_PYRAMID = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4))
_SIDES_OF_TRIANGLE = ((1, 2), (2, 0), (0, 1))
_SIDES_OF_TETRAHEDRON = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))
_SIDES_OF_CUBE = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
_SIDES_OF_WEDGE = ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))
_SIDES_OF_PYRAMID = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))


def _total(most: int, d: int) -> np.ndarray:
    return _admitted_powers(most, d, lambda p: sum(p) <= most)


def _each(most: int, d: int) -> np.ndarray:
    return _admitted_powers(most, d, lambda p: True)


def _serendipity_powers(d: int) -> np.ndarray:
    return _admitted_powers(2, d, lambda p: p.count(2) <= 1)


@cache
def cells() -> dict[tuple[int, int], ReferenceCell]:
    """The kinds of cells by dimension and number of nodes."""
    tri6, quad8 = (
        _with_middles(3, _OF_TRIANGLE, _SIDES_OF_TRIANGLE),
        _with_middles(4, _OF_SQUARE, _OF_SQUARE),
    )
    tet10 = _with_middles(4, _OF_TETRAHEDRON, _SIDES_OF_TETRAHEDRON)
    hex20 = _with_middles(8, _OF_CUBE, _SIDES_OF_CUBE)
    hex27 = _with_middles(8, _OF_CUBE, _SIDES_OF_CUBE, centred=True)
    square8, cube20 = _middles(_SQUARE, _OF_SQUARE), _middles(_CUBE, _OF_CUBE)
    made = [
        ReferenceCell(
            "triangles", _TRIANGLE, _total(1, 2), _OF_TRIANGLE, _SIDES_OF_TRIANGLE, CENTRE_2, 2, (0, 2, 1)
        ),
        ReferenceCell(
            "6-node triangles", _middles(_TRIANGLE, _OF_TRIANGLE), _total(2, 2), *tri6, DEGREE_2[2], 2,
            (0, 2, 1, 5, 4, 3),
        ),
        ReferenceCell(
            "quadrilaterals", _SQUARE, _each(1, 2), _OF_SQUARE, _OF_SQUARE, gauss(2, 2), 1, (0, 3, 2, 1)
        ),
        ReferenceCell(
            "8-node quadrilaterals", square8, _serendipity_powers(2), *quad8, gauss(3, 2), 1,
            (0, 3, 2, 1, 7, 6, 5, 4),
        ),
        ReferenceCell(
            "9-node quadrilaterals", _middles(_SQUARE, _OF_SQUARE, [range(4)]), _each(2, 2), *quad8,
            gauss(3, 2), 1, (0, 3, 2, 1, 7, 6, 5, 4, 8),
        ),
        ReferenceCell(
            "tetrahedra", _TETRAHEDRON, _total(1, 3), _OF_TETRAHEDRON, _SIDES_OF_TETRAHEDRON, CENTRE_3, 6,
            (0, 1, 3, 2),
        ),
        ReferenceCell(
            "10-node tetrahedra", _middles(_TETRAHEDRON, _OF_TETRAHEDRON), _total(2, 3), *tet10,
            DEGREE_2[3], 6, (0, 1, 3, 2, 4, 8, 7, 6, 5, 9), DEGREE_3,
        ),
        ReferenceCell(
            "pyramids", _CUBE, _each(1, 3), _OF_PYRAMID, _SIDES_OF_PYRAMID, gauss(2, 3), 1, (0, 3, 2, 1, 4),
            merged=(0, 1, 2, 3, 4, 4, 4, 4),
        ),
        ReferenceCell(
            "wedges", _WEDGE, np.array([[*p, q] for p in _total(1, 2).tolist() for q in (0, 1)]), _OF_WEDGE,
            _SIDES_OF_WEDGE, of_wedge(), 1, (0, 2, 1, 3, 5, 4),
        ),
        ReferenceCell(
            "hexahedra", _CUBE, _each(1, 3), _OF_CUBE, _SIDES_OF_CUBE, gauss(2, 3), 1,
            (0, 3, 2, 1, 4, 7, 6, 5),
        ),
        ReferenceCell(
            "20-node hexahedra", cube20, _serendipity_powers(3), *hex20, gauss(3, 3), 1,
            (0, 3, 2, 1, 4, 7, 6, 5, 11, 10, 9, 8, 15, 14, 13, 12, 16, 19, 18, 17),
        ),
        ReferenceCell(
            "27-node hexahedra", _middles(_CUBE, _OF_CUBE, _SIDES_OF_CUBE, [range(8)]), _each(2, 3), *hex27,
            gauss(3, 3), 1,
            (0, 3, 2, 1, 4, 7, 6, 5, 11, 10, 9, 8, 15, 14, 13, 12, 16, 19, 18, 17, 22, 23, 20, 21, 24, 25,
            26),
        ),
    ]  # fmt: skip
    return {(one.dimension, one.count): one for one in made}


@cache
def facets() -> dict[tuple[int, int], ReferenceCell]:
    """The kinds of facets by the dimension of the space around them and number of nodes."""
    made = [
        ReferenceCell("edges", _LINE, _each(1, 1), (), (), gauss(1, 1), 1, (1, 0)),
        ReferenceCell("3-node edges", np.array([[-1.0], [1.0], [0.0]]), _each(2, 1), (), (), gauss(2,
        1), 1,
                      (1, 0, 2)),
        cells()[2, 3],
        ReferenceCell("6-node triangles", cells()[2, 6].nodes, _total(2, 2), (), (), DEGREE_4, 2, ()),
        cells()[2, 4], cells()[2, 8], cells()[2, 9],
    ]  # fmt: skip
    return {(one.dimension + 1, one.count): one for one in made}
