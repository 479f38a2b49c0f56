"""Some rows and columns of a sparse matrix, such as those of free components, by an index map that is kept.

B = A[rows, rows]        B.data = A.data[places],  while the pattern of A stays the same

Decisions 0361.
"""

from typing import TYPE_CHECKING

import numpy as np

from .sparse_system import same_pattern

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class RowSelection:
    """The rows and columns `rows` (n,), ascending, of symmetric matrices in CSR.

    What it returns shares `indices` and `indptr` until the pattern changes: never write them.
    """

    def __init__(self, rows: np.ndarray):
        self.rows = rows
        self._pattern: tuple[np.ndarray, np.ndarray] | None = None

    def of(self, matrix: "csr_matrix") -> "csr_matrix":
        """A[rows, rows]; A itself where these are all."""
        from scipy.sparse import csr_matrix

        if len(self.rows) == matrix.shape[0]:
            return matrix
        if self._pattern is None or not same_pattern(self._pattern, matrix):
            self._take_pattern(matrix)
        size = len(self.rows)
        return csr_matrix((matrix.data[self._places], self._indices, self._indptr), (size, size), copy=False)

    def _take_pattern(self, matrix: "csr_matrix") -> None:
        """Find the places of the numbers that remain."""
        indptr, indices, rows = matrix.indptr, matrix.indices, self.rows
        number = np.full(matrix.shape[0], -1, indices.dtype)
        number[rows] = np.arange(len(rows))
        lengths = np.diff(indptr)[rows]
        first = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(first[-1]) + np.repeat(indptr[rows] - first[:-1], lengths)
        columns = number[indices[entries]]
        remains = columns >= 0
        counts = np.bincount(np.repeat(np.arange(len(rows)), lengths)[remains], minlength=len(rows))
        self._places, self._indices = entries[remains], columns[remains]
        self._indptr = np.concatenate([[0], np.cumsum(counts)]).astype(indptr.dtype)
        self._pattern = indptr, indices
