"""Conjugate gradients for positive definite systems, preconditioned by blocks of nodes or by multigrid.

    x <- x + a p,  r <- r - a A p,  a = r.z / p.A p,    z = M r,    p <- z + (r.z / old r.z) p

(Hestenes and Stiefel 1952; Nocedal and Wright, Numerical Optimization, algorithm 5.3.) Where p.A p <= 0 the
matrix is not positive definite, which is reported. The block Jacobi preconditioner inverts the block of each
node by itself. Multigrid is smoothed aggregation with the softest motions as candidates (Vanek, Mandel and
Brezina 1996, Computing 56, 179), by pyamg.

Decisions 0362.
"""

import sys
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import IndefiniteSystemError, RunFailedError, SingularSystemError
from .sparse_system import SparseSystem

MOST, TIMES = 20_000, 10
"""Iterations after which the method gives up, and how many times the number of unknowns."""

LOST = 1e3
"""How far the residual may be from the one of the recurrence; of singular matrices it is farther."""


class ConjugateGradients(ABC):
    """Conjugate gradients for one matrix; a subclass has the preconditioner.

    size: components of all nodes, where every node has as many as any.
    """

    name: str
    definite: bool | None = None

    def __init__(self, system: SparseSystem, size: int):
        self.matrix, self.iterations = system.matrix, 0
        self._places, self._size = system.places, size

    @abstractmethod
    def _preconditioned_residual(self, r: np.ndarray) -> np.ndarray:
        """M r, where r has all components of all nodes."""

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray:
        """A^-1 b, to a residual of `tolerance` relative to b."""
        x, r = np.zeros(len(right)), right.copy()
        enough = tolerance * float(np.sqrt(r @ r))
        z = self._precondition(r)
        p, rz = z, float(r @ z)
        self.iterations, most = 0, min(MOST, TIMES * len(right))
        while float(np.sqrt(r @ r)) > enough:
            if self.iterations == most:
                raise RunFailedError(
                    f"{self.name}: no solution to {tolerance:g} within {most} iterations;"
                    ' use a direct solver: solver = "superlu"'
                )
            ap = self.matrix @ p
            curvature = float(p @ ap)
            if not curvature > 0.0 or not rz > 0.0:
                raise IndefiniteSystemError(f"{self.name}: the matrix is not positive definite")
            x += rz / curvature * p
            r -= rz / curvature * ap
            z = self._precondition(r)
            rz, before = float(r @ z), rz
            p = z + rz / before * p
            self.iterations += 1
        left = right - self.matrix @ x
        if float(np.sqrt(left @ left)) > LOST * enough:
            raise SingularSystemError(f"{self.name}: the matrix is singular to rounding")
        return x

    @property
    def report(self) -> str:
        """Iterations of the last solution, in words."""
        return f"{self.iterations} iterations"

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        whole = np.zeros(self._size)
        whole[self._places] = r
        return self._preconditioned_residual(whole)[self._places]


class BlockJacobi(ConjugateGradients):
    """Conjugate gradients with the inverse of each node's own block."""

    name = "conjugate gradients, block Jacobi"

    def __init__(self, system: SparseSystem):
        blocks = system.block_diagonal()
        super().__init__(system, blocks.shape[0] * blocks.shape[1])
        try:
            self._inverse = np.linalg.inv(blocks)
        except np.linalg.LinAlgError:
            raise SingularSystemError(f"{self.name}: the block of a node is singular") from None
        if not np.isfinite(self._inverse).all() or (np.linalg.eigvalsh(blocks) <= 0.0).any():
            raise IndefiniteSystemError(f"{self.name}: the block of a node is not positive definite")

    def _preconditioned_residual(self, r: np.ndarray) -> np.ndarray:
        return np.einsum("nij,nj->ni", self._inverse, r.reshape(self._inverse.shape[:2])).reshape(-1)


class Multigrid(ConjugateGradients):
    """Conjugate gradients with one V-cycle of smoothed aggregation by pyamg."""

    name = "conjugate gradients, multigrid"

    def __init__(self, system: SparseSystem):
        from pyamg import smoothed_aggregation_solver

        whole, modes = system.in_blocks()
        super().__init__(system, whole.shape[0])
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
        self._cycle = self._levels.aspreconditioner()

    @staticmethod
    def installed() -> bool:
        """True if `pyamg` can be imported: it reads docstrings, which `python -OO` leaves out."""
        return find_spec("pyamg") is not None and sys.flags.optimize < 2

    @property
    def report(self) -> str:
        """Levels, and iterations of the last solution, in words."""
        return f"{len(self._levels.levels)} levels, {super().report}"

    def _preconditioned_residual(self, r: np.ndarray) -> np.ndarray:
        return np.asarray(self._cycle @ r)


class _fixed_draws:  # noqa: N801  (a context manager)
    """pyamg draws from NumPy's global generator: the same numbers each time, and its state as it was."""

    def __enter__(self) -> None:
        self._state = np.random.get_state()
        np.random.seed(0)

    def __exit__(self, *_: object) -> None:
        np.random.set_state(self._state)
