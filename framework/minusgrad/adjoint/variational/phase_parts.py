"""Fields, names and linear systems of a variational integrator, for its adjoint and its tangents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...engine import storage
from ...potential.potential import Potential
from ...solvers.unsymmetric_factors import UnsymmetricFactors
from ...steppers.variational.action_tape import PhasePoint, SolvedAction
from ...steppers.variational.phase_function import PhaseFunction
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..backward import owner
from ..components.stage_parts import StageParts

Pair = tuple[np.ndarray, np.ndarray]
"""A vector over coordinates and one over velocities (N,)."""


class PhaseParts:
    """Fields, names and systems of a stepper, which adjoint and tangents share."""

    def __init__(self, stepper: VariationalIntegrator, names: Sequence[str]):
        self.stepper, self.action, self.components = stepper, stepper.action, stepper.components
        fields = stepper.potential.fields
        moving = [n for m in stepper.motions for n in (m.position, m.velocity)]
        self.nodal = list(dict.fromkeys([*moving, *(n for n in names if n in fields)]))
        self.others = [n for n in self.nodal if n not in moving]
        found = {n: owner(stepper, n) for n in names}
        self.owners = {n: p for n, p in found.items() if isinstance(p, Potential)}
        self.parts = StageParts(stepper.components, fields)

    def begin(self, solved: SolvedAction) -> None:
        self.action.begin(solved.h, solved.time, solved.q, solved.p)

    def at(self, point: PhasePoint) -> None:
        """Set the fields to a state between two steps."""
        self.action.put(point.q, point.v)

    def factors(self, blocks_at: Sequence[dict[str, Any]]) -> UnsymmetricFactors:
        """Those of J at free components."""
        free = self.spread_mask
        return UnsymmetricFactors(self.action.jacobian(blocks_at)[free][:, free])

    @property
    def spread_mask(self) -> np.ndarray:
        """The free components of displacements (s N,)."""
        return np.tile(self.components.free, self.action.galerkin.degree)

    def mass_solved(self, right: np.ndarray, t: float) -> np.ndarray:
        """M^-1 b at free components of the present fields, zero at the others."""
        free, found = self.components.free, np.zeros(len(right))
        found[free] = UnsymmetricFactors(self.action.mass(t)[free][:, free]).solve(right[free])
        return found

    def arrays(self, key: str, q: np.ndarray, v: np.ndarray, one: PhaseFunction) -> dict[str, Any]:
        """Vectors as arrays by the fields that a function reads."""
        names = self.components.positions, self.components.velocities
        found = {}
        for vector, some in zip((q, v), names, strict=True):
            for name, part in self.components.parts(vector, some).items():
                if name in one.read:
                    found[name] = self.parts.array(f"{key} {name}", name)
                    storage.store(found[name], part)
        return found
