"""Saddle-point systems: a symmetric matrix under constraints, with their multipliers.

    [ A  B^T ] [ x ]   [ a ]
    [ B   0  ] [ y ] = [ b ]        A (N, N) symmetric, B (E, N) of full rank

The matrix is indefinite and has zeros on its diagonal, so that factors L D L^T without exchanges need not
exist and are unstable where they do. SuperLU exchanges rows instead (partial pivoting), which is stable for
every regular matrix and has about twice the work. Rows and columns are scaled to largest entries of 1 before
(Ruiz 2001, RAL-TR-2001-034), and one step of iterative refinement follows each solution.

A is positive definite on the kernel of B if A + r B^T B is for a large r (Finsler 1937, Comment. Math. Helv.
9, 188), whose pivots have the signs of its eigenvalues.

Decisions 0349.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..errors import SingularSystemError
from .linear_solver import direct

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SINGULAR = 1e-14
"""The least pivot of the scaled matrix, relative to the largest."""
ROUNDS = 5
"""How often rows and columns are scaled."""
WEIGHT = 1e7
"""r, in units of A / |B|^2: eigenvalues on the kernel below 1e-8 of the largest are rounding."""


class SaddlePoint:
    """Factors of a saddle-point matrix. Raises `SingularSystemError` for a singular one."""

    name = "SuperLU with row exchanges"

    def __init__(self, a: "csr_matrix", b: "csr_matrix"):
        from scipy.sparse import block_array
        from scipy.sparse.linalg import splu

        self._a, self._b, self.count = a, b, b.shape[0]
        whole = block_array([[a, b.T], [b, None]], format="csr")
        if not np.isfinite(whole.data).all():
            raise SingularSystemError(f"{self.name}: the matrix is not finite")
        self._scale = _equilibrating_scale(whole)
        self._matrix = whole.multiply(self._scale[:, None]).multiply(self._scale[None, :]).tocsc()
        try:
            self._factors = splu(self._matrix)
        except RuntimeError as error:
            raise SingularSystemError(f"{self.name}: the matrix is singular: {error}") from None
        pivots = np.abs(self._factors.U.diagonal())
        if not np.isfinite(pivots).all() or pivots.min() <= SINGULAR * pivots.max():
            raise SingularSystemError(f"{self.name}: the matrix is singular to rounding")

    def solve(self, upper: np.ndarray, lower: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """x (N,) and y (E,) for right sides a (N,) and b (E,); b is zero where it is not given."""
        right = np.concatenate([upper, np.zeros(self.count) if lower is None else lower]) * self._scale
        found = self._factors.solve(right)
        found += self._factors.solve(right - self._matrix @ found)
        found *= self._scale
        return found[: len(upper)], found[len(upper) :]

    @property
    def definite(self) -> bool:
        """True if A is positive definite on the kernel of B."""
        return definite_on_kernel(self._a, self._b)

    @property
    def report(self) -> str:
        """Entries of the factors, in words."""
        return f"{self._factors.nnz:,} entries in its factors"


def definite_on_kernel(a: "csr_matrix", b: "csr_matrix") -> bool:
    """True if A is positive definite on the kernel of B."""
    return negative_on_kernel(a, b) == 0


def negative_on_kernel(a: "csr_matrix", b: "csr_matrix") -> int | None:
    """How many eigenvalues A has below zero on the kernel of B; None where it is singular or not known."""
    factors = direct(_augmented_matrix(a, b))
    return None if factors is None else factors.negative


def _augmented_matrix(a: "csr_matrix", b: "csr_matrix") -> "csr_matrix":
    """A + r B^T B, with rows of B scaled to size 1."""
    sizes = np.sqrt(np.asarray(b.multiply(b).sum(axis=1)).ravel())
    rows = b.multiply(1.0 / np.where(sizes > 0.0, sizes, 1.0)[:, None]).tocsr()
    weight = WEIGHT * (float(np.abs(a.data).max(initial=0.0)) or 1.0)
    return (a + weight * (rows.T @ rows)).tocsr()


def _equilibrating_scale(matrix: "csr_matrix") -> np.ndarray:
    """The scale s (N,) with which the largest entries of s A s are about 1 in each row and column."""
    scale = np.ones(matrix.shape[0])
    sizes = abs(matrix)
    for _ in range(ROUNDS):
        now = sizes.multiply(scale[:, None]).multiply(scale[None, :])
        largest = np.asarray(now.max(axis=1).todense()).ravel()
        scale /= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    return scale
