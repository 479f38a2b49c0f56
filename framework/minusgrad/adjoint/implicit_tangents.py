"""Tangents of implicit steps: the derivative of a run along one direction, one linear system for each step.

    H u. = -(dF/dy y. + dF/dq q. + dF/dx x. + dF/dx_s x_s. + dF/dp p. + dF/dm m.)

at free components, with the letters of `implicit_adjoint`; then x'. = x. + reach u., v'. likewise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..engine import storage
from ..potential.potential import Potential
from ..steppers.implicit.implicit_integrator import ImplicitIntegrator
from ..steppers.implicit.stage import MOVED, V_BEFORE, A, V, combined
from ..steppers.implicit.substep_tape import SolvedStage, SubstepTape
from .backward import owner
from .implicit_adjoint import PRECISE
from .stage_parts import StageParts
from .tangents import shaped


class ImplicitTangents:
    """A run of an implicit integrator with its tangent; `tangents`: the present ones by field, in f64."""

    def __init__(self, stepper: ImplicitIntegrator, names: Sequence[str]):
        self.stepper, self.one, self.components = stepper, stepper.incremental, stepper.components
        fields = stepper.potential.fields
        moving = [n for m in stepper.motions for n in (m.position, m.velocity)]
        nodal = dict.fromkeys([*moving, *(n for n in names if n in fields)])
        self.tangents: dict[str, Any] = {n: np.zeros(fields[n].shape) for n in nodal}
        self._owners = {n: owner(stepper, n) for n in names}
        self.parameters = {n: np.zeros(p.shape(n)) for n, p in self._owners.items() if p}
        self._others = [n for n in nodal if n not in moving]
        self._known: dict[str, np.ndarray] = {}
        self._parts = StageParts(stepper)

    def start(self, direction: Mapping[str, np.ndarray]) -> None:
        """Start at the stepper's present state with these tangents; others are zero."""
        for name, array in (self.tangents | self.parameters).items():
            array[...] = shaped(name, direction.get(name), array.shape)
        x, v = self._parts.taken(self.tangents)
        self._parts.put(self.tangents, x, v)
        self._known = {name: np.zeros(len(self.components)) for name in self.stepper.scheme.keeps}
        if A in self._known:
            one, components = self.stepper, self.components
            force = self._changed(one.potential, x, v, one.time, components.positions)
            if one.dissipation:
                force += self._changed(one.dissipation, x, v, one.time, components.velocities)
            masses = components.masses(one.inertia)
            force += one.known[A] * self._weights()
            self._known[A] = np.where(components.free, -force / masses, 0.0)

    def advance(self, steps: int) -> None:
        """Advance the state and its tangent by `steps` steps."""
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
        x, v = self._parts.taken(self.tangents)
        known = {V: v, **self._known}
        y, q, seen = combined(stage.target, known), combined(stage.rest, known), x + stage.seen * v
        one.resume(solved, components.masses(self.stepper.inertia))
        force = one.inertia.product(solved.u, {"y": y, "m": self._weights()}, "u")
        solver, free = self.stepper.solver.solver, components.free
        solver.factor(self.stepper.system())
        one.place(solved.u)
        force += self._changed(self.stepper.potential, x, v, one.time, components.positions)
        if self.stepper.dissipation:
            force -= stage.rate * (one.friction_hessian(solved.u) @ q)
            one.slide(solved.u)
            none = np.zeros_like(v)
            force += self._changed(self.stepper.dissipation, seen, none, one.time, components.velocities)
        u = np.zeros(len(components))
        u[free] = -solver.solve(force[free], PRECISE)
        found = {MOVED: stage.reach * u, V_BEFORE: v, A: stage.weight * (u - y)}
        self._known = {name: np.where(free, found[name], 0.0) for name in self._known}
        self._parts.put(self.tangents, x + stage.reach * u, stage.speed * u + combined(stage.carried, known))

    def _changed(
        self, potential: Potential, x: np.ndarray, v: np.ndarray, t: float, wrt: Sequence[str]
    ) -> np.ndarray:
        """The change (N,) of dU/d(wrt) along tangents of x, v, parameters and fields that do not move."""
        fields, read, names = potential.fields, potential.reads, self.components
        nodal = names.parts(x, names.positions) | names.parts(v, names.velocities)
        nodal |= {n: self.tangents[n] for n in self._others}
        tangents: dict[str, Any] = {}
        for name, part in nodal.items():
            if name in read:
                tangents[name] = self._parts.array(f"along {name}", name)
                storage.store(tangents[name], np.asarray(part, fields[name].dtype))
        tangents |= {n: values for n, values in self.parameters.items() if self._owners[n] is potential}
        asked = {n: self._parts.array(n, n) for n in wrt if n in read}
        potential.sweep(DerivativeRequest(product=asked, tangents=tangents), t)
        parts = {
            n: asked.get(n, np.zeros(shape)) for n, shape in zip(wrt, self.components.shapes, strict=True)
        }
        return self.components.joined(parts, wrt)

    def _weights(self) -> np.ndarray:
        """The tangent of the inertia (N,) of each component."""
        found = np.zeros(len(self.components))
        parts = self.components.parts(found, self.components.positions)
        for motion in self.stepper.motions:
            if motion.inertia in self.tangents:
                part = parts[motion.position]
                by_node = self.tangents[str(motion.inertia)].reshape(-1, *[1] * (part.ndim - 1))
                part += by_node
        return found
