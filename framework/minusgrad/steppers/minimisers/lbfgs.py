"""L-BFGS: the limited-memory quasi-Newton method.

    d = -H g,    H begins as (s.y / y.y) of the newest pair; each pair, from the oldest on, updates it by

    H <- (1 - s y' / s.y) H (1 - y s' / s.y) + s s' / s.y,        s = z_new - z,  y = g_new - g

by the two-loop recursion (Nocedal 1980, Math. Comput. 35, 773); the step along d is that of `line_search`.

Bounds: components at a bound that U pushes beyond it are left out of H and follow their own slope, so that
they stay there; trial points are projected (two-metric projection: Bertsekas 1982, SIAM J. Control Optim. 20,
221).

Decisions 0360.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import EnergyError
from ..systems.system import System
from .line_search import search
from .minimiser import Minimiser, Point, dot, largest
from .objective import Objective
from .outcomes import NO_TOLERANCES, Tolerances
from .unknowns import Unknown, positive

Pair = tuple[np.ndarray, np.ndarray, float]
"""s, y and s.y."""


class LBFGS(Minimiser):
    """L-BFGS; `memory`: how many pairs; `first`: the largest |dz| of the first trial.

    Raises `EnergyError` for a memory of less than one pair, and as `Minimiser` does.
    """

    kept = ("pairs", "s", "y")

    def __init__(
        self,
        objective: System | Objective,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        memory: int = 10,
        first: float = 0.1,
        **options: Any,
    ):
        super().__init__(objective, unknowns, tolerances, **options)
        if memory < 1:
            raise EnergyError(f"memory: L-BFGS needs at least 1 pair, got {memory}")
        self.first, self.pairs = positive("first", first), 0
        self.s = np.zeros((memory, len(self.coordinates)))
        self.y = np.zeros_like(self.s)

    @property
    def memory(self) -> int:
        """How many pairs are kept."""
        return len(self.s)

    def _forget(self) -> None:
        self.pairs = 0

    def _next_point(self, here: Point) -> Point | None:
        there = search(self, here, self.tangent(self._direction(here)), 1.0)
        if there is None and self.pairs:
            self.pairs = 0  # the stored pairs gave a bad direction: start again with the gradient
            there = search(self, here, self.tangent(self._direction(here)), 1.0)
        if there is not None:
            self._remember(there.z - here.z, there.slope - here.slope)
        return there

    def _remember(self, s: np.ndarray, y: np.ndarray) -> None:
        if _curved(s, y):
            self.s[self.pairs % self.memory] = s
            self.y[self.pairs % self.memory] = y
            self.pairs += 1

    def _direction(self, here: Point) -> np.ndarray:
        pinned = self.coordinates.pinned(here.z, here.slope)
        pairs = self._restricted_to(~pinned)
        r = np.where(pinned, 0.0, here.slope)
        if not pairs:
            return -self.first / largest(r) * here.slope
        parts = []
        for s, y, sy in reversed(pairs):
            parts.append(dot(s, r) / sy)
            r = r - parts[-1] * y
        _, y, sy = pairs[-1]
        shrink = sy / dot(y, y)
        r = shrink * r
        for (s, y, sy), part in zip(pairs, reversed(parts), strict=True):
            r = r + (part - dot(y, r) / sy) * s
        return -np.where(pinned, shrink * here.slope, r)

    def _restricted_to(self, moving: np.ndarray) -> list[Pair]:
        """The pairs, oldest first, restricted to the moving components; without pairs of zero curvature."""
        rows = [k % self.memory for k in range(max(self.pairs - self.memory, 0), self.pairs)]
        pairs = [(self.s[k], self.y[k]) for k in rows]
        if not moving.all():
            pairs = [(s * moving, y * moving) for s, y in pairs]
            pairs = [(s, y) for s, y in pairs if _curved(s, y)]
        return [(s, y, dot(s, y)) for s, y in pairs]


def _curved(s: np.ndarray, y: np.ndarray) -> bool:
    """True if s.y is positive beyond rounding."""
    return bool(curved(dot(s, y), dot(s, s), dot(y, y)))


def curved(sy: Any, ss: Any, yy: Any) -> Any:
    """True if s.y is positive beyond rounding, and y.y does not underflow; numbers, or arrays of them."""
    limits = np.finfo(np.float64)
    return (yy >= limits.tiny) & (sy > limits.eps * np.sqrt(ss * yy))
