"""Small vibrations under constraints: eigenvectors of the Lagrangian's second derivatives along them.

    (W - omega^2) e = G^T y,  G e = 0          W = M^(-1/2) (d2U/dx2 + sum lambda_e d2g_e/dx2) M^(-1/2)
    (G G^T) lambda = -G p,  p_t = p + G^T lambda        G = dg/dx M^(-1/2),  p = M^(-1/2) dU/dx

over the free components. At rest p_t = 0. lambda are the multipliers of bodies that are released at rest; at
an equilibrium they balance dU/dx. Small systems are diagonalised in an orthonormal basis of the kernel of G.
Of large ones the Lanczos method finds the eigenvalues next to a shift below all of them, with solutions of
the saddle-point matrix of W - shift and G; the number of eigenvalues below those at the end certifies that
none is missed (`lowest_eigenpairs`, `solvers.saddle_point`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import EnergyError, RunFailedError, SingularSystemError
from ...potential.constraints.constraints import Constraints
from ...solvers.saddle_point import SaddlePoint, negative_on_kernel
from ..constrained.dependent_constraints import ROUGH, row_sizes
from .free_components import FreeComponents
from .lowest_eigenpairs import DENSE, SHIFTS, nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MORE = 2
"""Eigenvalues that are found beyond those asked for."""


class TangentSpace:
    """The directions along constraints, in mass-weighted free components, at the present fields and time.

    gradient (N,): dU/dx of the free components; `force` (N,): the part of it along the constraints. `size`:
    the dimension. Raises `EnergyError` for constraints that are dependent, violated, or leave nothing free.
    """

    def __init__(self, constraints: Constraints, free: FreeComponents, gradient: np.ndarray, t: float):
        from scipy.sparse.linalg import lsmr

        equations = constraints.equations(list(free.shapes))
        equations.load(t)
        whole = equations.jacobian()
        rows = free.rows
        self.jacobian = whole[:, rows].multiply(free.inverse_root[None, :]).tocsr()
        self.size = free.size - equations.count
        refuse_violated(equations, whole)
        p = gradient * free.inverse_root
        multipliers = lsmr(self.jacobian.T, -p, atol=1e-15, btol=1e-15, conlim=0.0, maxiter=10 * free.size)[0]
        second = equations.hessian(multipliers)[rows][:, rows]
        self.second = second.multiply(free.inverse_root[:, None]).multiply(free.inverse_root[None, :]).tocsr()
        self.multipliers = multipliers
        self.force = (p + self.jacobian.T @ multipliers) / free.inverse_root
        if self.size < 1:
            raise EnergyError(
                f"normal modes: {equations.count} constraints leave nothing to vibrate, got {free.size} free"
                " components; leave some of them out"
            )

    def lowest_eigenpairs(self, matrix: Any, count: int) -> tuple[np.ndarray, np.ndarray, float]:
        """The `count` lowest eigenvalues, ascending, unit vectors (N, count), and a bound of the largest."""
        whole = (matrix + self.second).tocsr()
        if not np.isfinite(whole.data).all():
            raise EnergyError(
                "normal modes: the Hessian is not finite; use a state in the domain of the energy"
            )
        if whole.shape[0] <= DENSE or 2 * count >= self.size:
            return self._dense(whole, count)
        return self._sparse(whole, count)

    def _dense(self, whole: "csr_matrix", count: int) -> tuple[np.ndarray, np.ndarray, float]:
        basis, upper = np.linalg.qr(self.jacobian.toarray().T, mode="complete")
        sizes = np.abs(np.diagonal(upper))
        if sizes.min() <= 1e-10 * sizes.max():
            raise EnergyError(DEPENDENT)
        kernel = basis[:, self.jacobian.shape[0] :]
        values, vectors = np.linalg.eigh(kernel.T @ (whole @ kernel))
        return values[:count], kernel @ vectors[:, :count], float(np.abs(values[[0, -1]]).max())

    def _sparse(self, whole: "csr_matrix", count: int) -> tuple[np.ndarray, np.ndarray, float]:
        from scipy.sparse.linalg import LinearOperator

        size, bound = whole.shape[0], float(abs(whole).sum(axis=0).max())
        shift, factors = self._below_all(whole, bound)
        inverse = LinearOperator((size, size), matvec=lambda v: factors.solve(v)[0], dtype=np.float64)
        start = inverse @ np.random.Generator(np.random.Philox(key=0)).normal(size=size)
        asked = min(count + MORE, self.size - 1)
        values, vectors = nearest(whole, asked, shift, inverse, start)
        self._refuse_missed(whole, values, count, bound)
        return values[:count], vectors[:, :count], bound

    def _below_all(self, whole: "csr_matrix", bound: float) -> tuple[float, SaddlePoint]:
        """A shift below all eigenvalues, and the factors of the matrix with it."""
        for part in SHIFTS:
            shifted = _less(whole, -part * bound)
            if negative_on_kernel(shifted, self.jacobian) != 0:
                continue
            try:
                return -part * bound, SaddlePoint(shifted, self.jacobian)
            except SingularSystemError:
                raise EnergyError(DEPENDENT) from None
        raise RunFailedError("normal modes: no shift below all eigenvalues was found; use a smaller system")

    def _refuse_missed(self, whole: "csr_matrix", values: np.ndarray, count: int, bound: float) -> None:
        gaps = np.diff(values[count - 1 :])
        at = count - 1 + int(np.argmax(gaps))
        if gaps.max() <= 1e-7 * bound:
            return  # too close to each other to be counted
        found = negative_on_kernel(_less(whole, 0.5 * float(values[at] + values[at + 1])), self.jacobian)
        if found is not None and found != at + 1:
            raise RunFailedError(
                f"normal modes: the Lanczos method missed {found - at - 1} of {count} modes; ask for another"
                " number of modes"
            )


DEPENDENT = (
    "normal modes: the constraints are dependent at this state, as rods in line are; use another state, or"
    " leave one out"
)


def _less(matrix: "csr_matrix", shift: float) -> "csr_matrix":
    from scipy.sparse import eye_array

    return (matrix - shift * eye_array(matrix.shape[0])).tocsr()


def refuse_violated(equations: Any, whole: "csr_matrix") -> None:
    """Raise `EnergyError` for equations that the present state does not fulfil; whole: their Jacobian."""
    rough: Mapping[str, float] = ROUGH
    with np.errstate(all="ignore"):
        off = np.abs(equations.values()) / (row_sizes(whole) * equations.extent())
    if (bad := np.flatnonzero(~(off <= rough["float32"]))).size:
        raise EnergyError(
            f"{equations.row(int(bad[0]))}: is violated at this state, got {off[bad[0]]:.2g} of the largest"
            " coordinate; use a state that meets it"
        )
