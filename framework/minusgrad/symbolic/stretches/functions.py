"""Functions of the principal stretches of a deformation gradient: `from minusgrad import polar`.

    F = R S,    R a rotation (det R = 1), S symmetric with the eigenvalues s_i, the principal stretches

    polar(F)                  R, the rotation that is nearest to F
    stretch_trace(F)          sum s_i = tr S = R : F
    biot_squares(F)           sum (s_i - 1)^2 = |F - R|^2    of Biot's strain S - I
    stretch_powers(F, a)      sum s_i^a                      (Ogden 1972, Proc. R. Soc. A 326, 565)
    log_stretch_squares(F)    sum (ln s_i)^2                 (Hencky 1928)

F (2, 2) or (3, 3) [1]. In energies they have exact first and second derivatives, also where stretches
coincide. Where det F < 0 the smallest stretch of the first three is negative, so that they go on
continuously through a flat cell; they have no derivative where two stretches add up to zero (a mirror image).
The other two take the sizes |s_i|: beside them stands a function of det F that refuses an inverted cell.

Here they are functions of NumPy arrays, by singular values; energies use `isotropic`.
"""

from typing import Any

import numpy as np


def polar(F: Any) -> Any:
    """The rotation R of the polar decomposition F = R S, with det R = 1, in energies and plain Python.

    F: (2, 2) or (3, 3). Returns R of the same shape, the rotation nearest to F.
    """
    left, _, right = np.linalg.svd(np.asarray(F))
    flip = np.ones(len(left))
    flip[-1] = np.sign(np.linalg.det(left) * np.linalg.det(right))
    return (left * flip) @ right


def stretch_trace(F: Any) -> Any:
    """The sum of the principal stretches, tr S of F = R S, in energies and plain Python.

    F: (2, 2) or (3, 3). The smallest one counts as negative where det F < 0. Its derivative is polar(F).
    """
    return _signed_stretches(F).sum()


def biot_squares(F: Any) -> Any:
    """The sum of squares of Biot's strain, |S - I|^2 = |F - R|^2 of F = R S, in energies and plain Python.

    F: (2, 2) or (3, 3). Returns sum (s_i - 1)^2, accurate also where it is small; the smallest stretch counts
    as negative where det F < 0. Its derivative is 2 (F - R).
    """
    return ((_signed_stretches(F) - 1.0) ** 2).sum()


def _signed_stretches(F: Any) -> np.ndarray:
    """The principal stretches, the smallest with the sign of det F."""
    stretch = np.linalg.svd(np.asarray(F), compute_uv=False)
    stretch[-1] = np.copysign(stretch[-1], np.linalg.det(F))
    return stretch


def stretch_powers(F: Any, exponent: Any) -> Any:
    """The sum of powers of the principal stretches, sum |s_i|^exponent, in energies and plain Python.

    F: (2, 2) or (3, 3); exponent: a real number, such as a parameter, by which it has derivatives, too.
    """
    return (np.linalg.svd(np.asarray(F), compute_uv=False) ** exponent).sum()


def log_stretch_squares(F: Any) -> Any:
    """The sum of squared logarithms of the principal stretches, in energies and plain Python.

    F: (2, 2) or (3, 3). It is |H|^2 of Hencky's strain H = ln S, sum (ln |s_i|)^2.
    """
    return (np.log(np.linalg.svd(np.asarray(F), compute_uv=False)) ** 2).sum()


FUNCTIONS = (polar, stretch_trace, biot_squares, stretch_powers, log_stretch_squares)
