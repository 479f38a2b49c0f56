"""Tangents of implicit steps: derivatives of a run along some directions, one linear system for each step.

    H u. = -(dF/dy y. + dF/dq q. + dF/dx x. + dF/dx_s x_s. + dF/dp p. + dF/dm m.)

at free components, with the letters of `implicit_adjoint`; then x'. = x. + reach u., v'. likewise. All
directions share the run, its matrices and their factors: vectors here are (K, N), a row for each direction.

Decisions 0391.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...steppers.implicit.implicit_integrator import ImplicitIntegrator
from ...steppers.implicit.inertia import Inertia
from ...steppers.implicit.stage import MOVED, V_BEFORE, A, V, combined
from ...steppers.implicit.substep_tape import SolvedStage, SubstepTape
from ..components.component_tangents import ComponentTangents
from .implicit_adjoint import PRECISE, refuse_moved_lag


class ImplicitTangents(ComponentTangents):
    """A run of an implicit integrator with its tangents along some directions.

    `along`: the present ones of each direction, by field, in f64.
    """

    stepper: ImplicitIntegrator

    def __init__(self, stepper: ImplicitIntegrator, names: Sequence[str]):
        super().__init__(stepper, stepper.components, names)
        self.one, self._inertia = stepper.incremental, stepper.incremental.inertia
        refuse_moved_lag(self.one, self._supports)
        self._known: dict[str, np.ndarray] = {}

    def start(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Start at the stepper's present state with tangents for each direction; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        if len(directions) != len(self.along):
            self._inertia = Inertia(len(directions) * len(self.components))
        self._begin(directions)
        x, v = self._taken()
        self._arrive(self.stepper.time)
        self._known = {name: np.zeros_like(x) for name in self.stepper.scheme.keeps}
        if A in self._known:
            one, components = self.stepper, self.components
            of_x, of_v = self._moved(one.time)
            force = self._changed(one.potential, x + of_x, v + of_v, one.time, components.positions)
            if one.dissipation:
                force += self._changed(one.dissipation, x + of_x, v + of_v, one.time, components.velocities)
            masses = components.masses(one.inertia)
            force += one.known[A] * self._weights()
            self._known[A] = np.where(components.free, -force / masses, 0.0)

    def advance(self, steps: int) -> None:
        """Advance the state and its tangents by `steps` steps."""
        one, before = self.stepper, self.stepper.tape
        one.tape = tape = SubstepTape()
        try:
            for _ in range(steps):
                step = one.step
                one.advance(1)
                after = one.memory()
                for solved in tape.stages.pop(step):
                    self._stage(solved)
                one.recall(after)
            self._arrive(one.time)
        finally:
            one.tape = before

    def _stage(self, solved: SolvedStage) -> None:
        one, components, stage = self.one, self.components, solved.stage
        x, v = self._taken()
        known = {V: v, **self._known}
        y, q, seen = combined(stage.target, known), combined(stage.rest, known), x + stage.seen * v
        masses = components.masses(self.stepper.inertia)
        one.resume(solved, masses)
        force = self._inertial(solved, masses, y)
        solver, free = self.stepper.solver.solver, components.free
        solver.factor(self.stepper.linear_system())
        one.place(solved.u)
        of_x, of_v = self._moved(one.time)
        force += self._changed(self.stepper.potential, x + of_x, v, one.time, components.positions)
        if self.stepper.dissipation:
            force -= stage.rate * (one.friction_hessian(solved.u) @ q.T).T
            one.slide(solved.u)
            force += self._changed(
                self.stepper.dissipation, seen + of_x, of_v, one.time, components.velocities
            )
        u = np.zeros_like(x)
        u[:, free] = -solver.solve_each(force[:, free], PRECISE)
        found = {MOVED: stage.reach * u, V_BEFORE: v, A: stage.weight * (u - y)}
        self._known = {name: np.where(free, found[name], 0.0) for name in self._known}
        self._put(x + stage.reach * u, stage.speed * u + combined(stage.carried, known))

    def _inertial(self, solved: SolvedStage, masses: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The changes of the force of inertia along tangents of y and of the inertia."""
        count, inertia = len(y), self._inertia
        inertia.set(np.tile(solved.y, count), np.tile(masses, count), solved.stage.weight)
        along = {"y": y.ravel(), "m": self._weights().ravel()}
        return inertia.product(np.tile(solved.u, count), along, "u").reshape(y.shape)
