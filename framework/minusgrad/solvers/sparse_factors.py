"""Factors of sparse symmetric matrices: SuperLU of SciPy, and PARDISO where `pypardiso` is installed.

    A = L D L^T        without row exchanges; the signs of D are those of A's eigenvalues (Sylvester)

SuperLU orders by minimum degree of A + A^T and takes its pivots from the diagonal ("symmetric mode", SuperLU
Users' Guide, section 2.5).

Decisions 0362.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import SingularSystemError
from .sparse_system import SparseSystem, scale_symmetrically

SINGULAR = 1e-14
"""A pivot of the matrix scaled to unit diagonal that is smaller than this, relative to the largest."""


class SuperLU:
    """Factors by SciPy's SuperLU."""

    name = "SuperLU"
    negative: int | None

    def __init__(self, system: SparseSystem):
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        matrix = system.matrix
        self._scale = 1.0 / np.sqrt(_nonzero_sizes(matrix.diagonal()))
        options = {"SymmetricMode": True}
        try:
            with np.errstate(all="ignore"):
                self._factors = splu(
                    csc_matrix(scale_symmetrically(matrix, self._scale)),
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.0,
                    options=options,
                )
        except RuntimeError as error:
            raise SingularSystemError(f"{self.name}: the matrix is singular: {error}") from None
        pivots = self._factors.U.diagonal()
        if not np.isfinite(pivots).all() or np.abs(pivots).min() <= SINGULAR * np.abs(pivots).max():
            raise SingularSystemError(f"{self.name}: the matrix is singular to rounding")
        exchanged = not np.array_equal(self._factors.perm_r, self._factors.perm_c)
        self.negative = None if exchanged else int(np.sum(pivots < 0.0))

    @property
    def definite(self) -> bool | None:
        """Whether the matrix is positive definite; None where rows were exchanged."""
        return None if self.negative is None else self.negative == 0

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray:
        """A^-1 b."""
        return self._scale * self._factors.solve(self._scale * right)

    @property
    def report(self) -> str:
        """Entries of the factors, in words."""
        return f"{self._factors.nnz:,} entries in its factors"


class Pardiso:
    """Factors by MKL's PARDISO (`pypardiso`)."""

    name = "PARDISO"
    negative: int

    def __init__(self, system: SparseSystem):
        from pypardiso import PyPardisoSolver
        from pypardiso.pardiso_wrapper import PyPardisoError
        from scipy.sparse import triu

        self._upper = triu(system.matrix, format="csr")
        self._upper.sort_indices()
        self._factors: Any = PyPardisoSolver(mtype=-2)  # real, symmetric, indefinite
        try:
            self._factors.factorize(self._upper)
        except PyPardisoError as error:
            raise SingularSystemError(f"{self.name}: the matrix cannot be factored: {error}") from None
        self.negative = int(self._factors.get_iparm(23))
        if self._factors.get_iparm(14):
            raise SingularSystemError(f"{self.name}: the matrix is singular to rounding")

    @staticmethod
    def installed() -> bool:
        """True if `pypardiso` can be imported."""
        return find_spec("pypardiso") is not None

    @property
    def definite(self) -> bool:
        """Whether the matrix is positive definite."""
        return self.negative == 0

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray:
        """A^-1 b."""
        return np.asarray(self._factors.solve(self._upper, right)).reshape(-1)

    @property
    def report(self) -> str:
        """Entries of the factors, in words."""
        return f"{int(self._factors.get_iparm(18)):,} entries in its factors"


def _nonzero_sizes(diagonal: np.ndarray) -> np.ndarray:
    """|diagonal|, with 1 where it is zero."""
    return np.where(diagonal != 0.0, np.abs(diagonal), 1.0)
