"""The force on the nodes of a system, of all that acts: energies, friction, constraints.

    dU/dx + dR/dv + G^T lambda        minus the force; lambda the multipliers of the present state

Supports act on held components as well (`Holds.reaction`), and magnetic fields on charges.

Decisions 0010.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...engine import storage
from ..stepper import Stepper


def constraint_gradient(stepper: Stepper, names: Sequence[str]) -> dict[str, np.ndarray]:
    """G^T lambda by field, of those that constraints read; empty without constraints."""
    if stepper.constraints is None or (weights := stepper.multipliers) is None:
        return {}
    read = [name for name in names if name in stepper.constraints.reads]
    return stepper.constraints.forces(weights, read, stepper.time)


def total_gradient(stepper: Stepper, gradient: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """dU/dx + dR/dv + G^T lambda by position, in f64, held components too; gradient: arrays of dU/dx."""
    pulled, dissipation = constraint_gradient(stepper, [*gradient]), stepper.dissipation
    velocities = {m.position: m.velocity for m in stepper.motions}
    found = {}
    for name, array in gradient.items():
        force = storage.host(array).astype(np.float64)
        if name in pulled:
            force += pulled[name]
        if dissipation and name in velocities:
            force += dissipation.gradient(velocities[name], stepper.time)
        found[name] = force
    return found
