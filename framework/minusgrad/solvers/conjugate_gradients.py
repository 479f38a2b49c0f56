"""Conjugate gradients for positive definite systems, preconditioned by blocks of nodes or by multigrid.

    x <- x + a p,  r <- r - a A p,  a = r.z / p.A p,    z = M r,    p <- z + (r.z / old r.z) p

(Hestenes and Stiefel 1952; Nocedal and Wright, Numerical Optimization, algorithm 5.3.) Where p.A p <= 0 the
matrix is not positive definite, which is reported. The block Jacobi preconditioner inverts the block of each
node by itself. Multigrid is smoothed aggregation with the softest motions as candidates (Vanek, Mandel and
Brezina 1996, Computing 56, 179), by pyamg.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import IndefiniteSystemError, RunFailedError, SingularSystemError
from .sparse_system import SparseSystem

MOST, TIMES = 20_000, 10
"""Iterations after which the method gives up, and how many times the number of unknowns."""

LOST = 1e3
"""How far the residual may be from the one of the recurrence; of singular matrices it is farther."""


class BlockJacobi:
    """Conjugate gradients with the inverse of each node's own block."""

    name = "conjugate gradients, block Jacobi"
    negative: int | None = None

    def __init__(self, system: SparseSystem):
        self.matrix, self.iterations = system.matrix, 0
        blocks = system.block_diagonal()
        try:
            self._inverse = np.linalg.inv(blocks)
        except np.linalg.LinAlgError:
            raise SingularSystemError(f"{self.name}: the block of a node is singular") from None
        if not np.isfinite(self._inverse).all() or (np.linalg.eigvalsh(blocks) <= 0.0).any():
            raise IndefiniteSystemError(f"{self.name}: the block of a node is not positive definite")
        self._places = system.places

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray:
        """A^-1 b, to a residual of `tolerance` relative to b."""
        return _iterate(self, right, self._precondition, tolerance)

    @property
    def report(self) -> str:
        """Iterations of the last solution, in words."""
        return f"{self.iterations} iterations"

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        whole = np.zeros(self._inverse.shape[:2])
        whole.reshape(-1)[self._places] = r
        return np.einsum("nij,nj->ni", self._inverse, whole).reshape(-1)[self._places]


class Multigrid:
    """Conjugate gradients with one V-cycle of smoothed aggregation by pyamg."""

    name = "conjugate gradients, multigrid"
    negative: int | None = None

    def __init__(self, system: SparseSystem):
        from pyamg import smoothed_aggregation_solver

        self.matrix, self.iterations = system.matrix, 0
        whole, modes = system.in_blocks()
        if (whole.diagonal() <= 0.0).any():
            raise IndefiniteSystemError(f"{self.name}: the matrix has a diagonal that is not positive")
        with _fixed_draws():
            self._levels: Any = smoothed_aggregation_solver(
                whole,
                B=modes if modes.shape[1] else None,
                symmetry="symmetric",
                strength=("symmetric", {"theta": 0.0}),
                smooth=("jacobi", {"omega": 4.0 / 3.0}),
                improve_candidates=None,
                coarse_solver="splu",
                max_coarse=100,
            )
        self._cycle, self._places = self._levels.aspreconditioner(), system.places

    @staticmethod
    def installed() -> bool:
        """True if `pyamg` can be imported."""
        return find_spec("pyamg") is not None

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray:
        """A^-1 b, to a residual of `tolerance` relative to b."""
        return _iterate(self, right, self._precondition, tolerance)

    @property
    def report(self) -> str:
        """Levels, and iterations of the last solution, in words."""
        return f"{len(self._levels.levels)} levels, {self.iterations} iterations"

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        whole = np.zeros(self._cycle.shape[0])
        whole[self._places] = r
        return np.asarray(self._cycle @ whole)[self._places]


class _fixed_draws:  # noqa: N801  (a context manager)
    """pyamg draws from NumPy's global generator: the same numbers each time, and its state as it was."""

    def __enter__(self) -> None:
        self._state = np.random.get_state()
        np.random.seed(0)

    def __exit__(self, *_: object) -> None:
        np.random.set_state(self._state)


def _iterate(method: Any, right: np.ndarray, precondition: Any, tolerance: float) -> np.ndarray:
    x, r = np.zeros(len(right)), right.copy()
    enough = tolerance * float(np.sqrt(r @ r))
    z = precondition(r)
    p, rz = z, float(r @ z)
    method.iterations, most = 0, min(MOST, TIMES * len(right))
    while float(np.sqrt(r @ r)) > enough:
        if method.iterations == most:
            raise RunFailedError(
                f"{method.name}: no solution to {tolerance:g} within {most} iterations;"
                ' use a direct solver: solver = "superlu"'
            )
        ap = method.matrix @ p
        curvature = float(p @ ap)
        if not curvature > 0.0 or not rz > 0.0:
            raise IndefiniteSystemError(f"{method.name}: the matrix is not positive definite")
        x += rz / curvature * p
        r -= rz / curvature * ap
        z = precondition(r)
        rz, before = float(r @ z), rz
        p = z + rz / before * p
        method.iterations += 1
    left = right - method.matrix @ x
    if float(np.sqrt(left @ left)) > LOST * enough:
        raise SingularSystemError(f"{method.name}: the matrix is singular to rounding")
    return x
