"""Tangents of implicit steps: derivatives of a run along some directions, one linear system for each step.

    H u. = -(dF/dy y. + dF/dq q. + dF/dx x. + dF/dx_s x_s. + dF/dp p. + dF/dm m.)

at free components, with the letters of `implicit_adjoint`; then x'. = x. + reach u., v'. likewise. All
directions share the run, its matrices and their factors: vectors here are (K, N), a row for each direction.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..engine import storage
from ..potential.potential import Potential
from ..steppers.implicit.implicit_integrator import ImplicitIntegrator
from ..steppers.implicit.inertia import Inertia
from ..steppers.implicit.stage import MOVED, V_BEFORE, A, V, combined
from ..steppers.implicit.substep_tape import SolvedStage, SubstepTape
from .backward import owner
from .implicit_adjoint import PRECISE
from .stage_parts import StageParts
from .tangents import shaped

VECTORS = 24
"""The vectors (N,) in double precision that a direction needs at most, without those of parameters."""


class ImplicitTangents:
    """A run of an implicit integrator with its tangents along some directions.

    `along`: the present ones of each direction, by field, in f64.
    """

    def __init__(self, stepper: ImplicitIntegrator, names: Sequence[str]):
        self.stepper, self.one, self.components = stepper, stepper.incremental, stepper.components
        fields = stepper.potential.fields
        moving = [n for m in stepper.motions for n in (m.position, m.velocity)]
        self._owners = {n: owner(stepper, n) for n in names}
        nodal = dict.fromkeys([*moving, *(n for n in names if n in fields)])
        self._shapes = {n: fields[n].shape for n in nodal}
        self._others = [n for n in nodal if n not in moving]
        self._inertia, self.along = stepper.incremental.inertia, list[dict[str, np.ndarray]]()
        self._parameters: list[dict[str, np.ndarray]] = []
        self._known: dict[str, np.ndarray] = {}
        self._parts = StageParts(stepper)

    @property
    def size(self) -> int:
        """Bytes for each direction."""
        return 8 * (VECTORS * len(self.components) + sum(int(np.prod(s)) for s in self._shapes.values()))

    def start(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Start at the stepper's present state with tangents for each direction; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        if len(directions) != len(self.along):
            self._inertia = Inertia(len(directions) * len(self.components))
        self.along = [{n: shaped(n, d.get(n), s).copy() for n, s in self._shapes.items()} for d in directions]
        self._parameters = [
            {n: shaped(n, d.get(n), p.shape(n)) for n, p in self._owners.items() if p} for d in directions
        ]
        x, v = self._taken()
        self._put(x, v)
        self._known = {name: np.zeros_like(x) for name in self.stepper.scheme.keeps}
        if A in self._known:
            one, components = self.stepper, self.components
            force = self._changed(one.potential, x, v, one.time, components.positions)
            if one.dissipation:
                force += self._changed(one.dissipation, x, v, one.time, components.velocities)
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
        solver.factor(self.stepper.system())
        one.place(solved.u)
        force += self._changed(self.stepper.potential, x, v, one.time, components.positions)
        if self.stepper.dissipation:
            force -= stage.rate * (one.friction_hessian(solved.u) @ q.T).T
            one.slide(solved.u)
            none = np.zeros_like(v)
            force += self._changed(self.stepper.dissipation, seen, none, one.time, components.velocities)
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

    def _changed(
        self, potential: Potential, x: np.ndarray, v: np.ndarray, t: float, wrt: Sequence[str]
    ) -> np.ndarray:
        """The changes (K, N) of dU/d(wrt) along tangents of x, v, parameters and fields that do not move."""
        return np.stack([self._changed_along(k, potential, x[k], v[k], t, wrt) for k in range(len(x))])

    def _changed_along(
        self, k: int, potential: Potential, x: np.ndarray, v: np.ndarray, t: float, wrt: Sequence[str]
    ) -> np.ndarray:
        fields, read, names = potential.fields, potential.reads, self.components
        nodal = names.parts(x, names.positions) | names.parts(v, names.velocities)
        nodal |= {n: self.along[k][n] for n in self._others}
        tangents: dict[str, Any] = {}
        for name, part in nodal.items():
            if name in read:
                tangents[name] = self._parts.array(f"along {name}", name)
                storage.store(tangents[name], np.asarray(part, fields[name].dtype))
        tangents |= {n: values for n, values in self._parameters[k].items() if self._owners[n] is potential}
        asked = {n: self._parts.array(n, n) for n in wrt if n in read}
        potential.sweep(DerivativeRequest(product=asked, tangents=tangents), t)
        parts = {
            n: asked.get(n, np.zeros(shape)) for n, shape in zip(wrt, self.components.shapes, strict=True)
        }
        return self.components.joined(parts, wrt)

    def _taken(self) -> tuple[np.ndarray, np.ndarray]:
        """The tangents of positions and of velocities (K, N), zero at held components."""
        pairs = [self._parts.taken(one) for one in self.along]
        x, v = zip(*pairs, strict=True)
        return np.stack(x), np.stack(v)

    def _put(self, x: np.ndarray, v: np.ndarray) -> None:
        for one, of_x, of_v in zip(self.along, x, v, strict=True):
            self._parts.put(one, of_x, of_v)

    def _weights(self) -> np.ndarray:
        """The tangents of the inertia (K, N) of each component."""
        found = np.zeros((len(self.along), len(self.components)))
        for one, row in zip(self.along, found, strict=True):
            parts = self.components.parts(row, self.components.positions)
            for motion in self.stepper.motions:
                if motion.inertia in one:
                    part = parts[motion.position]
                    part += one[str(motion.inertia)].reshape(-1, *[1] * (part.ndim - 1))
        return found
