"""Moves of a constrained step: drifts onto constraints, tangent velocities, the work of driven constraints.

`multipliers` (2, projections of a step, E) are those of the last two steps, from which those that the next
one begins with are extrapolated; in a heat bath, which pushes at random, the last ones are taken as they
are. They are state: from them and the fields, a resumed run computes the same bits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import storage
from ..holds import Holds
from .projections import Projections


class ConstrainedMoves:
    """The constrained moves of a step with so many projections of positions.

    work: an array of one number, to which the work of driven constraints and of supports by them is added.
    smooth: multipliers change little from step to step.
    """

    def __init__(self, projections: Projections, holds: Holds, work: Any, count: int, smooth: bool = True):
        self.projections, self.holds, self.work, self.smooth = projections, holds, work, smooth
        self.multipliers = np.zeros((2, count, projections.count))
        self.projected: list[tuple[np.ndarray, np.ndarray]] = []
        """Velocities (N,) and impulses (E,) of projections of velocities, for a tape that empties it."""
        self.recorded = False

    def drift(self, number: int, h: float, end: float, drift: Callable[[float], None]) -> None:
        """A drift of length h, the projection onto g = 0 at the time `end`, and the Jacobian there.

        Raises `UnsolvedStepError` where there is no projection, or where constraints are singular.
        """
        drift(h)
        self.holds.place(end)
        last, before = self.multipliers[:, number].copy()
        guess = 2.0 * last - before if self.smooth and before.any() else last
        found = self.projections.positions(h, end, guess)
        self.multipliers[:, number] = found, last
        self._count(self.projections.work(self.projections.impulses))
        self.projections.begin(end, loaded=True)

    def tangent(self) -> float:
        """Make velocities tangent; returns the kinetic energy that driven constraints took by it."""
        work = self.projections.work(self.velocities())
        self._count(work)
        return -work

    def velocities(self) -> np.ndarray:
        """Make velocities tangent; the impulses (E,)."""
        impulses = self.projections.velocities()
        if self.recorded:
            fields, motions = self.projections.constraints.fields, self.projections.motions
            v = [fields[m.velocity].values.reshape(-1) for m in motions]
            self.projected.append((np.concatenate(v, dtype=np.float64), impulses.copy()))
        return impulses

    def _count(self, work: float) -> None:
        if work:
            storage.store(self.work, storage.host(self.work) + work)
