"""Adjoint of constrained steps: the transposes of their moves, in the opposite order.

Drifts onto constraints and projections of velocities are those of `projection_adjoint`; kicks and friction
are those of `backward`, friction with the two projections within it. Steps that were divided are followed
substep by substep. The start is projected like a drift of h = 1 from rest, then its velocities.

Decisions 0392.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...potential.potential import Potential
from ...steppers.constrained.move_tape import TakenMove
from ...steppers.integrator import Integrator
from ...steppers.step_sequence import (
    ConstrainedDrift,
    Forces,
    HalfFriction,
    Kick,
    Move,
    TangentProjection,
    rule,
)
from .constraint_places import ConstraintPlaces
from .projection_adjoint import ProjectionAdjoint


class ConstrainedAdjoint(ProjectionAdjoint):
    """The adjoint of the steps on the tape of a constrained integrator.

    `adjoints` and `parameters` as of `Backward`, in double precision; start: the projections of the start.
    """

    stepper: Integrator

    def __init__(self, stepper: Integrator, names: Sequence[str], start: Sequence[TakenMove]):
        assert stepper.move_tape
        self.tape, self.start = stepper.move_tape, start
        super().__init__(stepper, ConstraintPlaces(stepper), names)
        self._kicked = np.zeros(len(self.components))

    def clear(self) -> None:
        super().clear()
        self._kicked.fill(0.0)
        self.places.weigh()

    def back(self, last: int, steps: int) -> None:
        rules: Mapping[type[Move], Callable[[TakenMove], None]] = {
            HalfFriction: self._half_friction,
            Kick: self._kick,
            ConstrainedDrift: self._drift,
            TangentProjection: self._tangent,
            Forces: lambda taken: self._forces(taken.x, taken.time),
        }
        self._leave(last)
        for step in reversed(range(last - steps, last)):
            for taken in reversed(self.tape.steps[step]):
                rule(rules, taken.move, "adjoint")(taken)

    def finish(self) -> None:
        """The kicks at the start, and the projections onto it."""
        self._forces(self.tape.start, self.stepper.times(0))
        self.begun(*self.start)

    # The moves of a step

    def _kick(self, taken: TakenMove) -> None:
        _, v = self._parts.taken(self.adjoints)
        self._kicked += taken.h * self.places.weights * v

    def _forces(self, x: np.ndarray, t: float) -> None:
        """The transposes of the kicks by the forces at positions x (N,)."""
        self.places.at(x)
        potential, names = self.stepper.potential, self.components.positions
        lx, lv = self._parts.taken(self.adjoints)
        lx += self._product(potential, self._along(potential, names, self._kicked), t, names, -1.0)
        if self._heavy:
            self._weigh(self._kicked * self._force(potential, names, t) / self.places.masses)
        self._parts.put(self.adjoints, lx, lv)
        self._kicked.fill(0.0)

    def _drift(self, taken: TakenMove) -> None:
        self._parts.put(self.adjoints, *self._drifted(taken, *self._parts.taken(self.adjoints)))

    def _half_friction(self, taken: TakenMove) -> None:
        """Friction by the explicit midpoint rule, tangent velocities at its middle and its end."""
        if self.stepper.dissipation is None:
            return
        middle, end = taken.inner
        lx, lv = self._projected(end, *self._parts.taken(self.adjoints))
        x, n = self._slowed(taken, middle.v, taken.h * self.places.weights * lv)
        lx, n = self._projected(middle, lx + x, n)
        x, rest = self._slowed(taken, taken.before, 0.5 * taken.h * self.places.weights * n)
        self._parts.put(self.adjoints, lx + x, lv + n + rest)

    def _slowed(self, taken: TakenMove, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-R_xv u and -R_vv u at velocities v (N,)."""
        losing, components = self.stepper.dissipation, self.components
        assert losing
        self.places.at(taken.x)
        self.places.put(v, components.velocities)
        along = self._along(losing, components.velocities, u)
        of_v = self._product(losing, along, taken.time, components.velocities, -1.0)
        of_x = -self._again(losing, components.positions)
        if self._heavy:
            self._weigh(u * self._force(losing, components.velocities, taken.time) / self.places.masses)
        return of_x, of_v

    def _force(self, potential: Potential, names: Sequence[str], t: float) -> np.ndarray:
        """dU/dx or dR/dv (N,) at the present fields."""
        arrays = {n: self._parts.array(f"force {n}", n) for n in names}
        potential.gradient_into({n: a for n, a in arrays.items() if n in potential.reads}, t)
        return self.components.joined(arrays, names)
