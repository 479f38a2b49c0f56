"""Factors of matrices that are not symmetric: SuperLU of SciPy with row exchanges; LAPACK of dense ones.

A = L U, rows and columns permuted        for systems such as the equations of variational steps

Decisions 0375.
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

    def __init__(self, matrix: "csr_matrix | np.ndarray"):
        sizes = abs(matrix).max(axis=1)
        sizes = sizes if isinstance(sizes, np.ndarray) else sizes.toarray().reshape(-1)
        if not np.isfinite(sizes).all() or not (sizes > 0.0).all():
            row = int(np.flatnonzero(~((sizes > 0.0) & np.isfinite(sizes)))[0])
            raise SingularSystemError(f"the matrix is singular: row {row} is zero or not finite")
        self._scale = 1.0 / sizes
        pivots = self._factor_dense(matrix) if isinstance(matrix, np.ndarray) else self._factor_sparse(matrix)
        if not np.isfinite(pivots).all() or pivots.min() <= SINGULAR * pivots.max():
            raise SingularSystemError("the matrix is singular to rounding")

    def _factor_dense(self, matrix: np.ndarray) -> np.ndarray:
        """Factor, and return the sizes of the pivots."""
        from scipy.linalg import lu_factor, lu_solve

        factors = lu_factor(self._scale[:, None] * matrix, check_finite=False)
        self._solve = lambda b, transposed: lu_solve(factors, b, int(transposed), check_finite=False)
        return np.abs(factors[0].diagonal())

    def _factor_sparse(self, matrix: "csr_matrix") -> np.ndarray:
        from scipy.sparse import csc_matrix, diags_array
        from scipy.sparse.linalg import splu

        try:
            factors = splu(csc_matrix(diags_array(self._scale) @ matrix))
        except RuntimeError as error:
            raise SingularSystemError(f"the matrix is singular: {error}") from None
        self._solve = lambda b, transposed: factors.solve(b, "T" if transposed else "N")
        return np.abs(factors.U.diagonal())

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A^-1 b."""
        return self._solve(self._scale * right, False)

    def solve_transposed(self, right: np.ndarray) -> np.ndarray:
        """(A')^-1 b."""
        return self._scale * self._solve(right, True)
