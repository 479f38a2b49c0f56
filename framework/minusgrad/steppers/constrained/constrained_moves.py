"""Moves of a constrained step: drifts onto constraints, tangent velocities, the work of driven constraints.

`multipliers` (projections of a step, E) are those of the last step, with which the next one begins. They are
state: from them and the fields, a resumed run computes the same bits.
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
    """

    def __init__(self, projections: Projections, holds: Holds, work: Any, count: int):
        self.projections, self.holds, self.work = projections, holds, work
        self.multipliers = np.zeros((count, projections.count))
        self.projected: list[tuple[np.ndarray, np.ndarray]] = []
        """Velocities (N,) and impulses (E,) of projections of velocities, for a tape that empties it."""
        self.recorded = False

    def drift(self, number: int, h: float, end: float, drift: Callable[[float], None]) -> None:
        """A drift of length h, the projection onto g = 0 at the time `end`, and the Jacobian there.

        Raises `UnsolvedStepError` where there is no projection, or where constraints are singular.
        """
        drift(h)
        self.holds.place(end)
        self.multipliers[number] = self.projections.positions(h, end, self.multipliers[number])
        self._count(self.projections.work(self.projections.impulses))
        self.projections.begin(end)

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
