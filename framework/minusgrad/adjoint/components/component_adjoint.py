"""Adjoints of a run as vectors over all moving components (N,), in double precision.

Implicit and constrained steps share them: where derivatives go that a step finds by components, and products
with second derivatives of an energy.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...potential.potential import Potential
from ...steppers.implicit.moving_components import MovingComponents
from ...steppers.stepper import DifferentiableStepper
from ..backward import RunAdjoint, felt, owner, rows_of
from ..supports.support_derivatives import SupportDerivatives
from .stage_parts import StageParts


class ComponentAdjoint(RunAdjoint):
    """The adjoints of a stepper's fields and parameters; `adjoints` and `parameters` as of `Backward`."""

    def __init__(self, stepper: DifferentiableStepper, components: MovingComponents, names: Sequence[str]):
        self.stepper, self.components = stepper, components
        fields = stepper.potential.fields
        self._owners = {n: owner(stepper, n) for n in names}
        moving = [n for m in stepper.motions for n in (m.position, m.velocity)]
        nodal = list(dict.fromkeys([*moving, *(n for n in names if n in fields)]))
        self.adjoints = {n: np.zeros(fields[n].shape) for n in nodal}
        owned = ((n, p) for n, p in self._owners.items() if isinstance(p, Potential))
        self.parameters = {n: rows_of(p, n) for n, p in owned}
        self.supports = SupportDerivatives.of(stepper.holds, names)
        self._others = [n for n in nodal if n not in moving]
        self._heavy = [m for m in stepper.motions if m.inertia in self._others]
        self._parts = StageParts(components, fields)

    def found(self, name: str) -> np.ndarray:
        found = super().found(name)
        return found.astype(self.stepper.potential.fields.dtype) if name in self.adjoints else found

    def _leave(self, step: int) -> None:
        """Pass to supports the adjoints that a loss gives to held components of the state at a step."""
        if self.supports:
            self.supports.pull(float(self.stepper.times(step)), self.adjoints)
            self._parts.put(self.adjoints, *self._parts.taken(self.adjoints))

    def _owned(self, potential: Potential, moved: set[str]) -> list[str]:
        """The parameters of a potential, in terms that read moving fields."""
        terms = felt(potential, moved)
        return [n for n, p in self._owners.items() if p is potential and n.partition(".")[0] in terms]

    def _along(self, potential: Potential, names: Sequence[str], z: np.ndarray) -> dict[str, np.ndarray]:
        """Tangents z (N,) of those of some fields that an energy reads, as arrays for kernels."""
        fields, read = potential.fields, potential.reads
        tangents = {n: self._parts.array(f"along {n}", n) for n in names if n in read}
        for name, part in self.components.parts(z, names).items():
            if name in tangents:
                storage.store(tangents[name], part.astype(fields[name].dtype))
        return tangents

    def _pulled(
        self, potential: Potential, along: Sequence[str], z: np.ndarray, t: float, wrt: Sequence[str]
    ) -> np.ndarray:
        """Second derivatives of U or R times z, which is along some fields: those by the fields `wrt` (N,).

        Those by parameters and by fields that do not move are subtracted from their adjoints.
        """
        return -self._product(potential, self._along(potential, along, z), t, wrt, -1.0)

    def _product(
        self, potential: Potential, tangents: Mapping[str, object], t: float, wrt: Sequence[str], sign: float
    ) -> np.ndarray:
        """`sign` times the product along tangents: the parts by the fields `wrt` (N,).

        Those by parameters and by fields that do not move are added to their adjoints.
        """
        read = potential.reads
        moving = [*self.components.positions, *self.components.velocities]
        asked = {n: self._parts.array(n, n) for n in (*self._others, *moving) if n in read}
        changes = self._owned(potential, {n for n in tangents if n in read})
        found = potential.sweep(DerivativeRequest(product=asked, changes=changes, tangents=dict(tangents)), t)
        if self.supports:
            self.supports.pull(t, {n: sign * storage.host(asked[n]) for n in moving if n in asked})
        self._add({n: storage.host(asked[n]) for n in self._others if n in asked}, found.changes, sign)
        return sign * self._again(potential, wrt)

    def _add(
        self, by_field: Mapping[str, np.ndarray], by_parameter: Mapping[str, np.ndarray], sign: float
    ) -> None:
        """Add derivatives, times `sign`, to the adjoints of fields that do not move and of parameters."""
        for name, values in by_field.items():
            self.adjoints[name] += sign * values
        for name, values in by_parameter.items():
            array = self.parameters[name]
            storage.store(array, storage.host(array) + sign * values.reshape(tuple(array.shape)))

    def _again(self, potential: Potential, wrt: Sequence[str]) -> np.ndarray:
        """The parts by other fields (N,) of the last products, zero at held components."""
        if not wrt:
            return np.zeros(len(self.components))
        zeros = {n: np.zeros(s) for n, s in zip(wrt, self.components.shapes, strict=True)}
        parts = {n: self._parts.array(n, n) if n in potential.reads else zeros[n] for n in wrt}
        return np.where(self.components.free, self.components.joined(parts, wrt), 0.0)

    def _weigh(self, by_component: np.ndarray) -> None:
        """Add derivatives by the inertia of each component to those by the inertia of nodes."""
        parts: Mapping[str, np.ndarray] = self.components.parts(by_component, self.components.positions)
        for motion in self._heavy:
            part = parts[motion.position]
            self.adjoints[str(motion.inertia)] += part.reshape(len(part), -1).sum(axis=1)
