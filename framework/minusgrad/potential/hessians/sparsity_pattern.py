"""The sparsity pattern of a Hessian: which rows and columns meet in an element, as a CSR matrix.

It holds every block of nodes that meet in an element, zeros too.

Decisions 0287.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...energies.fields import Field
from .element_hessians import ElementHessians, require_room

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class DegreesOfFreedom:
    """The numbering of a matrix over some fields: its rows, and their nodes ("vertices") across all fields.

    A vertex is a node of a field; its rows are next to each other. `used`: the nodes of each field that have
    rows, sorted; all without.
    """

    fields: Sequence[Field]
    used: Sequence[np.ndarray] | None = None

    @property
    def counts(self) -> list[int]:
        """The vertices of each field."""
        return [len(one) for one in self.used or self.fields]

    @cached_property
    def widths(self) -> list[int]:
        """Components of each field."""
        return [prod(f.shape[1:]) for f in self.fields]

    @cached_property
    def first_vertices(self) -> np.ndarray:
        """The first vertex of each field, and the number of all vertices; (fields + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @cached_property
    def width(self) -> np.ndarray:
        """Rows of each vertex, (vertices,)."""
        return np.repeat(self.widths, self.counts).astype(np.int64)

    @cached_property
    def row(self) -> np.ndarray:
        """The first row of each vertex, and the number of all rows; (vertices + 1,)."""
        return np.concatenate([[0], np.cumsum(self.width)])

    def number(self, field: Field) -> int:
        """The place of a field among the fields."""
        return next(k for k, f in enumerate(self.fields) if f is field)

    def vertices(self, share: ElementHessians) -> np.ndarray:
        """The vertices of each element, (E, arguments * slots)."""
        of_arguments = zip(map(self.number, share.fields), share.nodes.values(), strict=True)
        return np.concatenate(
            [self.first_vertices[k] + self._vertex_of_nodes(k, nodes) for k, nodes in of_arguments], axis=1
        )

    def _vertex_of_nodes(self, field: int, nodes: np.ndarray) -> np.ndarray:
        return nodes if self.used is None else np.searchsorted(self.used[field], nodes)

    @cached_property
    def rows(self) -> np.ndarray:
        """The number of each row among those of all nodes of the fields."""
        if self.used is None:
            return np.arange(int(self.row[-1]))
        sizes = [len(f) * width for f, width in zip(self.fields, self.widths, strict=True)]
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        parts = [
            (begin + nodes[:, None] * width + np.arange(width)).ravel()
            for begin, nodes, width in zip(begins, self.used, self.widths, strict=True)
        ]
        return np.concatenate(parts).astype(np.int64)


def distinct(values: np.ndarray) -> np.ndarray:
    """The different values, sorted; `numpy.unique` takes several times as long for large numbers."""
    found = np.sort(values)
    return found[np.concatenate([[True], found[1:] != found[:-1]])[: len(found)]]


def compact(fields: Sequence[Field], share: ElementHessians) -> DegreesOfFreedom:
    """The degrees of freedom of the nodes that a term's elements name."""
    every = DegreesOfFreedom(fields)
    named: list[list[np.ndarray]] = [[] for _ in fields]
    for field, nodes in zip(share.fields, share.nodes.values(), strict=True):
        named[every.number(field)].append(nodes.ravel())
    return DegreesOfFreedom(
        fields, [distinct(np.concatenate(some)) if some else np.zeros(0, np.int32) for some in named]
    )


class Pattern:
    """The places of a symmetric matrix's numbers in CSR: `indptr`, `indices`, columns in order."""

    indptr: np.ndarray
    indices: np.ndarray

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.indptr) - 1

    def row_numbers(self) -> np.ndarray:
        """The row of each number."""
        return np.repeat(np.arange(self.size), np.diff(self.indptr))

    def matrix(self, data: np.ndarray) -> "csr_matrix":
        """A matrix of these numbers; all share `indices` and `indptr`: never write them."""
        from scipy.sparse import csr_matrix

        shape = self.size, self.size
        matrix = csr_matrix((data, self.indices, self.indptr), shape=shape, copy=False)
        matrix.indices = self.indices  # SciPy replaces it by a view
        return matrix


class SparsityPattern(Pattern):
    """Which vertices share an element, and the matrix in CSR: `indptr`, `indices`, columns in order.

    `blocks`: pairs of vertices (later, earlier), as later * vertices + earlier, sorted.
    """

    def __init__(self, dofs: DegreesOfFreedom, blocks: np.ndarray):
        self.dofs, count = dofs, int(dofs.first_vertices[-1])
        self.blocks = blocks
        later, earlier = blocks // count, blocks % count
        mirrored = earlier != later
        keys = np.concatenate([blocks, earlier[mirrored] * count + later[mirrored]])
        keys.sort()
        self._count, self._keys = count, keys
        row, column = keys // count, keys % count
        width = dofs.width
        before = np.concatenate([[0], np.cumsum(width[column])])
        begin = np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * count)
        self.length = before[begin[1:]] - before[begin[:-1]]
        """How many numbers each row of a vertex has, (vertices,)."""
        lengths = np.repeat(self.length, width)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        require_room(int(indptr[-1]), 24 * int(indptr[-1]), f"a Hessian of {indptr[-1]} numbers")
        self._place = indptr[dofs.row[row]] + before[:-1] - before[begin[row]]
        columns = np.repeat(dofs.row[column] - before[:-1], width[column]) + np.arange(before[-1])
        shift = np.repeat(before[begin[:-1]], width) - indptr[:-1]
        self.indptr = indptr.astype(np.int32)
        self.indices = columns[np.arange(indptr[-1]) + np.repeat(shift, lengths)].astype(np.int32)

    def place(self, later: np.ndarray, earlier: np.ndarray) -> np.ndarray:
        """The places of the first numbers of these blocks in the matrix's data."""
        return self._place[np.searchsorted(self._keys, later * self._count + earlier)]
