"""The box of rigid waters of the scenes in OpenMM, on a platform of it."""

from typing import Any

import numpy as np

from tests.support.command import SCENES

NM = 0.1
"""An angstrom."""


def in_openmm(
    mm: Any, x: np.ndarray, v: np.ndarray, accelerations: np.ndarray | None = None, dt: float = 0.002
) -> Any:
    """A context of the Reference platform at places [angstrom], velocities [angstrom/ps]; distances to 1e-12.

    Its integrator has velocities half a step behind: accelerations [angstrom/ps^2] take them there.
    """
    system = mm.XmlSerializer.deserialize((SCENES / "data/rigid_water.xml").read_text())
    integrator = mm.VerletIntegrator(dt)
    integrator.setConstraintTolerance(1e-12)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("Reference"))
    context.setPositions(NM * x)
    if accelerations is not None:
        v = v - 0.5 * dt * accelerations
    context.setVelocities(NM * v)
    return context
