"""The choice of a solver for sparse symmetric systems, and one class for all of them.

    cholesky      factors by fronts and LAPACK (`cholesky_factors`); of indefinite matrices those of SuperLU
    superlu       factors by SciPy; indefinite matrices too
    pardiso       factors by MKL, where `pypardiso` is installed; indefinite matrices too
    multigrid     conjugate gradients with smoothed aggregation, where `pyamg` is installed (extra `fast`)
    block_jacobi  conjugate gradients with the inverse of each node's block
    auto          by the number of unknowns, the bandwidth, and what is installed

Factors fill with the number of unknowns and the bandwidth: those of 58,000 of a solid in space take 2 GB and
ten times as long as multigrid, those of 7,000 as long. In a plane, in plates and in beams they stay small.

Decisions 0136, 0192, 0362.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import EnergyError, SingularSystemError, pip_line, unknown
from .cholesky_factors import Cholesky
from .conjugate_gradients import BlockJacobi, Multigrid
from .frontal_analysis import FrontalAnalysis
from .sparse_factors import Pardiso, SuperLU
from .sparse_system import SparseSystem, same_pattern

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Method(Protocol):
    """A way to solve the systems of one matrix."""

    name: str

    @property
    def definite(self) -> bool | None:
        """Whether the matrix is positive definite; None where it is not known."""

    @property
    def report(self) -> str: ...

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray: ...


METHODS: dict[str, Callable[[SparseSystem], Method]] = {
    "cholesky": Cholesky,
    "superlu": SuperLU,
    "pardiso": Pardiso,
    "multigrid": Multigrid,
    "block_jacobi": BlockJacobi,
}
INSTALLED = {
    "multigrid": (Multigrid.installed, "pyamg", "fast"),
    "pardiso": (Pardiso.installed, "pypardiso", ""),
}
"""Methods of optional libraries: whether they are there, the library, and our extra that has it."""
BITS = "the same on one machine with one number of threads; sums of libraries depend on both"
"""The sentence of the journal about the bits of solutions."""
FEW, THIN = 1_500, 64
"""Unknowns and bandwidth up to which "auto" takes factors of SuperLU: calls of small fronts take longer."""
SMALL = 12_000
"""Unknowns up to which it takes Cholesky factors."""
NARROW, MOST_ENTRIES = 1600, 2e8
"""The bandwidth up to which it takes them for more, while unknowns times bandwidth are at most so many."""
PRECISE = 1e-12
"""The relative residual that a solution has by default."""


class LinearSolver:
    """Solves A x = b for one symmetric matrix after another: `factor`, then any number of solutions.

    method: one of METHODS, or "auto". Raises `EnergyError` for an unknown method, or one whose library is
    not installed.
    """

    def __init__(self, method: str = "auto"):
        if method not in ("auto", *METHODS):
            raise EnergyError(f"solver: {unknown('solver', method, ['auto', *METHODS])}")
        if method in INSTALLED and not INSTALLED[method][0]():
            _, library, extra = INSTALLED[method]
            command = pip_line(extra) if extra else f"pip install {library}"
            raise EnergyError(f"solver: '{method}' needs {library}, which is not installed; {command}")
        self.method, self.chosen, self.why = method, method, "the scene asks for it"
        self._made: Method | None = None
        self._analysis: FrontalAnalysis | None = None
        self._pattern: tuple[np.ndarray, np.ndarray] | None = None

    def factor(self, system: SparseSystem) -> None:
        """Take another matrix. Raises `SingularSystemError`, or `IndefiniteSystemError` where a method finds
        that the matrix is not positive definite and needs it."""
        if self.method == "auto" and not self._fits_pattern(system.matrix):
            self.chosen, self.why = choose_method(system.size, system.bandwidth)
            self._pattern = system.matrix.indptr, system.matrix.indices
        self._made = None
        if system.free_modes():
            raise SingularSystemError("the matrix is singular")
        self._made = self._factored(system)

    def _fits_pattern(self, matrix: "csr_matrix") -> bool:
        """True if a method was chosen for this pattern."""
        return self._pattern is not None and same_pattern(self._pattern, matrix)

    def _factored(self, system: SparseSystem) -> Method:
        """The factors of a matrix; an analysis is kept for the next matrix of this pattern."""
        if self.chosen != "cholesky":
            return METHODS[self.chosen](system)
        made = Cholesky(system, self._analysis)
        self._analysis = made.analysis
        return made

    def solve(self, right: np.ndarray, tolerance: float = PRECISE) -> np.ndarray:
        """x (N,) with A x = b; `tolerance`: of the residual relative to b, for iterations.

        Raises `IndefiniteSystemError` where conjugate gradients meet a direction of negative curvature,
        `RunFailedError` where they do not converge.
        """
        assert self._made is not None, "factor a matrix first"
        if not right.any():
            return np.zeros(len(right))
        return self._made.solve(np.asarray(right, np.float64), tolerance)

    def solve_each(self, rights: np.ndarray, tolerance: float = PRECISE) -> np.ndarray:
        """X (K, N), a row for each of the right sides (K, N); raises as `solve` does."""
        return np.stack([self.solve(right, tolerance) for right in rights])

    def solve_transposed(self, right: np.ndarray, tolerance: float = PRECISE) -> np.ndarray:
        """x (N,) with A^T x = b: the same, as A is symmetric."""
        return self.solve(right, tolerance)

    @property
    def definite(self) -> bool | None:
        """Whether the matrix is positive definite; None where the method has not found out."""
        assert self._made is not None, "factor a matrix first"
        return self._made.definite

    @property
    def used(self) -> str:
        """Which solver, why, and at what cost, in words; empty before the first matrix."""
        if self._made is None:
            return ""
        return f"{self._made.name}: {self.why}; {self._made.report}"


def choose_method(size: int, bandwidth: Callable[[], int]) -> tuple[str, str]:
    """The method that "auto" takes for so many unknowns, and why."""
    if size <= FEW:
        return "superlu", f"{size:,} unknowns, at most {FEW:,}"
    many, wide = f"{size:,} unknowns", bandwidth()
    if wide <= THIN:
        return "superlu", f"{many} of a bandwidth of {wide:,}, at most {THIN}"
    if size <= SMALL:
        return "cholesky", f"{many}, at most {SMALL:,}"
    if wide <= NARROW and size * wide <= MOST_ENTRIES:
        return "cholesky", f"{many} of a bandwidth of {wide:,}, at most {NARROW:,}"
    many += f", more than {SMALL:,}"
    for method in ("multigrid", "pardiso"):
        there, library, _ = INSTALLED[method]
        if there():
            return method, f"{many}, and {library} is installed"
    return "block_jacobi", f"{many}, and neither pyamg nor pypardiso is installed"


def direct(matrix: "csr_matrix") -> SuperLU | Pardiso | None:
    """Factors of a symmetric matrix, positive definite or not; None where it is singular.

    By PARDISO where it is installed and the matrix large, else by SuperLU.
    """
    size = matrix.shape[0]
    system = SparseSystem(matrix, np.arange(size), np.zeros(size, int), np.zeros((size, 0)))
    try:
        return Pardiso(system) if size > SMALL and Pardiso.installed() else SuperLU(system)
    except SingularSystemError:
        return None
