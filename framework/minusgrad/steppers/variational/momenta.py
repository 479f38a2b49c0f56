"""The Legendre transform: momenta from velocities, and velocities from momenta.

p = dL/dv (q, v, t)             v is the solution of it by Newton's method, with the mass matrix d2L/dv2
"""

import numpy as np

from ...errors import SingularSystemError, UnsolvedStepError
from ...solvers.unsymmetric_factors import UnsymmetricFactors
from .convergence import Convergence
from .discrete_action import DiscreteAction


def momenta(action: DiscreteAction, t: float) -> np.ndarray:
    """p (N,) at the present fields, in double precision."""
    return action.lagrangian.gradient(t)[1]


def velocities(
    action: DiscreteAction, q: np.ndarray, p: np.ndarray, t: float, guess: np.ndarray
) -> np.ndarray:
    """v (N,) with these momenta at q; held components keep those of `guess`.

    Leaves the fields at q and v. Raises `UnsolvedStepError` where there is none.
    """
    free, v = action.components.free, guess.copy()
    action.put(q, v)
    test = Convergence(action.components.fields.dtype)
    for _ in range(Convergence.MOST):
        matrix = action.mass(t)[free][:, free]
        try:
            change = UnsymmetricFactors(matrix).solve((p - momenta(action, t))[free])
        except SingularSystemError as error:
            raise UnsolvedStepError(f"the mass matrix d2L/dv2 is singular: {error}") from error
        v[free] += change
        action.put(None, v)
        if test.reached(change, v[free], v[free]):
            return v
    raise UnsolvedStepError("no velocity has the momentum of the step")
