"""Tangents of a run along some directions, as vectors over all moving components (K, N), a row for each.

Implicit and constrained steps share them: the present tangents by field, and the changes of forces along
these.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...potential.potential import Potential
from ...steppers.implicit.moving_components import MovingComponents
from ...steppers.stepper import DifferentiableStepper
from ..backward import owner
from ..supports.support_derivatives import SupportDerivatives
from ..tangents import shaped
from .stage_parts import StageParts

VECTORS = 24
"""The vectors (N,) in double precision that a direction needs at most, without those of parameters."""


class ComponentTangents:
    """The tangents of a run along some directions; `along`: the present ones of each, by field, in f64."""

    stepper: Any

    def __init__(self, stepper: DifferentiableStepper, components: MovingComponents, names: Sequence[str]):
        self.stepper, self.components = stepper, components
        fields = stepper.potential.fields
        moving = [n for m in stepper.motions for n in (m.position, m.velocity)]
        self._owners = {n: owner(stepper, n) for n in names}
        nodal = dict.fromkeys([*moving, *(n for n in names if n in fields)])
        self._shapes = {n: fields[n].shape for n in nodal}
        self._others = [n for n in nodal if n not in moving]
        self.along = list[dict[str, np.ndarray]]()
        self._parameters: list[dict[str, np.ndarray]] = []
        self._parts = StageParts(components, fields)
        self._supports = SupportDerivatives.of(stepper.holds, names)

    @property
    def size(self) -> int:
        """Bytes for each direction."""
        return 8 * (VECTORS * len(self.components) + sum(int(np.prod(s)) for s in self._shapes.values()))

    def _begin(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Take the tangents of a start, by direction; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        self.along = [{n: shaped(n, d.get(n), s).copy() for n, s in self._shapes.items()} for d in directions]
        self._parameters = [
            {n: shaped(n, d.get(n), p.shape(n)) for n, p in self._owners.items() if p} for d in directions
        ]
        self._put(*self._taken())

    def _changed(
        self, potential: Potential, x: np.ndarray, v: np.ndarray, t: float, wrt: Sequence[str]
    ) -> np.ndarray:
        """The changes (K, N) of dU/d(wrt) along tangents of x, v, parameters and fields that do not move."""
        return np.stack([self._changed_along(k, potential, x[k], v[k], t, wrt) for k in range(len(x))])

    def _changed_along(
        self, k: int, potential: Potential, x: np.ndarray, v: np.ndarray, t: float, wrt: Sequence[str]
    ) -> np.ndarray:
        asked = {n: self._parts.array(n, n) for n in wrt if n in potential.reads}
        tangents = self._tangents(k, potential, x, v)
        potential.sweep(DerivativeRequest(product=asked, tangents=tangents), t)
        parts = {
            n: asked.get(n, np.zeros(shape)) for n, shape in zip(wrt, self.components.shapes, strict=True)
        }
        return self.components.joined(parts, wrt)

    def _tangents(self, k: int, potential: Potential, x: np.ndarray, v: np.ndarray) -> dict[str, Any]:
        """The tangents of direction k that an energy knows: fields as arrays for kernels, parameters."""
        fields, read, names = potential.fields, potential.reads, self.components
        nodal = names.parts(x, names.positions) | names.parts(v, names.velocities)
        nodal |= {n: self.along[k][n] for n in self._others}
        tangents: dict[str, Any] = {}
        for name, part in nodal.items():
            if name in read:
                tangents[name] = self._parts.array(f"along {name}", name)
                storage.store(tangents[name], np.asarray(part, fields[name].dtype))
        return tangents | {n: a for n, a in self._parameters[k].items() if self._owners[n] is potential}

    def _taken(self) -> tuple[np.ndarray, np.ndarray]:
        """The tangents of positions and of velocities (K, N), zero at held components."""
        pairs = [self._parts.taken(one) for one in self.along]
        x, v = zip(*pairs, strict=True)
        return np.stack(x), np.stack(v)

    def _put(self, x: np.ndarray, v: np.ndarray) -> None:
        for one, of_x, of_v in zip(self.along, x, v, strict=True):
            self._parts.put(one, of_x, of_v)

    def _moved(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """The tangents (K, N) of the places and velocities of supports, zero at free components."""
        found = np.zeros((2, len(self.along), len(self.components)))
        names = self.components.positions, self.components.velocities
        for k, numbers in enumerate(self._parameters if self._supports else ()):
            assert self._supports
            self._supports.start(numbers)
            moved = self._supports.moved(t)
            for part, some in zip(found, names, strict=True):
                zeros = {n: np.zeros(s) for n, s in zip(some, self.components.shapes, strict=True)}
                part[k] = self.components.joined(zeros | moved, some)
        return found[0], found[1]

    def _arrive(self, t: float) -> None:
        """Give held components the tangents of their supports at a time, which losses may read."""
        if not self._supports:
            return
        x, v = self._taken()
        of_x, of_v = self._moved(t)
        for one, of_one, its_speed in zip(self.along, x + of_x, v + of_v, strict=True):
            parts = self.components.parts(of_one, self.components.positions)
            parts |= self.components.parts(its_speed, self.components.velocities)
            for name, part in parts.items():
                one[name][...] = part

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
