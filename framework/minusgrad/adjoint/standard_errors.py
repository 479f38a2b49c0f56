"""Standard errors of fitted parameters, from the curvature A of the loss at its minimum.

    covariance = s^2 A^-1,   standard error of z_k = s sqrt((A^-1)_kk)

s = 1 if the loss is the negative logarithm of a likelihood; if it is a sum of squares of residuals of unknown
variance, s^2 = 2 L / (n - p), n numbers observed, p determined (e.g. Bevington & Robinson 2003, Data
Reduction and Error Analysis, ch. 8). A is scaled to a unit diagonal; directions in which it is flat to
rounding are undetermined.

Decisions 0303.
"""

from dataclasses import dataclass

import numpy as np

FLAT, TAKES_PART = 1e3, 1e-4
"""The smallest eigenvalue that counts, in units of rounding; the smallest component of a direction."""


@dataclass(frozen=True)
class StandardErrors:
    """`errors` (P,) of z, NaN: none; `undetermined` directions (P,) of z, their largest component 1."""

    errors: np.ndarray
    undetermined: list[np.ndarray]

    @property
    def determined(self) -> int:
        """p, the number of parameters that the data determine."""
        return int(np.isfinite(self.errors).sum()) + self._partly

    @property
    def _partly(self) -> int:
        """Determined combinations of the parameters that take part in undetermined ones."""
        taking = np.zeros(len(self.errors), bool)
        for direction in self.undetermined:
            taking |= direction != 0.0
        return int(taking.sum()) - len(self.undetermined)


def standard_errors(curvature: np.ndarray, moving: np.ndarray, dtype: np.dtype) -> StandardErrors:
    """The standard errors for s = 1, from the `curvature` (P, P) of the loss.

    moving: (P,), true for parameters at no bound; the others get no error. dtype: the precision of the run,
    whose rounding decides on flat directions.
    """
    rounding = float(np.finfo(dtype).eps)
    found, undetermined = np.full(len(moving), np.nan), []
    A = 0.5 * (curvature + curvature.T)
    diagonal = np.diag(A)
    seen = moving & (diagonal > (FLAT * rounding) ** 2 * max(diagonal.max(initial=0.0), 0.0))
    for k in np.flatnonzero(moving & ~seen):
        undetermined.append(np.eye(len(moving))[k])
    scale = np.sqrt(diagonal[seen])
    values, vectors = np.linalg.eigh(A[np.ix_(seen, seen)] / np.outer(scale, scale))
    flat = values <= FLAT * rounding
    variances = (vectors[:, ~flat] ** 2 / values[~flat]).sum(axis=1)
    taking = np.zeros(len(scale), bool)
    for vector in vectors[:, flat].T:
        cleaned = np.where(np.abs(vector) > TAKES_PART, vector, 0.0)
        taking |= cleaned != 0.0
        undetermined.append(_spread(cleaned / scale, seen))
    found[seen] = np.where(taking, np.nan, np.sqrt(variances) / scale)
    return StandardErrors(found, undetermined)


def _spread(direction: np.ndarray, seen: np.ndarray) -> np.ndarray:
    whole = np.zeros(len(seen))
    whole[seen] = direction / direction[np.argmax(np.abs(direction))]
    return whole
