"""Sums of sparse matrices in the union of their patterns, zeros too, so that it never changes.

    C.data[places_k] += A_k.data        in the order of the matrices

SciPy's sum leaves out numbers that are zero, so that each sum has another pattern, and each solver must
analyse it again.

Decisions 0136.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .sparse_system import same_pattern

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class PatternSum:
    """Sums of matrices in CSR; places are kept while the patterns of the matrices stay the same.

    Sums share `indices` and `indptr` until one changes: never write them.
    """

    def __init__(self) -> None:
        self._known: list[tuple[np.ndarray, np.ndarray]] = []

    def of(self, matrices: "Sequence[csr_matrix]") -> "csr_matrix":
        """The sum of one or more matrices of the same shape."""
        from scipy.sparse import csr_matrix

        if len(matrices) == 1:
            return matrices[0]
        fit = len(self._known) == len(matrices)
        if not fit or not all(map(same_pattern, self._known, matrices)):
            self._take_patterns(matrices)
        data = np.zeros(len(self._indices))
        for matrix, places in zip(matrices, self._places, strict=True):
            data[places] += matrix.data
        found = csr_matrix((data, self._indices, self._indptr), matrices[0].shape, copy=False)
        found.indices, found.indptr = self._indices, self._indptr  # SciPy replaces them by views
        return found

    def _take_patterns(self, matrices: "Sequence[csr_matrix]") -> None:
        rows, columns = matrices[0].shape
        for matrix in matrices:
            matrix.sum_duplicates()
        keys = [
            np.repeat(np.arange(rows, dtype=np.int64), np.diff(one.indptr)) * columns + one.indices
            for one in matrices
        ]
        every = np.unique(np.concatenate(keys))
        found = (np.searchsorted(every, one) for one in keys)
        self._places = [slice(None) if len(places) == len(every) else places for places in found]
        counts = np.bincount(every // columns, minlength=rows)
        index = matrices[0].indices.dtype
        self._indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index)
        self._indices = (every % columns).astype(index)
        self._known = [(one.indptr, one.indices) for one in matrices]
