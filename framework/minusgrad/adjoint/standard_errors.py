"""How well a minimum is determined: standard errors from the curvature A of the loss there.

    covariance = s^2 A^-1,   standard error of z_k = s sqrt((A^-1)_kk)

s = 1 where the loss is -log of a likelihood; where it is a sum of squares of residuals in an unknown unit,
s^2 = 2 L / (n - p), n numbers observed, p determined (e.g. Bevington & Robinson 2003, Data Reduction and
Error Analysis, ch. 8). A is scaled to a unit diagonal; directions in which it is flat to rounding are not
determined.
"""

from dataclasses import dataclass

import numpy as np

FLAT, TAKES_PART = 1e3, 1e-4
"""Times the rounding: the smallest eigenvalue that is one; and the component that a direction really has."""


@dataclass(frozen=True)
class StandardErrors:
    """errors (P,) of z, nan: none; `undetermined`: directions (P,) of z, their largest component 1."""

    errors: np.ndarray
    undetermined: list[np.ndarray]

    @property
    def determined(self) -> int:
        """p: how many numbers the data determine."""
        return int(np.isfinite(self.errors).sum()) + self._partly

    @property
    def _partly(self) -> int:
        """Of those that take part in something undetermined, what is left."""
        taking = np.zeros(len(self.errors), bool)
        for direction in self.undetermined:
            taking |= direction != 0.0
        return int(taking.sum()) - len(self.undetermined)


def standard_errors(curvature: np.ndarray, moving: np.ndarray, dtype: np.dtype) -> StandardErrors:
    """Of a loss with s = 1; `moving` (P,): those that are at no bound, the others have no error."""
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
