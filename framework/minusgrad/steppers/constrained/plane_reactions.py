"""Forces of constraints that keep nodes in planes, as supports bear them: on slopes, symmetry planes.

    f = -G^T (lambda + d)     of the rows of each such constraint; d as in `borne_multipliers`

Decisions 0165.
"""

import numpy as np

from ...energies.constraint import Constraint
from ...errors import EnergyError
from ...potential.borne_forces import BorneForces
from ...potential.constraints.borne_multipliers import borne_change
from ...potential.constraints.constraints import Constraints
from ..stepper import Stepper


def plane_constraints(constraints: Constraints | None) -> dict[str, str]:
    """The constraints that keep nodes in planes, with the field of the positions of each."""
    terms = {} if constraints is None else constraints.terms
    return {
        name: term.fields["x"].name
        for name, term in terms.items()
        if isinstance(term.energy, Constraint) and term.energy.planes is not None
    }


class PlaneReactions:
    """The constraints of a stepper as supports; of those that are no planes the multipliers are as they are.

    Raises `EnergyError` where there are no constraints.
    """

    def __init__(self, stepper: Stepper):
        if stepper.constraints is None:
            raise EnergyError("there are no constraints: add a [[constraint]], or leave their forces out")
        self.stepper, self.constraints = stepper, stepper.constraints
        self.planes = plane_constraints(stepper.constraints)
        self.fields = [*dict.fromkeys(self.planes.values())]
        self._borne = BorneForces(stepper.potential)

    def multipliers(self, time: float) -> np.ndarray:
        """lambda + d (E,) at the present state."""
        weights = self.stepper.multipliers
        assert weights is not None
        return weights + self._change(time)

    def borne_pull(self, field: str, time: float) -> np.ndarray:
        """G^T d at the nodes of a field."""
        if field not in self.fields:
            return np.zeros(self.constraints.fields[field].shape)
        return self.constraints.forces(self._change(time), [field], time)[field]

    def by_constraint(self, time: float) -> dict[str, tuple[str, np.ndarray]]:
        """Of each constraint that keeps nodes in planes, the field and the forces on its nodes (n, d)."""
        parts, found = self.constraints.by_constraint(self.multipliers(time)), {}
        for name, field in self.planes.items():
            alone = {n: values if n == name else 0.0 * values for n, values in parts.items()}
            weights = np.concatenate([*alone.values()])
            found[name] = field, -self.constraints.forces(weights, [field], time)[field]
        return found

    def _change(self, time: float) -> np.ndarray:
        beyond = {field: self._borne.beyond(field, time) for field in self.fields}
        if all(b is None for b in beyond.values()):
            return np.zeros(self.constraints.count)
        return borne_change(self.constraints, beyond, self.stepper.holds.free, time)
