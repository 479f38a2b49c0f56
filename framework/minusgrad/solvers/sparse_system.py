"""A sparse symmetric system, with its nodes and softest motions, which solvers can use.

Decisions 0072, 0192.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import bsr_matrix, csr_matrix

FREE = 1e-12
"""A mode is free if A changes it by no more than this, relative to the largest change that A can make."""

SHIFT, SMALL = 1e-9, 1e-6
"""A shift of a singular matrix, in units of its diagonal; and the least of a diagonal, of the largest."""


@dataclass(frozen=True)
class SparseSystem:
    """A symmetric matrix A (N, N) in f64, rows sorted by node.

    node, component: (N,), of each row; a held component has no row. modes: (N, k), vectors that A changes
    little, such as translations and rotations of an elastic body; k may be 0.
    """

    matrix: "csr_matrix"
    node: np.ndarray
    component: np.ndarray
    modes: np.ndarray

    def restricted_to(self, rows: np.ndarray) -> "SparseSystem":
        """The system of some of its rows and columns."""
        if len(rows) == self.size:
            return self
        matrix = self.matrix[rows][:, rows]
        return SparseSystem(matrix, self.node[rows], self.component[rows], self.modes[rows])

    def shifted_system(self) -> "SparseSystem":
        """The system of A + SHIFT |D|, D the diagonal of A; regular where A is positive semi-definite."""
        from scipy.sparse import diags_array

        diagonal = np.abs(self.matrix.diagonal())
        part = SHIFT * np.maximum(diagonal, SMALL * diagonal.max(initial=0.0))
        matrix = (self.matrix + diags_array(np.where(part > 0.0, part, SHIFT))).tocsr()
        return SparseSystem(matrix, self.node, self.component, np.zeros((self.size, 0)))

    def parts(self, most: int) -> list[np.ndarray]:
        """The rows of each part that no entry connects with others, not even a zero; all if above `most`."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        entries, (_, node) = self.matrix.tocoo(), np.unique(self.node, return_inverse=True)
        count = int(node.max(initial=-1)) + 1
        graph = coo_matrix((np.ones(entries.nnz), (node[entries.row], node[entries.col])), (count, count))
        number, label = connected_components(graph, directed=False)
        every = np.arange(self.size)
        return [every] if not 1 < number <= most else [every[label[node] == k] for k in range(number)]

    @property
    def size(self) -> int:
        """N, the number of unknowns."""
        return self.matrix.shape[0]

    def bandwidth(self) -> int:
        """The largest distance of an entry from the diagonal, rows ordered by reverse Cuthill and McKee.

        About the unknowns of the widest section: those of a line in a plane, of a square in space.
        """
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        place = np.empty(self.size, np.int64)
        place[reverse_cuthill_mckee(self.matrix, symmetric_mode=True)] = np.arange(self.size)
        entries = self.matrix.tocoo()
        return int(np.abs(place[entries.row] - place[entries.col]).max(initial=0))

    @property
    def width(self) -> int:
        """The largest number of components of a node."""
        return int(self.component.max(initial=0)) + 1

    def free_modes(self, images: np.ndarray | None = None, rounding: float = 0.0) -> list[int]:
        """The modes that A takes to their `images` (N, k), to rounding; to zero, where none are given.

        A is singular if it takes one to zero. rounding: of the entries of A, relative to the sum of a row.
        """
        if not self.modes.size:
            return []
        sizes = np.abs(self.modes).max(axis=0)
        found = self.matrix @ self.modes - (0.0 if images is None else images)
        most = abs(self.matrix).sum(axis=1).max() * sizes
        return [
            int(k)
            for k in np.flatnonzero((np.abs(found).max(axis=0) <= max(FREE, rounding) * most) & (sizes > 0.0))
        ]

    @property
    def places(self) -> np.ndarray:
        """The place (N,) of each row where every node has `width` components."""
        _, numbers = np.unique(self.node, return_inverse=True)
        return numbers * self.width + self.component

    def in_blocks(self) -> "tuple[bsr_matrix, np.ndarray]":
        """A in blocks of a node by a node, and the modes; absent components have the mean diagonal.

        They stay zero in the solution for a right side that is zero there.
        """
        from scipy.sparse import coo_matrix

        places, width = self.places, self.width
        size = (int(places[-1]) // width + 1) * width
        absent = np.setdiff1d(np.arange(size), places)
        entries = self.matrix.tocoo()
        rows = np.concatenate([places[entries.row], absent])
        columns = np.concatenate([places[entries.col], absent])
        fill = np.full(len(absent), np.abs(self.matrix.diagonal()).mean())
        whole = coo_matrix((np.concatenate([entries.data, fill]), (rows, columns)), (size, size))
        modes = np.zeros((size, self.modes.shape[1]))
        modes[places] = self.modes
        return whole.tobsr((width, width)), modes

    def block_diagonal(self) -> np.ndarray:
        """The blocks (n, width, width) of each node by itself; absent components have 1."""
        places, width = self.places, self.width
        blocks = np.zeros((int(places[-1]) // width + 1, width, width))
        entries = self.matrix.tocoo()
        row, column = places[entries.row], places[entries.col]
        own = row // width == column // width
        blocks[row[own] // width, row[own] % width, column[own] % width] = entries.data[own]
        present = np.zeros(blocks.shape[:2], bool)
        present.reshape(-1)[places] = True
        node, component = np.nonzero(~present)
        blocks[node, component, component] = 1.0
        return blocks


def scale_symmetrically(matrix: "csr_matrix", by: np.ndarray) -> "csr_matrix":
    """S A S, where S is diagonal and has the numbers `by` (N,); A itself where all are 1."""
    if (by == 1.0).all():
        return matrix
    from scipy.sparse import csr_matrix

    data = matrix.data * np.repeat(by, np.diff(matrix.indptr)) * by[matrix.indices]
    return csr_matrix((data, matrix.indices, matrix.indptr), matrix.shape, copy=False)


def same_pattern(known: tuple[np.ndarray, np.ndarray], matrix: "csr_matrix") -> bool:
    """True if a matrix has the `indptr` and `indices` that are known: the same arrays, or equal ones."""
    pairs = zip(known, (matrix.indptr, matrix.indices), strict=True)
    return all(one is now or np.array_equal(one, now) for one, now in pairs)
