"""The optimality criteria method: a fixed-point step to the minimum under one constraint, such as a volume.

    z <- the nearest point within the bounds and |dz| <= move to   z (-p / (lambda q))^(1/2)
    lambda such that g = 0,      p = dU/dz,      q = dg/dz > 0

At a minimum of U under g <= 0 every component between its bounds has -p = lambda q. g falls as lambda grows,
which is found by bisection. Where even the smallest lambda leaves g below 0, the constraint is not active.
(Bendsoe & Sigmund 2003, Topology Optimization, section 1.2.1; Andreassen et al. 2011, Struct. Multidisc.
Optim. 43, 1.)

It is for U that falls with every z, and g that rises: p > 0 counts as zero.

Decisions 0386.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import EnergyError
from .minimiser import WITHOUT_SEARCH, Minimiser, Point
from .objective import Constrained
from .outcomes import NO_TOLERANCES, Tolerances
from .unknowns import Unknown, positive

CLOSE, ABOVE, BELOW = 1e-12, 1e8, 1e-40
"""The relative width of the bracket of lambda at the end; where it begins, relative to the largest -p / q."""


class OptimalityCriteria(Minimiser):
    """Optimality criteria for an objective with a constraint; `move`: the largest |dz| of a step."""

    consumer = WITHOUT_SEARCH

    def __init__(
        self,
        objective: Constrained,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        move: float = 0.2,
        **options: Any,
    ):
        super().__init__(objective, unknowns, tolerances, **options)
        self._constrained, self.move = objective, positive("move", move)
        self._refuse(self._rises())

    def _next_point(self, here: Point) -> Point | None:
        rises = self._rises()
        self._refuse(rises)
        ratio = np.maximum(-here.slope, 0.0) / rises
        if not ratio.any():
            return None
        ratio /= ratio.max()
        low, high = BELOW, ABOVE
        while high > (1.0 + CLOSE) * low:
            middle = math.sqrt(low * high)
            self.coordinates.write(self._moved(here, ratio / middle))
            low, high = (low, middle) if self._constrained.constraint() <= 0.0 else (middle, high)
        step = self._moved(here, ratio / high)
        return self.finite_at(here, step, "a smaller move")

    def _moved(self, here: Point, square: np.ndarray) -> np.ndarray:
        """The step of one lambda, within the bounds and the move limit."""
        lower = np.maximum(here.z - self.move, self.coordinates.lower)
        upper = np.minimum(here.z + self.move, self.coordinates.upper)
        return np.clip(here.z * np.sqrt(square), lower, upper)

    def _rises(self) -> np.ndarray:
        """q (N,)."""
        return self.coordinates.slope(self._constrained.constraint_slopes())

    @staticmethod
    def _refuse(rises: np.ndarray) -> None:
        if not (rises > 0.0).all():
            raise EnergyError(
                "optimality_criteria: its constraint must rise with every unknown, and does not with"
                f" {int(np.count_nonzero(rises <= 0.0)):,} of {len(rises):,}; leave those out"
            )
