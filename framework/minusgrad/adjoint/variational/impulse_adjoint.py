"""Adjoint of the impulses L_n of constraints in variational steps, beside `variational_adjoint`.

With C_n = dg/dq at Q_n, K_n(L) = sum of L_e d2g_e/dq2 there, M = dP/dv and P_q = dP/dq at the end, the last
impulses of a step, which make the velocity tangent (`steppers.variational.constrained_steps`), give

    [M C_s'; C_s 0] [w; e] = [0; -C_s lp]
    lq <- lq - P_q' w - K_s(L_s) (lp + w) - d(e.(C_s v + dg/dt))/dq,      lp <- lp + w

and the others, with z, y the solution of the transposed system of the step,

    right sides  - K_n(L_n) lp  at u_n, 0 < n < s,     - C_n lp  at L_n, n < s
    lq <- lq + sum_n<s K_n(L_n) (z_n - lp) - sum_0<n<=s C_n' y_n

Parameters of g take the same products.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...steppers.variational.action_tape import SolvedAction
from ...steppers.variational.constrained_steps import ConstrainedSteps, NodeOfStep
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..constrained.constraint_places import ConstraintPlaces
from ..constrained.projection_adjoint import ProjectionAdjoint


class ImpulseAdjoint(ProjectionAdjoint):
    """Adds to the adjoints and parameters of a variational run under constraints, which it shares."""

    def __init__(
        self,
        stepper: VariationalIntegrator,
        kept: ConstrainedSteps,
        names: Sequence[str],
        adjoints: dict[str, Any],
        parameters: dict[str, Any],
    ):
        super().__init__(stepper, ConstraintPlaces(stepper, kept.inertia), names)
        self.kept, self.adjoints, self.parameters = kept, adjoints, parameters

    # The end of a step

    def tangent(self, solved: SolvedAction, p: np.ndarray) -> tuple[NodeOfStep, np.ndarray, np.ndarray]:
        """Be at the end of the step that the action has begun; it, w (N,) and e (E,), given lp (N,)."""
        kept, free = self.kept, self.components.free
        node = kept.node(len(solved.u), solved.u, solved.end)
        kept.action.put(None, solved.v)
        right = np.concatenate([np.zeros(int(free.sum())), -(node.jacobian @ p)])
        found, w = kept.saddle(kept.action.mass(solved.end), node).solve(right), np.zeros_like(p)
        w[free] = found[: -kept.count]
        return node, w, found[-kept.count :]

    def turned(
        self, impulses: np.ndarray, p: np.ndarray, e: np.ndarray, v: np.ndarray, t: float
    ) -> np.ndarray:
        """-K(L) p - d(e.(C v + dg/dt))/dq (N,) at the present fields."""
        self.places.constraints.set_multipliers(e)
        names = self.components.positions
        moving: dict[str, Any] = {**self._along(self._of_g, names, v), "t": 1.0}
        return self._product(self._of_g, moving, t, names, -1.0) + self._bent_by(impulses, -p, t)

    # The nodes of a step

    def sides(
        self, nodes: Sequence[NodeOfStep], bends: Sequence[Any], p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The right sides (s, N) at displacements and (s, E) at impulses, given lp (N,)."""
        of_u = np.zeros((len(nodes) - 1, len(p)))
        for n, bend in enumerate(bends):
            of_u[n] -= bend @ p
        return of_u, np.array([-(node.jacobian @ p) for node in nodes[:-1]])

    def at_nodes(
        self, solved: SolvedAction, nodes: Sequence[NodeOfStep], z: np.ndarray, y: np.ndarray, p: np.ndarray
    ) -> np.ndarray:
        """What is added to lq (N,), given z (s, N), y (s, E) and lp (N,)."""
        found = np.zeros_like(p)
        for n, node in enumerate(nodes):
            self.places.at(node.q)
            if n < len(z):
                found += self._bent_by(solved.impulses[n], z[n] - p, node.time)
            if n:
                found -= np.where(self.components.free, node.jacobian.T @ y[n - 1], 0.0)
                self._slope(-y[n - 1], node.time)
        return found

    def _bent_by(self, impulses: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
        """K(L) z at the present coordinates; the parts of parameters go to their adjoints."""
        self.places.constraints.set_multipliers(impulses)
        names = self.components.positions
        return self._product(self._of_g, self._along(self._of_g, names, z), t, names, 1.0)
