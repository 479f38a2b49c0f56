"""Newton's method for one implicit step, to the rounding of its forces.

A search begins at the free motion, or where the nodes are, whichever has the lower incremental potential. It
ends where the distance to the minimum is below rounding. After a step d of Newton's method, d' = -H^-1 p with
the factors at hand is that distance, up to a part theta = |d'| / |d| of it:

    theta |d'| <= ROUNDED eps max |u|            then d' is the last correction

Forces p above |H| |d'| of any such d' say so without a solution.

A saddle that the search has reached, as that of a bar pressed without a flaw, solves the equation of the step
and is taken. Near the minimum the decrease of Phi drowns in its rounding; there steps are taken whole. The
search begins at numbers of the saved state alone and keeps nothing from step to step, so that resumed runs
have the same bits.

Decisions 0372.
"""

import math
from collections.abc import Sequence

import numpy as np

from ...errors import NonFiniteError, RunFailedError, UnsolvedStepError
from ...solvers.sparse_system import SparseSystem
from ..minimisers.line_search import search
from ..minimisers.minimiser import Point, dot
from ..minimisers.newton import ACCURATE, Newton
from ..minimisers.soft_motions import SoftMotion, soft_motions
from ..minimisers.unknowns import Unknown
from .incremental_potential import IncrementalPotential

MOST = 60
"""The most iterations of a step."""
ROUNDED = 4.0
"""The distance to the minimum, in roundings of the displacement, from which on a step is solved."""
NOISE = 10.0
"""Decreases of so many roundings of Phi are taken without a look at Phi."""
WHOLE = 64.0
"""Steps of so many roundings of the positions are taken without a look at Phi, too."""
STIFFER = 16.0
"""How much stiffer a body may have become by an iteration."""
FLOOR = 1e3
"""Corrections of so many roundings of the positions may be noise of the forces."""


class StepSolver(Newton):
    """Newton's method for an incremental potential. `iterations`: how many there were so far."""

    def __init__(self, objective: IncrementalPotential, solver: str):
        names = objective.components.positions
        masks = dict(zip(names, _masks(objective), strict=True))
        self.incremental, self._projected = objective, False
        self._last: SparseSystem | None = None
        super().__init__(objective, [Unknown(name) for name in names], free=masks, solver=solver)
        self._eps = float(np.finfo(objective.potential.fields.dtype).eps)

    @property
    def iterations(self) -> int:
        return self.step

    def solve(self) -> np.ndarray:
        """The displacements u (N,) of the step. Raises `UnsolvedStepError` where it finds none."""
        try:
            self._begin()
            for _ in range(MOST):
                if self._status().residual == 0.0 or self._iterated():
                    return self.incremental.displacement
        except NonFiniteError as error:
            raise UnsolvedStepError(str(error)) from error
        raise UnsolvedStepError(f"Newton's method does not converge in {MOST} iterations")

    def _begin(self) -> None:
        """Go to the start: the free motion, or no displacement, whichever has the lower Phi."""
        free = self.incremental.components.free
        none, moved = np.zeros(int(free.sum())), self.incremental.y[free]
        self._refuse_passing()
        found = [self.evaluate_at(none)]
        found.append(self.evaluate_at(self.free_length(found[0], moved, 1.0) * moved))
        if not any(point.finite for point in found):
            raise UnsolvedStepError(f"no start is within the domain of U: {self._nonfinite()}")
        best = min(found, key=lambda point: point.energy if point.finite else np.inf)
        if best is not found[-1]:
            self.return_to(best)
        self._energy, self.change, self.exhausted, self._noisy = best.energy, np.inf, False, np.inf
        self._noise = NOISE * self.rounding()
        self.mark()

    def _refuse_passing(self) -> None:
        """Raise `UnsolvedStepError` where supports alone pass a barrier in this step."""
        one = self.incremental
        if one.barriers and one.u.any() and one.free_way(np.zeros_like(one.u), one.u) < 1.0:
            raise UnsolvedStepError(f"supports move through '{one.barriers[0]}' within the step")

    def _iterated(self) -> bool:
        """An iteration; True if the step is solved then."""
        self.advance(1)
        if self.exhausted:
            if self._reach <= FLOOR * self._eps * self._extent:
                return True
            raise UnsolvedStepError("Newton's method finds no lower point")
        here, saddle = self._here(), self._projected
        size = max(np.abs(here.z).max(), np.abs(self.incremental.y).max())
        near = not saddle and self.change <= FLOOR * self._eps * self._extent
        least = ROUNDED * self._eps * size
        last = WHOLE * self._eps * self._extent if saddle else math.sqrt(least * self.change)
        if not near and self._is_beyond(last, here):
            return False
        try:
            if saddle:
                self.solver.factor(self.linear_system())
            correction = -self.solver.solve(here.slope, ACCURATE)
        except RunFailedError:  # iterations that do not converge
            return False
        distance = float(np.abs(correction).max())
        if saddle and distance > WHOLE * self._eps * self._extent:
            return False
        closer = distance / (self.change or 1.0)
        if saddle or (closer < 0.5 and closer * distance <= least):
            self._correct(here, correction)
            return True
        stands, self._noisy = distance >= 0.5 * self._noisy, distance
        return bool(near and stands)

    def _is_beyond(self, reach: float, here: Point) -> bool:
        """True if forces are larger than any correction up to `reach` could have."""
        assert self._last is not None
        largest = float(abs(self._last.matrix).sum(axis=1).max())
        return float(np.abs(here.slope).max()) > STIFFER * largest * reach

    def _correct(self, here: Point, correction: np.ndarray) -> None:
        """The last correction, where it leads to a finite Phi."""
        passes = self.free_length(here, correction, 1.0) < 1.0
        if passes or not self.evaluate_at(here.z + correction).finite:
            self.return_to(here)

    @property
    def _extent(self) -> float:
        """The largest coordinate: positions are rounded to a part eps of it."""
        return float(np.abs(self.incremental.x).max()) + float(np.abs(self.incremental.y).max())

    # Newton's method for a step

    def _next_point(self, here: Point) -> Point | None:
        self._reach = np.inf
        for direction in self._directions(here):
            reach = float(np.abs(direction).max())
            self._reach = min(self._reach, reach)
            if -dot(here.slope, direction) <= self._noise or reach <= WHOLE * self._eps * self._extent:
                length = self.free_length(here, direction, 1.0)
                if (whole := self.evaluate_at(here.z + length * direction)).finite:
                    return whole
            elif (there := search(self, here, direction, 1.0)) is not None:
                return there
            self.return_to(here)
        return None

    def rounding(self) -> float:
        return self._eps * self.objective.magnitude(self.t)

    def _linear_system(self, motions: Sequence[SoftMotion], project: str | None) -> SparseSystem:
        self._projected = project is not None
        self._last = super()._linear_system(motions, project)
        return self._last

    def linear_system(self) -> SparseSystem:
        """The Hessian as it is, where the incremental potential is."""
        return self._linear_system(self._soft_motions(), None)

    def _soft_motions(self) -> list[SoftMotion]:
        """Those of the positions, and not of the displacements."""
        return soft_motions([self.incremental.potential.fields[f.name] for f in self.moving])

    def _resisted(self, here: Point, moving: np.ndarray, *_: object) -> np.ndarray:
        """All: inertia resists every motion."""
        return moving


def _masks(objective: IncrementalPotential) -> list[np.ndarray]:
    components = objective.components
    return [part.astype(bool) for part in components.parts(components.free, components.positions).values()]
