"""Internal relaxation of a crystal under strain: conjugate gradients without translations.

    H w = -f,   sum over atoms of w = 0,   H = d2U/dx2 (positive on all else),   f = d2U/dx dF

f sums to zero, because a translation of all atoms costs nothing. The method is that of Hestenes & Stiefel
1952, J. Res. NBS 49, 409.

Decisions 0331.
"""

from collections.abc import Callable

import numpy as np

from ...energies.fields import ordered_sum
from ...errors import EnergyError

ACCURACY = 1e-11
"""The largest force that is left, in parts of the largest that the strain caused."""
TURNS = 30
"""Iterations at most, for each unknown."""


def relaxed_along(
    stiffness: Callable[[np.ndarray], np.ndarray], force: np.ndarray, zero: float
) -> np.ndarray:
    """The displacements (n, d) that cancel a force (n, d) on the atoms; their mean is zero.

    stiffness: the Hessian times displacements. zero: a force below which nothing moves. Raises `EnergyError`
    for a direction of negative curvature, and where it does not converge.
    """
    moved, left = np.zeros_like(force), -_centred(force)
    enough = max(ACCURACY * float(np.abs(left).max()), zero)
    along, square = left, _dot(left, left)
    for _ in range(TURNS * force.size):
        if float(np.abs(left).max()) <= enough:
            return moved
        bent = _centred(stiffness(along))
        curvature = _dot(along, bent)
        if not curvature > 0.0:
            raise EnergyError(
                f"elastic constants: the atoms are at no minimum, got the curvature {curvature:.3g} along a"
                " relaxation; minimise the energy first, or use a stable crystal"
            )
        step = square / curvature
        moved, left = moved + step * along, left - step * bent
        square, before = _dot(left, left), square
        along = left + (square / before) * along
    raise EnergyError(
        f"elastic constants: the relaxation does not converge, got a force of {np.abs(left).max():.3g} where"
        f" {enough:.3g} is enough; minimise the energy first, or use double precision"
    )


def _centred(values: np.ndarray) -> np.ndarray:
    """Without their mean over the atoms, summed in fixed order."""
    return values - np.array([ordered_sum(column) for column in values.T]) / len(values)


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return ordered_sum(a * b)
