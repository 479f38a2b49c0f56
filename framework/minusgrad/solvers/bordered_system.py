"""Bordered systems: a symmetric matrix with one more row and column, which may be regular where it is not.

    [ A    b ] [ x ]   [ f ]
    [ c^T  d ] [ y ] = [ g ]        A (M, M) symmetric, b, c (M,), d a number

By the factors of A alone: y is found twice, from the left and from the right Schur complement, so that the
digits lost where A is nearly singular are found again (mixed block elimination; Govaerts 1991, SIAM J.
Numer. Anal. 28, 817), and one step of refinement follows. Where A has no factors, or these leave a residual,
the whole matrix is factored with row exchanges.

Decisions 0163.
"""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from .unsymmetric_factors import UnsymmetricFactors

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SOLVED = 1e-8
"""The residual of a solution by the factors of A, relative to the right side, that is accepted."""


class Solves(Protocol):
    """Factors of a symmetric matrix."""

    def solve(self, right: np.ndarray) -> np.ndarray: ...


class BorderedSystem:
    """The bordered matrix of A, b, c and d; `factors`: those of A, None where it has none.

    Solutions raise `SingularSystemError` where the whole matrix is singular.
    """

    def __init__(
        self, matrix: "csr_matrix", factors: "Solves | None", b: np.ndarray, c: np.ndarray, d: float
    ):
        self._matrix, self._factors, self._b, self._c, self._d = matrix, factors, b, c, d
        self._whole: UnsymmetricFactors | None = None
        if factors is not None:
            self._of_b, self._of_c = factors.solve(b), factors.solve(c)

    def solve(self, f: np.ndarray, g: float) -> tuple[np.ndarray, float]:
        """x (M,) and y."""
        if self._whole is None and self._factors is not None:
            with np.errstate(all="ignore"):
                x, y = self._eliminated(f, g)
                left, below = self._residual(f, g, x, y)
                dx, dy = self._eliminated(left, below)
                x, y = x + dx, y + dy
                left, below = self._residual(f, g, x, y)
            if self._is_small(left, below, f, g, x, y):
                return x, y
        return self._by_exchanges(f, g)

    def _eliminated(self, f: np.ndarray, g: float) -> tuple[np.ndarray, float]:
        assert self._factors is not None
        first = (g - self._of_c @ f) / (self._d - self._of_c @ self._b)
        x = self._factors.solve(f - self._b * first)
        more = (g - self._d * first - self._c @ x) / (self._d - self._c @ self._of_b)
        return x - self._of_b * more, float(first + more)

    def _residual(self, f: np.ndarray, g: float, x: np.ndarray, y: float) -> tuple[np.ndarray, float]:
        return f - self._matrix @ x - self._b * y, float(g - self._c @ x - self._d * y)

    def _is_small(
        self, left: np.ndarray, below: float, f: np.ndarray, g: float, x: np.ndarray, y: float
    ) -> bool:
        sizes = np.abs(f) + abs(self._matrix) @ np.abs(x) + np.abs(self._b * y)
        size = abs(g) + np.abs(self._c) @ np.abs(x) + abs(self._d * y)
        return bool(np.abs(left).max() <= SOLVED * sizes.max() and abs(below) <= SOLVED * size)

    def _by_exchanges(self, f: np.ndarray, g: float) -> tuple[np.ndarray, float]:
        from scipy.sparse import block_array, csr_array

        if self._whole is None:
            corner = csr_array(np.array([[self._d]]))
            column, row = csr_array(self._b[:, None]), csr_array(self._c[None, :])
            self._whole = UnsymmetricFactors(
                block_array([[self._matrix, column], [row, corner]], format="csr")
            )
        found = self._whole.solve(np.append(f, g))
        return found[:-1], float(found[-1])
