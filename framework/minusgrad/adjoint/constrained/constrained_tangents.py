"""Tangents of constrained steps: derivatives of a run along some directions, which share its factors.

Projections are those of `projection_tangents`, kicks and friction those of `tangents`. Vectors here are
(K, N), a row for each direction.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...potential.potential import Potential
from ...steppers.constrained.move_tape import MoveTape, TakenMove
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
from .projection_tangents import ProjectionTangents


class ConstrainedTangents(ProjectionTangents):
    """A run of a constrained integrator with its tangents along some directions; `along`: the present ones.

    start: the projections of the start of the present run.
    """

    stepper: Integrator

    def __init__(self, stepper: Integrator, names: Sequence[str], start: Sequence[TakenMove]):
        super().__init__(stepper, ConstraintPlaces(stepper), names)
        self._start = start
        self._recorded: Integrator | None = None
        self._pull = self._force = np.zeros(0)

    def start(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Take a direction's tangents of the start before it was projected; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        self._begin(directions)
        self.places.weigh()
        after = self.stepper.memory()
        moved, turned = self._start
        x, v = self.begun(moved, turned)
        self._evaluate(turned.x, turned.time, x, v)
        self._put(x, v)
        self._arrive(moved.time)
        self.stepper.recall(after)

    def advance(self, steps: int) -> None:
        """Advance the state and its tangents by `steps` steps."""
        one = self.stepper
        if self._recorded is None:
            self._recorded = one.with_tape(MoveTape())
        recorded = self._recorded
        tape = recorded.move_tape
        assert tape
        recorded.clock = one.clock
        for _ in range(steps):
            step = one.step
            recorded.recall(one.memory())
            recorded.advance(1)
            after = recorded.memory()
            self._step(tape.steps.pop(step))
            one.recall(after)
        self._arrive(one.time)

    def _step(self, moves: Sequence[TakenMove]) -> None:
        x, v = self._placed(*self._taken(), moves[0].begun)
        rules: Mapping[type[Move], Callable[..., tuple[np.ndarray, np.ndarray]]] = {
            HalfFriction: self._half_friction,
            Kick: lambda taken, x, v: (x, v - taken.h * self._acceleration(self._pull, self._force)),
            ConstrainedDrift: self._drifted,
            TangentProjection: lambda taken, x, v: (x, self._projected(taken, x, v)),
            Forces: lambda taken, x, v: self._evaluate(taken.x, taken.time, x, v),
        }
        for taken in moves:
            x, v = rule(rules, taken.move, "tangent")(taken, x, v)
        self._put(x, v)

    # The moves of a step

    def _evaluate(
        self, at: np.ndarray, t: float, x: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The force (N,) and its changes (K, N) at positions (N,); x and v as they are."""
        self.places.at(at)
        potential, names = self.stepper.potential, self.components.positions
        self._pull = self._changed(potential, x, v, t, names)
        self._force = self._slope(potential, names, t)
        return x, v

    def _half_friction(self, taken: TakenMove, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.stepper.dissipation is None:
            return x, v
        middle, end = taken.inner
        slow = v - 0.5 * taken.h * self._slowed(taken, taken.before, x, v)
        slow = self._projected(middle, x, slow)
        last = v - taken.h * self._slowed(taken, middle.v, x, slow)
        return x, self._projected(end, x, last)

    def _slowed(self, taken: TakenMove, at: np.ndarray, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The changes (K, N) of W dR/dv at velocities (N,)."""
        losing, names = self.stepper.dissipation, self.components.velocities
        assert losing
        self.places.at(taken.x)
        self.places.put(at, names)
        change = self._changed(losing, x, v, taken.time, names)
        return self._acceleration(change, self._slope(losing, names, taken.time))

    def _slope(self, potential: Potential, names: Sequence[str], t: float) -> np.ndarray:
        """dU/dx or dR/dv (N,) at the present fields."""
        arrays = {n: self._parts.array(f"force {n}", n) for n in names}
        potential.gradient_into({n: a for n, a in arrays.items() if n in potential.reads}, t)
        return self.components.joined(arrays, names)
