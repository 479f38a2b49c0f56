"""Factors of matrices whose columns have different units, as those of positions and of multipliers.

A D = L U, rows and columns permuted        D (N,): the largest entry of each column is 1, rows scaled first

Decisions 0377.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..errors import SingularSystemError
from .unsymmetric_factors import UnsymmetricFactors

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class EquilibratedFactors:
    """Factors of A (N, N), sparse or dense.

    Raises `SingularSystemError` for a matrix that is singular, to rounding, or not finite.
    """

    def __init__(self, matrix: "csr_matrix | np.ndarray"):
        from scipy.sparse import diags_array

        dense = isinstance(matrix, np.ndarray)
        with np.errstate(all="ignore"):
            rows = 1.0 / _largest_entries(matrix, 1)
            rows = np.where(np.isfinite(rows), rows, 1.0)
            scaled = rows[:, None] * matrix if dense else diags_array(rows) @ matrix
            columns = 1.0 / _largest_entries(scaled, 0)
        if not np.isfinite(columns).all():
            column = int(np.flatnonzero(~np.isfinite(columns))[0])
            raise SingularSystemError(f"the matrix is singular: column {column} is zero or not finite")
        self._scale = columns
        self._factors = UnsymmetricFactors(matrix * columns if dense else matrix @ diags_array(columns))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A^-1 b."""
        return self._scale * self._factors.solve(right)

    def solve_transposed(self, right: np.ndarray) -> np.ndarray:
        """(A')^-1 b."""
        return self._factors.solve_transposed(self._scale * right)


def _largest_entries(matrix: "csr_matrix | np.ndarray", axis: int) -> np.ndarray:
    """The largest size of an entry of each row (axis 1) or column (axis 0)."""
    sizes = abs(matrix).max(axis=axis)
    return sizes if isinstance(sizes, np.ndarray) else sizes.toarray().reshape(-1)
