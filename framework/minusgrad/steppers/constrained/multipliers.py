"""Multipliers of a constrained motion, from positions and velocities alone.

    d2g/dt2 = G a + (d2g/ds2 along v and t) = 0,      a = -W (dU/dx + dR/dv + G^T lambda) at free components
    (G W G^T) lambda = (d2g/ds2) + G a_held - G W (dU/dx + dR/dv)

a_held is the prescribed acceleration of held components, zero at free ones. lambda is exact for the state: it
does not depend on the step of an integrator. The force of constraints on the nodes is -G^T lambda.

Decisions 0380.
"""

import numpy as np

from ...energies.fields import Motion
from ...engine import storage
from .projections import Projections


def multipliers(projections: Projections, forces: dict[str, np.ndarray]) -> np.ndarray:
    """lambda (E,) at the present positions and velocities, where the projections have begun.

    forces: dU/dx + dR/dv by the position's name.
    """
    fields, equations, t = projections.constraints.fields, projections.equations, projections.time
    equations.load(t)

    def joined(values: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([one.astype(np.float64).ravel() for one in values])

    v = joined([fields[m.velocity].values for m in projections.motions])
    pull = storage.host(projections.weights) * joined([forces[name] for name in projections.names])
    held = joined([_held(projections, motion, t) for motion in projections.motions])
    right = equations.bend(v) + equations.matrix(equations.rows()) @ (held - pull)
    return projections.solve(right).copy()


def _held(projections: Projections, motion: Motion, t: float) -> np.ndarray:
    return projections.holds.acceleration(motion.position, t)
