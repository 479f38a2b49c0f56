"""Analysis for multifrontal factors: an order of the rows, and a tree of dense fronts, from a pattern alone.

    A = L L^T,      U_s = sum over children c of U_c - L_s L_s^T        on the boundary of front s

A front has the rows of some pivots and all later rows that these meet in L, its boundary. Its parent has the
first row of the boundary as a pivot. Nodes, not rows, are ordered: by least degree of A + A^T, with SuperLU
on the graph of nodes, whose L has the pattern of the fronts. A front is merged with its parent where that is
faster by the estimate `front_seconds`, in which a few zeros more cost less than another round of calls.
Pivots of a front may come in any order: those that a descendant meets stand next to each other, so that its
update is added in few blocks.

Duff & Reid 1983, ACM Trans. Math. Softw. 9, 302 (fronts); Ashcraft & Grimes 1989, ACM Trans. Math. Softw. 15,
291 (merged ones); Pichon, Faverge, Ramet & Roman 2017, SIAM J. Matrix Anal. Appl. 38, 226 (order of pivots).

Decisions 0136.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .sparse_system import same_pattern

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CALLS, RATE, MOVED = 4e-5, 1.2e10, 1.5e-9
"""The calls of a front [s], operations of LAPACK [1/s], and adding a number of U to the parent [s]."""

Run = tuple[int, int, int]
"""Rows from, to of a boundary that are next to each other in the parent, and the first of them there."""


@dataclass(frozen=True)
class Front:
    """A front of `rows` rows; `first`: its first pivot, of `pivots`; `boundary`: the other rows.

    Rows are numbered by elimination. `at`: where its part of L begins, (rows, pivots). `children`: their
    numbers, and where the rows of their boundaries are in this front.
    """

    first: int
    pivots: int
    boundary: np.ndarray
    at: int
    children: list[tuple[int, list[Run]]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.pivots + len(self.boundary)

    def local(self, rows: np.ndarray) -> np.ndarray:
        """The places in this front of rows by elimination."""
        own = rows < self.first + self.pivots
        return np.where(own, rows - self.first, self.pivots + np.searchsorted(self.boundary, rows))


class FrontalAnalysis:
    """The fronts of matrices of one pattern, children before parents.

    order (N,): the rows in the order of elimination. size: numbers of L. `source`, `place`: which numbers of
    a matrix are on its lower half, and where they go in L; `diagonal` (N,): where its pivots are.
    """

    def __init__(self, matrix: "csr_matrix", node: np.ndarray):
        self._pattern = matrix.indptr, matrix.indices
        _, vertex = np.unique(node, return_inverse=True)
        width = np.bincount(vertex)
        tree = _merged_supernodes(*_ordered_graph(matrix, vertex, len(width)), width)
        _join_met_vertices(tree)
        self.order, self.fronts = _numbered_fronts(tree, vertex, width)
        self.size = sum(front.rows * front.pivots for front in self.fronts)
        self.source, self.place = self._entry_places(matrix)
        each = [f.at + np.arange(f.pivots) * (f.pivots + 1) for f in self.fronts]
        self.diagonal = np.concatenate(each)

    def fits(self, matrix: "csr_matrix") -> bool:
        """True if a matrix has this pattern: the same arrays, or equal ones."""
        return same_pattern(self._pattern, matrix)

    def _entry_places(self, matrix: "csr_matrix") -> tuple[np.ndarray, np.ndarray]:
        size = matrix.shape[0]
        number = np.empty(size, np.int64)
        number[self.order] = np.arange(size)
        row = np.repeat(number, np.diff(matrix.indptr))
        column = number[matrix.indices]
        source = np.flatnonzero(row >= column)
        row, column = row[source], column[source]
        first, pivots, at = np.array([(f.first, f.pivots, f.at) for f in self.fronts]).T
        front = np.searchsorted(first, column, "right") - 1
        local = row - first[front]
        far = np.flatnonzero(local >= pivots[front])
        counts = [len(f.boundary) for f in self.fronts]
        keys = np.repeat(np.arange(len(counts)) * size, counts) + np.concatenate(
            [f.boundary for f in self.fronts]
        )
        of = front[far]
        found = np.searchsorted(keys, of * size + row[far])
        local[far] = pivots[of] + found - (np.cumsum(counts) - counts)[of]
        return source, at[front] + local * pivots[front] + column - first[front]


@dataclass
class _Supernode:
    """Vertices that are eliminated together, the later ones that they meet, and rows of both."""

    vertices: list[int]
    boundary: np.ndarray
    pivots: int
    rows: int
    parent: "_Supernode | None" = None
    merged: "_Supernode | None" = None
    children: "list[_Supernode]" = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return front_seconds(self.pivots, self.rows)

    def representative(self) -> "_Supernode":
        """The supernode that it has become a part of."""
        one = self
        while one.merged is not None:
            one = one.merged
        return one


def front_seconds(pivots: int, rows: int) -> float:
    """An estimate of the time of a front."""
    k, u = float(pivots), float(rows - pivots)
    return CALLS + k * (k * k / 3.0 + k * u + u * u) / RATE + MOVED * u * u


def _ordered_graph(
    matrix: "csr_matrix", vertex: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The vertices (n,) in an order of least degree; indptr and indices of L by columns, in that order.

    The matrix factored has the graph, and a dominant diagonal: nothing is exchanged, and nothing cancels.
    """
    from scipy.sparse import csr_matrix, diags_array
    from scipy.sparse.linalg import splu

    row = np.repeat(vertex, np.diff(matrix.indptr))
    graph = csr_matrix((np.ones(len(row)), (row, vertex[matrix.indices])), (count, count))
    graph = (graph + graph.T).tocsr()
    graph.data[:] = -1.0
    dominant = (graph + diags_array(np.diff(graph.indptr) + 2.0)).tocsc()
    options = {"SymmetricMode": True}
    factors = splu(dominant, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    lower = factors.L.tocsc()
    lower.sort_indices()
    return np.argsort(factors.perm_c), lower.indptr, lower.indices


def _merged_supernodes(
    order: np.ndarray, indptr: np.ndarray, indices: np.ndarray, width: np.ndarray
) -> list[_Supernode]:
    """The supernodes in an order in which children come before parents; vertices by their numbers."""
    count = len(order)
    length = np.diff(indptr)
    parent = np.where(length > 1, indices[np.minimum(indptr[:-1] + 1, len(indices) - 1)], -1)
    joins = (parent[:-1] == np.arange(1, count)) & (length[:-1] == length[1:] + 1)
    first = np.concatenate([[0], np.flatnonzero(~joins) + 1])
    last = np.append(first[1:], count) - 1
    owner = np.repeat(np.arange(len(first)), last - first + 1)
    made = []
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        vertices, boundary = order[a : b + 1], order[indices[indptr[b] + 1 : indptr[b + 1]]]
        pivots = int(width[vertices].sum())
        made.append(_Supernode(vertices.tolist(), boundary, pivots, pivots + int(width[boundary].sum())))
    for one, above in zip(made, parent[last].tolist(), strict=True):
        one.parent = made[owner[above]] if above >= 0 else None
    for one in made:
        _merge_into_parent(one)
    return _in_postorder([one for one in made if one.merged is None])


def _merge_into_parent(one: _Supernode) -> None:
    """Merges a supernode with its parent, where that is faster."""
    above = one.parent
    if above is None:
        return
    together = front_seconds(one.pivots + above.pivots, one.pivots + above.rows)
    if together <= one.seconds + above.seconds:
        above.vertices = one.vertices + above.vertices
        above.pivots, above.rows = above.pivots + one.pivots, above.rows + one.pivots
        one.merged = above


def _in_postorder(kept: Sequence[_Supernode]) -> list[_Supernode]:
    """Each supernode behind its children, the one with the largest boundary last."""
    roots, found = [], list[_Supernode]()
    for one in kept:
        if one.parent is None:
            roots.append(one)
        else:
            one.parent.representative().children.append(one)
    waiting = roots[::-1]
    while waiting:  # each before its children, the last one first
        one = waiting.pop()
        found.append(one)
        waiting.extend(sorted(one.children, key=lambda child: child.rows - child.pivots))
    return found[::-1]


def _join_met_vertices(tree: Sequence[_Supernode]) -> None:
    """Order the vertices of each supernode so that those in the boundary of a descendant are neighbours.

    By partition refinement: the boundaries, the largest first, split the classes of vertices that all earlier
    ones have in common; the part inside goes to the side of the part inside of the class before.
    """
    owner = {vertex: number for number, one in enumerate(tree) for vertex in one.vertices}
    met = defaultdict[int, list[set[int]]](list)
    for one in tree:
        by_owner = defaultdict[int, set[int]](set)
        for vertex in one.boundary.tolist():
            by_owner[owner[vertex]].add(vertex)
        for number, part in by_owner.items():
            met[number].append(part)
    for number, parts in met.items():
        classes = [tree[number].vertices]
        for part in sorted(parts, key=len, reverse=True):
            classes = _split_classes(classes, part)
        tree[number].vertices = [vertex for one in classes for vertex in one]


def _split_classes(classes: list[list[int]], part: set[int]) -> list[list[int]]:
    """The classes, each split by a part, as few boundaries between inside and outside as there can be."""
    found, ends_inside = list[list[int]](), False
    for one in classes:
        inside, outside = [v for v in one if v in part], [v for v in one if v not in part]
        both = (inside, outside) if ends_inside else (outside, inside)
        kept = [some for some in both if some]
        found += kept
        ends_inside = kept[-1] is inside
    return found


def _numbered_fronts(
    tree: Sequence[_Supernode], vertex: np.ndarray, width: np.ndarray
) -> tuple[np.ndarray, list[Front]]:
    """The rows in the order of elimination, and the fronts."""
    sequence = np.concatenate([one.vertices for one in tree])
    begin = np.empty(len(width), np.int64)
    begin[sequence] = np.cumsum(width[sequence]) - width[sequence]
    rows = np.argsort(vertex, kind="stable")
    first = np.cumsum(width) - width
    order = rows[_spans(first[sequence], width[sequence])]
    number = {id(one): k for k, one in enumerate(tree)}
    fronts, done, size = list[Front](), 0, 0
    for one in tree:
        later = one.boundary[np.argsort(begin[one.boundary])]
        front = Front(done, one.pivots, _spans(begin[later], width[later]), size)
        for child in sorted(number[id(child)] for child in one.children):
            front.children.append((child, _runs(front.local(fronts[child].boundary), front.pivots)))
        fronts.append(front)
        done, size = done + front.pivots, size + front.rows * front.pivots
    return order, fronts


def _spans(first: np.ndarray, length: np.ndarray) -> np.ndarray:
    """first, first + 1, ... for so long, one span after another."""
    before = np.cumsum(length) - length
    return np.arange(int(length.sum())) + np.repeat(first - before, length)


def _runs(local: np.ndarray, pivots: int) -> list[Run]:
    """The rows of a boundary in runs that are next to each other in the parent, cut behind its pivots."""
    cut = (np.diff(local) != 1) | ((local[:-1] < pivots) & (local[1:] >= pivots))
    ends = np.flatnonzero(np.append(cut, True)) + 1 if len(local) else np.zeros(0, int)
    begins = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    return [(int(a), int(b), int(local[a])) for a, b in zip(begins, ends, strict=True)]
