"""Accelerations, multipliers and reactions of a Lagrangian's motion, from its state alone.

    M a + P_q v + P_t + C' lambda - F = R,     C a + d2g/ds2 (along v and t) = 0

P = dL/dv, M = dP/dv, C = dg/dq, and F = dL/dq - dU/dq - dR/dv. The reaction R is the force of supports: zero
at free components, whose accelerations a and the multipliers lambda solve the equations; those of held ones
are prescribed. All are exact for the state, and do not depend on a step.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...solvers.unsymmetric_factors import UnsymmetricFactors
from ..holds import Holds
from .constrained_steps import ConstrainedSteps, NodeOfStep
from .discrete_action import DiscreteAction


@dataclass(frozen=True)
class Accelerations:
    """a (N,), lambda (E,) and R (N,)."""

    values: np.ndarray
    multipliers: np.ndarray
    reactions: np.ndarray


def accelerations(
    action: DiscreteAction, holds: Holds, kept: ConstrainedSteps | None, t: float
) -> Accelerations:
    """Those at the present coordinates and velocities, at time t.

    Raises `SingularSystemError` for a singular mass matrix, `UnsolvedStepError` for dependent constraints.
    """
    parts, free = action.components, action.components.free
    held = parts.joined({n: holds.acceleration(n, t) for n in parts.positions}, parts.positions)
    mass = action.mass(t)
    rest = carried(action, t) - action.slopes_at(t)[0]
    pushed, a = -(rest + mass @ held), held.copy()
    if kept is None:
        a[free] += UnsymmetricFactors(mass[free][:, free]).solve(pushed[free])
        return Accelerations(a, np.zeros(0), np.where(free, 0.0, mass @ a + rest))
    q, v = parts.read(parts.positions), parts.read(parts.velocities)
    kept.equations.load(t)
    node = NodeOfStep(t, q, kept.equations.values(), kept.equations.jacobian())
    right = np.concatenate([pushed[free], -kept.equations.bend(v) - node.jacobian @ held])
    found, weights = np.split(kept.saddle(mass, node).solve(right), [-kept.count])
    a[free] += found
    return Accelerations(a, weights, np.where(free, 0.0, mass @ a + rest + node.jacobian.T @ weights))


def carried(action: DiscreteAction, t: float) -> np.ndarray:
    """P_q v + P_t (N,): how momenta change where velocities do not."""
    one, parts = action.lagrangian, action.components
    moved: dict[str, Any] = {}
    for q, v in zip(parts.positions, parts.velocities, strict=True):
        if q in one.read:
            moved[q] = storage.allocate(parts.fields[v].values.copy())
    if one.potential.uses_time:
        moved["t"] = 1.0
    found = {n: storage.allocate(np.zeros_like(parts.fields[n].values)) for n in one.read}
    if moved:
        one.potential.sweep(DerivativeRequest(product=found, tangents=moved), t)
    return one.split(found)[1]
