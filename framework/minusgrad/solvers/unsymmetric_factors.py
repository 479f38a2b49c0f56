"""Factors of sparse matrices that are not symmetric: SuperLU of SciPy, with row exchanges.

A = L U, rows and columns permuted        for systems such as the equations of variational steps
"""

from typing import TYPE_CHECKING

import numpy as np

from ..errors import SingularSystemError
from .sparse_factors import SINGULAR

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class UnsymmetricFactors:
    """Factors of A (N, N), rows scaled by their largest entry.

    Raises `SingularSystemError` for a matrix that is singular, to rounding, or not finite.
    """

    def __init__(self, matrix: "csr_matrix"):
        from scipy.sparse import csc_matrix, diags_array
        from scipy.sparse.linalg import splu

        sizes = abs(matrix).max(axis=1).toarray().reshape(-1)
        if not np.isfinite(sizes).all() or not (sizes > 0.0).all():
            row = int(np.flatnonzero(~((sizes > 0.0) & np.isfinite(sizes)))[0])
            raise SingularSystemError(f"the matrix is singular: row {row} is zero or not finite")
        self._scale = 1.0 / sizes
        try:
            self._factors = splu(csc_matrix(diags_array(self._scale) @ matrix))
        except RuntimeError as error:
            raise SingularSystemError(f"the matrix is singular: {error}") from None
        pivots = np.abs(self._factors.U.diagonal())
        if not np.isfinite(pivots).all() or pivots.min() <= SINGULAR * pivots.max():
            raise SingularSystemError("the matrix is singular to rounding")

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A^-1 b."""
        return self._factors.solve(self._scale * right)

    def solve_transposed(self, right: np.ndarray) -> np.ndarray:
        """(A')^-1 b."""
        return self._scale * self._factors.solve(right, "T")
