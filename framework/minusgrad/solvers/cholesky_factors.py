"""Cholesky factors of sparse positive definite matrices, by dense fronts and LAPACK.

    [F_11       ]   [L_11     ] [L_11^T  L_21^T]       F_s = the entries of A in the columns of the pivots
    [F_21   F_22] = [L_21    1] [             U],            + sum over children of U_c

L_11 L_11^T = F_11, L_21 = F_21 L_11^-T, U = F_22 - L_21 L_21^T, which the parent adds (`frontal_analysis`).
All is done in blocks, so it takes a third of the time of SuperLU's columns, and has half the entries.

A matrix that is not positive definite is recognised by a pivot below zero; its solutions are those of
SuperLU, whose factors are then made at the first one.

Decisions 0088, 0136.
"""

import numpy as np

from .blas_threads import one_blas_thread
from .frontal_analysis import FrontalAnalysis, Run
from .sparse_factors import SINGULAR, SuperLU
from .sparse_system import SparseSystem

NEGATIVE = 1e-10
"""A pivot below minus this part of the largest number of its row is no rounding of zero."""


class Cholesky:
    """Cholesky factors; of a matrix that is not positive definite those of SuperLU.

    analysis: that of another matrix, which is used where it has the same pattern.
    """

    name = "Cholesky"

    def __init__(self, system: SparseSystem, analysis: FrontalAnalysis | None = None):
        matrix = system.matrix
        if analysis is None or not analysis.fits(matrix):
            analysis = FrontalAnalysis(matrix, system.node)
        self.analysis, self._system = analysis, system
        self._other: SuperLU | None = None
        self._panels: list[np.ndarray] = []
        with one_blas_thread():
            self.definite = self._take_fronts()
        if self.definite is None:  # singular or not: SuperLU decides
            self._other = SuperLU(system)
            self.definite = None if self._other.negative is None else self._other.negative == 0

    def _take_fronts(self) -> bool | None:
        """Factor all fronts. False where a pivot is negative, None where one may be zero."""
        analysis = self.analysis
        numbers = np.zeros(analysis.size)
        numbers[analysis.place] = self._system.matrix.data[analysis.source]
        diagonal = numbers[analysis.diagonal]
        if not (diagonal > 0.0).all():
            return False if (diagonal < 0.0).any() else None
        updates: dict[int, np.ndarray] = {}
        for number, front in enumerate(analysis.fronts):
            k = front.pivots
            panel = numbers[front.at : front.at + front.rows * k].reshape(front.rows, k)
            children = [(updates.pop(child), runs) for child, runs in front.children]
            for update, runs in children:
                _add_columns(panel, update, runs, k)
            if (failed := _factor_pivots(panel[:k])) is not None:
                self._panels.clear()
                return False if failed < -NEGATIVE else None
            if front.rows > k:
                updates[number] = _update(panel, k, children)
            self._panels.append(panel)
        relative = numbers[analysis.diagonal] ** 2 / diagonal
        smallest, largest = relative.min(initial=np.inf), relative.max(initial=0.0)
        return True if np.isfinite(largest) and smallest > SINGULAR * largest else None

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray:
        """A^-1 b. Raises `SingularSystemError` where the matrix is neither definite nor regular."""
        if not self.definite or self._other is not None:
            self._other = self._other or SuperLU(self._system)
            return self._other.solve(right, tolerance)
        with one_blas_thread():
            return self._substitute(right)

    def _substitute(self, right: np.ndarray) -> np.ndarray:
        """A^-1 b by the factors."""
        from scipy.linalg.blas import dtrsv

        x = right[self.analysis.order]
        each = [(f, slice(f.first, f.first + f.pivots)) for f in self.analysis.fronts]
        for (front, own), panel in zip(each, self._panels, strict=True):
            x[own] = dtrsv(panel[: front.pivots].T, x[own], trans=1, lower=0)
            x[front.boundary] -= panel[front.pivots :] @ x[own]
        for (front, own), panel in zip(reversed(each), reversed(self._panels), strict=True):
            y = x[own] - x[front.boundary] @ panel[front.pivots :]
            x[own] = dtrsv(panel[: front.pivots].T, y, lower=0)
        found = np.empty_like(x)
        found[self.analysis.order] = x
        return found

    @property
    def report(self) -> str:
        """Entries of the factors, in words."""
        if not self.definite or self._other is not None:
            return "not positive definite" + (f"; {self._other.report}" if self._other else "")
        return f"{self.analysis.size:,} entries in its factors"


def _add_columns(panel: np.ndarray, update: np.ndarray, runs: list[Run], pivots: int) -> None:
    """Add the columns of a child's update that are pivots here, on the lower half."""
    for k, (a, b, column) in enumerate(runs):
        if column >= pivots:
            return
        for c, d, row in runs[k:]:
            panel[row : row + d - c, column : column + b - a] += update[c:d, a:b]


def _factor_pivots(block: np.ndarray) -> float | None:
    """Overwrite the lower half of F_11 by L_11; the first pivot that is not positive, relative."""
    from scipy.linalg.lapack import dpotrf

    before = block.copy()
    failed = dpotrf(block.T, lower=0, clean=0, overwrite_a=1)[1]  # its transpose is in Fortran's order
    return _failed_pivot(before, failed - 1) if failed else None


def _failed_pivot(block: np.ndarray, at: int) -> float:
    """The pivot of a row, of which all before are positive, in parts of the largest number of the row."""
    row, lead = block[at, : at + 1], np.tril(block[:at, :at])
    if not np.isfinite(row).all():
        return 0.0
    whole = lead + np.tril(lead, -1).T
    pivot = float(row[at] - row[:at] @ np.linalg.solve(whole, row[:at]))
    return pivot / (float(np.abs(row).max()) or 1.0)


def _update(panel: np.ndarray, pivots: int, children: list[tuple[np.ndarray, list[Run]]]) -> np.ndarray:
    """Overwrite F_21 by L_21; the lower half of U."""
    from scipy.linalg.blas import dsyrk, dtrsm

    below = panel[pivots:].T  # Fortran's order
    dtrsm(1.0, panel[:pivots].T, below, side=0, lower=0, trans_a=1, overwrite_b=1)
    found = dsyrk(-1.0, below, trans=1, lower=0).T
    for update, runs in children:
        far = [(a, b, row - pivots) for a, b, row in runs if row >= pivots]
        _add_columns(found, update, far, len(found))
    return found
