"""The lowest eigenvalues and eigenvectors of a symmetric matrix, dense or sparse, certified by factors.

Small matrices are diagonalised (LAPACK). Of large ones the Lanczos method (ARPACK) finds the eigenvalues next
to a shift below all of them. Sylvester's law of inertia makes both ends certain: the signs of D in
A - s = L D L^T count the eigenvalues below s, so that there are none below the shift, and none is missed
between those that were found.

Decisions 0374.
"""

import numpy as np

from ...errors import EnergyError, RunFailedError
from ...solvers.linear_solver import direct

DENSE = 800
"""Rows up to which a matrix is diagonalised; a second of one core."""
SHIFTS = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1, 2.0)
"""Shifts to try, below zero, by the bound of the largest eigenvalue; below the last there is nothing."""


def lowest_eigenpairs(matrix, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The `count` lowest eigenvalues, ascending, their unit vectors (N, count), and a bound of the largest.

    `matrix`: symmetric, an array or SciPy's sparse matrix. Repeated calls give the same bits. Raises
    `EnergyError` for NaN or too much memory, `RunFailedError` where the method fails.
    """
    size = matrix.shape[0]
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not np.isfinite(entries).all():
        raise EnergyError("normal modes: the Hessian is not finite; use a state in the domain of the energy")
    if size <= DENSE or 2 * count >= size:
        whole = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        values, vectors = np.linalg.eigh(whole)
        return values[:count], vectors[:, :count], float(np.abs(values[[0, -1]]).max())
    try:
        return _sparse(matrix, count)
    except MemoryError:
        text = f"normal modes: the factors of a Hessian of {size} rows need more memory than there is"
        raise EnergyError(f"{text}; hold parts of the system, or take a smaller one") from None


def _sparse(matrix, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import LinearOperator

    sparse = csc_array(matrix)
    size, bound = sparse.shape[0], float(abs(sparse).sum(axis=0).max())
    if not bound:
        return np.zeros(count), np.eye(size, count), 0.0
    shift, solve = _below_all(sparse, bound)
    inverse = LinearOperator((size, size), matvec=solve, dtype=np.float64)
    start = np.random.Generator(np.random.Philox(key=0)).normal(size=size)
    asked = count + 2
    for _ in range(4):
        values, vectors = nearest(sparse, asked, shift, inverse, start)
        missed = _missed(sparse, values, count, bound)
        if not missed:
            return values[:count], vectors[:, :count], bound
        asked = min(asked + max(missed, count), size - 1)
    raise RunFailedError(
        f"normal modes: the Lanczos method missed {missed} of {count} modes; ask for another number of modes"
    )


def nearest(matrix, count: int, shift: float, inverse, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues next to a shift, ascending, and their vectors.

    inverse: (A - shift)^-1 as an operator. Raises `RunFailedError` where the method does not converge.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    try:
        values, vectors = eigsh(matrix, count, sigma=shift, which="LM", OPinv=inverse, v0=start)
    except ArpackNoConvergence as error:
        raise RunFailedError(f"normal modes: the Lanczos method does not converge: {error}") from error
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def _below_all(matrix, bound: float):
    """A shift below all eigenvalues, near zero if they are positive, and the solver of (A - shift) x = b."""
    for part in SHIFTS:
        factors = _factors(matrix, -part * bound)
        if factors is not None and factors.negative == 0:
            return -part * bound, lambda right, by=factors: by.solve(right, 0.0)
    raise RunFailedError("normal modes: no shift below all eigenvalues was found; use a smaller system")


def _missed(matrix, values: np.ndarray, count: int, bound: float) -> int:
    """How many eigenvalues below those at the end are not among `values`; 0 where this cannot be known."""
    gaps = np.diff(values[count - 1 :])
    at = count - 1 + int(np.argmax(gaps))
    if gaps.max() <= 1e-10 * bound:
        return 0  # equal to rounding: any of them may stand for the others
    factors = _factors(matrix, 0.5 * float(values[at] + values[at + 1]))
    return 0 if factors is None or factors.negative is None else factors.negative - (at + 1)


def _factors(matrix, shift: float):
    """Factors of A - shift, which know how many eigenvalues are below it; None where it is singular."""
    from scipy.sparse import eye_array

    return direct((matrix - shift * eye_array(matrix.shape[0], format="csc")).tocsr())
