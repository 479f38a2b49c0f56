"""The stress of a whole system, part by part: the strain derivatives of all its internal forces.

    stress = sum of the parts / V       positive in tension,       pressure = -trace(stress) / d

    kinetic               -sum m v v
    potential/TERM        dU/de = sum x (dU/dx) + h^T (dU/dh)
    constraint/NAME       sum lambda (dg/de), lambda the multipliers of the present state
    dissipation/NAME      dR/dL, of friction between nodes (`friction_stress`)
    cutoff/TERM           -(J / V) 1, of the jump of a pair energy at its cutoff (`cutoff_jumps`)

The multipliers are those of the acceleration constraint at the present positions and velocities, for all
forces, friction among them; of a search those of stationarity. So free rigid molecules have the pressure of
their centres of mass, P V = sum M V_cm^2 / d, at every state.

Forces from outside have no part: the magnetic force, drag on single nodes, the friction and noise of a heat
bath, the reactions of supports. An energy or a constraint that ties nodes to places has dU/de or lambda dg/de
about the origin of coordinates; its mean over a bounded motion does not depend on the origin.

Decisions 0010.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...energies.fields import BOX, Motion
from ...engine import storage
from ...errors import EnergyError
from ...potential.potential import Potential
from ..stepper import Stepper
from . import cutoff_jumps
from .cutoff_jumps import CutoffJumps
from .friction_stress import FrictionStress
from .stress import Stress, volume

KINETIC = "kinetic"


class Virial:
    """The stress (d, d) of all that a stepper moves, and its parts, at the present state.

    motions: the positions in the box. Raises `EnergyError` where there is no box, and for a dissipation whose
    part is not known.
    """

    def __init__(self, stepper: Stepper, motions: Sequence[Motion]):
        self.stepper, self.potential = stepper, stepper.potential
        self.stress = Stress(self.potential, motions, stepper.inertia)
        self.jumps = CutoffJumps(self.potential)
        lost = stepper.dissipation if stepper.motions else None
        self._friction = FrictionStress(lost, motions) if lost else None
        self._names = [*(m.position for m in motions), BOX]
        fields = self.potential.fields
        self._own, self._pull = (
            {n: storage.allocate(np.zeros_like(fields[n].values)) for n in self._names} for _ in range(2)
        )
        self._missing = {n: array for n, array in self._own.items() if n not in stepper.gradient}

    @property
    def volume(self) -> float:
        """The volume of the box, in the plane its area."""
        return volume(self.stress.box)

    def total(self) -> np.ndarray:
        """The stress."""
        if self._missing:
            self.potential.gradient_into(self._missing, self.stepper.time)
        whole = self.stress.total({**self.stepper.gradient, **self._missing})
        others = self._others()
        return whole + sum(others.values()) / self.volume if others else whole

    @property
    def names(self) -> list[str]:
        """The names of the parts."""
        kept, friction = self.stepper.constraints, self._friction.names if self._friction else ()
        of_terms = [f"potential/{name}" for name in self._of_terms]
        others = [f"constraint/{n}" for n in (kept.terms if kept else ())]
        others += [f"dissipation/{n}" for n in friction] + [f"cutoff/{n}" for n in self.jumps.counted]
        return [*([KINETIC] if self.stepper.motions else []), *of_terms, *others]

    def parts(self) -> dict[str, np.ndarray]:
        """The parts of the stress by name, whose sum it is."""
        found = {KINETIC: -self.stress.kinetic()} if self.stepper.motions else {}
        for name, potential in self._of_terms.items():
            potential.gradient_into(self._own, self.stepper.time)
            found[f"potential/{name}"] = self.stress.strain_derivative(self._own)
        found |= self._others()
        return {name: part / self.volume for name, part in found.items()}

    @cached_property
    def _of_terms(self) -> dict[str, Potential]:
        """The energies one by one; where maps join them, all as one."""
        whole = self.potential
        if whole.maps or whole.slopes or len(whole.terms) == 1:
            return {"+".join(whole.terms): whole}
        return {n: Potential(whole.fields, [term], frozen=True) for n, term in whole.terms.items()}

    def _others(self) -> dict[str, np.ndarray]:
        """The strain derivatives of all that is no part of U."""
        return {**self._of_constraints(), **self._of_friction(), **self._of_jumps()}

    def _of_constraints(self) -> dict[str, np.ndarray]:
        stepper, kept = self.stepper, self.stepper.constraints
        if kept is None:
            return {}
        weights = stepper.multipliers
        if weights is None:
            raise EnergyError(
                f"pressure: stepper '{stepper.name}' does not give the multipliers of its constraints, got"
                f" {', '.join(kept.terms)}; leave the pressure out, or use another stepper"
            )
        found = {}
        for name, own in kept.by_constraint(weights).items():
            alone = kept.by_constraint(np.zeros(kept.count)) | {name: own}
            gradient = kept.forces(np.concatenate([*alone.values()]), self._names, stepper.time)
            for field, values in gradient.items():
                storage.store(self._pull[field], values)
            found[f"constraint/{name}"] = self.stress.strain_derivative(self._pull)
        return found

    def _of_friction(self) -> dict[str, np.ndarray]:
        found = self._friction.by_term(self.stepper.time) if self._friction else {}
        return {f"dissipation/{name}": part for name, part in found.items()}

    def _of_jumps(self) -> dict[str, np.ndarray]:
        size, d = self.volume, self.stress.box.shape[-1]
        found = self.jumps.by_term(self.stepper.time)
        return {f"cutoff/{n}": cutoff_jumps.strain_derivative(j, size, d) for n, j in found.items()}
