"""Starts under constraints, of motions and of searches: which are dependent, violated, or bind nothing.

    y^T G = 0,   |y| = 1       the rows of G, each scaled to size 1, are dependent

    redundant       so at nearby positions, too, and the others imply it
    contradictory   so at nearby positions, too, and no positions fulfil all of them: y^T g is not 0
    singular        so at these positions alone, as of rods in line

G (E, N) is the Jacobian over the free components. y is found by inverse iteration with G G^T + s, a small
shift s. Masses and scales of unknowns play no part, so that motions and searches judge alike.

Decisions 0381.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...errors import SingularSystemError, TermError
from ...potential.constraints.equations import ConstraintRow, Equations
from ...solvers.sparse_factors import SuperLU
from ...solvers.sparse_system import SparseSystem

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LEAST = {"float64": 1e-6, "float32": 3e-6}
"""The least |y^T G| of independent equations, by the precision of the fields.

f64: pivots of G W G^T are about its square, and a step needs 1e-13 (`projections.SINGULAR`). f32: positions
are rounded by 6e-8, and equations that are dependent but for that have up to some ten times as much.
"""
NEAR = 1e-2
"""How far nodes are moved, in parts of the largest coordinate, to tell a singular start from redundancy."""
ROUGH = {"float64": 1e-7, "float32": 1e-4}
"""The largest violation of a start that passes for the rounding of numbers in a file."""
SHIFT, SINGULAR_SHIFT, ROUNDS = 1e-15, 1e-11, 4
"""Of the inverse iteration; the larger shift where G G^T is singular to rounding."""
CURE = "correct the start, or move it there by project_start = true"


def null_combination(jacobian: "csr_matrix", precision: str) -> np.ndarray | None:
    """y (E,) with y^T G = 0, of the rows scaled to size 1; None where they are independent."""
    sizes = row_sizes(jacobian)
    rows = jacobian.multiply(1.0 / np.where(sizes > 0.0, sizes, 1.0)[:, None]).tocsr()
    try:
        y = _least_combination(rows, SHIFT, ROUNDS)
    except SingularSystemError:  # to rounding
        return _least_combination(rows, SINGULAR_SHIFT, 2 * ROUNDS)
    return y if np.linalg.norm(rows.T @ y) <= LEAST[precision] else None


def _least_combination(rows: "csr_matrix", shift: float, rounds: int) -> np.ndarray:
    """y (E,) of size 1 whose y^T G is about the least, by inverse iteration with G G^T + shift.

    Raises `SingularSystemError` where that is singular to rounding.
    """
    from scipy.sparse import eye_array

    count = rows.shape[0]
    matrix = (rows @ rows.T + shift * eye_array(count)).tocsr()
    factors = SuperLU(SparseSystem(matrix, np.arange(count), np.zeros(count, int), np.zeros((count, 0))))
    y = np.random.Generator(np.random.Philox(key=0)).normal(size=count)
    for _ in range(rounds):
        y = factors.solve(y / np.linalg.norm(y), 0.0)
    return y / np.linalg.norm(y)


def row_sizes(jacobian: "csr_matrix") -> np.ndarray:
    """The Euclidean norms of the rows (E,)."""
    return np.sqrt(np.asarray(jacobian.multiply(jacobian).sum(axis=1)).ravel())


def described(equations: Equations, y: np.ndarray) -> tuple[ConstraintRow, str]:
    """An equation whose gradient is a combination of those of others, and that in words."""
    size = np.abs(y)
    row = int(np.flatnonzero(size > 0.99 * size.max())[-1])
    others = [int(k) for k in np.argsort(-size, kind="stable") if k != row and size[k] > 1e-3 * size[row]]
    named = "; ".join(str(equations.row(k)) for k in others[:4])
    more = f"; and {len(others) - 4} more" if len(others) > 4 else ""
    return equations.row(row), f"its gradient is a combination of those of others ({named}{more})"


def _mistake(row: ConstraintRow, text: str) -> TermError:
    return TermError(f"{row}: {text}", row.constraint)


def refuse_immovable(equations: Equations, whole: np.ndarray, free: np.ndarray) -> None:
    """Raise `TermError` for rows that no free component can change.

    whole, free: the sizes of the rows (E,) over all components and over the free ones.
    """
    if (bad := np.flatnonzero(~(whole > 0.0))).size:
        raise _mistake(
            equations.row(int(bad[0])),
            "its gradient is zero at the start, so that no force can keep it; write g with a gradient where"
            " it is zero, or start elsewhere",
        )
    if (bad := np.flatnonzero(~(free > 0.0))).size:
        text = "all that it binds is held, got nothing that may move; leave it out"
        raise _mistake(equations.row(int(bad[0])), text)


def refuse_dependent(
    equations: Equations,
    jacobian: "csr_matrix",
    values: np.ndarray,
    precision: str,
    nearby: Callable[[], "csr_matrix"],
) -> None:
    """Raise `TermError` for dependent equations, naming them, and whether they contradict each other.

    jacobian: over the free components. nearby: gives it at positions nearby.
    """
    if (y := null_combination(jacobian, precision)) is None:
        return
    row, said = described(equations, y)
    if null_combination(nearby(), precision) is None:
        text = f"{said} at the start, which is a singular configuration, as of rods in line; start elsewhere"
        raise _mistake(row, text)
    sizes = row_sizes(jacobian)
    off = y / np.where(sizes > 0.0, sizes, 1.0)
    if abs(float(off @ values)) > ROUGH[precision] * float(np.abs(y).sum()) * equations.extent():
        raise _mistake(row, f"{said}: they contradict each other; correct the data of one of them")
    raise _mistake(row, f"{said}: it is redundant; leave one of them out")


def kept_wrong(
    equations: Equations, off: np.ndarray, projected: frozenset[str], precision: str
) -> int | None:
    """The worst equation that is violated by more than rounding and whose start may not be moved.

    off (E,): by how much each is violated. projected: the constraints whose start may be moved.
    """
    wrong = [int(k) for k in np.flatnonzero(~(off <= ROUGH[precision]))]
    kept = [k for k in wrong if equations.row(k).constraint not in projected]
    return max(kept, key=lambda k: off[k]) if kept else None


def refuse_violated(
    equations: Equations, values: np.ndarray, off: np.ndarray, projected: frozenset[str], precision: str
) -> None:
    """Raise `TermError` for the worst equation that is violated by more than rounding, but for `projected`.

    values (E,): g; off (E,): the distances from g = 0, in parts of the largest coordinate.
    """
    if (k := kept_wrong(equations, off, projected, precision)) is not None:
        raise _mistake(
            equations.row(k),
            f"is violated at the start, got g = {values[k]:.6g}, a distance of {off[k]:.2g} of the largest"
            f" coordinate; {CURE}",
        )


def refuse_unreached(constraint: str, trouble: str) -> None:
    """Raise `TermError` for a constraint that no projection of the start reaches; trouble: how it ended."""
    raise TermError(
        f"{trouble}; the constraints contradict each other, or the start is too far off; correct one of them",
        constraint,
    )
