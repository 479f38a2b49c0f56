"""The Levenberg-Marquardt method: damped Gauss-Newton steps for sums of squares.

    L = |r|^2 / 2,   g = J^T r,   A = J^T J            A: the curvature of L less second derivatives of r

    (A + mu D) s = -g,   z <- P(z + s)                 P: the nearest point within the bounds

D is the largest diagonal of A so far, so that units do not matter (Moré 1978, Lect. Notes Math. 630, 105).
The first step is undamped, mu = 0: where r is linear it is the last one. mu follows the
gain, the decrease of L over that of the parabola g.s + s.A s / 2 (Nielsen 1999, report IMM-REP-1999-05, TU
Denmark):

    gain > 0    mu <- mu max(1/3, 1 - (2 gain - 1)^3),  nu <- 2
    else        mu <- mu nu,  nu <- 2 nu                and another s

Bounds: components at a bound that L pushes beyond it are left out of the system.

Decisions 0303.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .line_search import lowers
from .minimiser import WITHOUT_SEARCH, Minimiser, Point, dot
from .objective import LeastSquares
from .outcomes import NO_TOLERANCES, Tolerances
from .unknowns import Unknown

FIRST, LEAST, MOST = 1e-3, 1e-7, 1e16
"""mu after a failed undamped step; below the second, mu is zero; from the third on, the search is stuck."""


class GaussNewton(Minimiser):
    """Levenberg-Marquardt for an objective with a Gauss-Newton matrix."""

    consumer = WITHOUT_SEARCH

    kept = ("damping", "growth", "diagonal")

    def __init__(
        self,
        objective: LeastSquares,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        **options: Any,
    ):
        self._squares = objective
        super().__init__(objective, unknowns, tolerances, **options)
        self._forget()

    def _forget(self) -> None:
        self.damping, self.growth = 0.0, 2.0
        self.diagonal = np.zeros(len(self.coordinates))

    def _next_point(self, here: Point) -> Point | None:
        curvature = self._squares.curvature(self.coordinates.directions())
        self.diagonal = np.maximum(self.diagonal, np.diag(curvature))
        while self.damping < MOST:
            step = self._step(here, curvature)
            if step is not None:
                there = self.evaluate_at(here.z + step)
                if (there.x == here.x).all():
                    return None
                if lowers(self, here, there):
                    self._relax(here, there, curvature)
                    return there
            self.damping, self.growth = self.damping * self.growth or FIRST, 2.0 * self.growth
        return None

    def _step(self, here: Point, curvature: np.ndarray) -> np.ndarray | None:
        """s of the components that move; None if the system has no solution."""
        moving = ~self.coordinates.pinned(here.z, here.slope)
        weights = np.maximum(self.diagonal, np.finfo(np.float64).eps * (self.diagonal.max() or 1.0))
        system = curvature + self.damping * np.diag(weights)
        step = np.zeros(len(here.z))
        step[moving] = -solved(system[np.ix_(moving, moving)], here.slope[moving])
        return step if np.isfinite(step).all() else None

    def _relax(self, here: Point, there: Point, curvature: np.ndarray) -> None:
        s = there.z - here.z
        promised = -dot(here.slope, s) - 0.5 * dot(s, curvature @ s)
        gain = (here.energy - there.energy) / promised if promised > 0.0 else 0.0
        self.damping *= max(1.0 / 3.0, 1.0 - (2.0 * min(max(gain, 0.0), 2.0) - 1.0) ** 3)
        self.damping, self.growth = self.damping * (self.damping >= LEAST), 2.0


def solved(system: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a symmetric positive definite system, by Cholesky; NaN if it is not positive definite.

    The system is scaled to a unit diagonal first, so that units do not make it look singular.
    """
    if not (np.diag(system) > 0.0).all():
        return np.full(len(right), np.nan)
    scale = np.sqrt(np.diag(system))
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.linalg.cholesky(system / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return np.full(len(right), np.nan)
    half = np.linalg.solve(factor, right / scale)
    return np.linalg.solve(factor.T, half) / scale
