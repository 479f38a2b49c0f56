"""Tangents of the impulses of constraints in variational steps: what they add to `variational_tangents`.

With the letters of `impulse_adjoint`, and q. the tangent at the start of a step, p. that of momenta

    left sides   - K_n(L_n) q. - d(C_n' L_n)/dtheta theta.   of r_n,     C_n q. + dg/dtheta theta.   of g(Q_n)
    p. <- p. - sum_n<s (K_n(L_n) Q_n. + d(C_n' L_n)/dtheta theta. + C_n' L_n.)

and at its end, [M C_s'; C_s 0] [v.; L_s.] = [p. - P_q q. - P_theta theta. - k; -d(C_s v + dg/dt)] with k the
change of C_s' L_s at fixed L_s, so that p. <- p. - k - C_s' L_s.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...steppers.constrained.move_tape import TakenMove
from ...steppers.variational.action_tape import SolvedAction
from ...steppers.variational.constrained_steps import ConstrainedSteps, NodeOfStep
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..constrained.constraint_places import ConstraintPlaces
from ..constrained.projection_tangents import ProjectionTangents


class ImpulseTangents(ProjectionTangents):
    """Tangents of the impulses along one direction."""

    def __init__(self, stepper: VariationalIntegrator, kept: ConstrainedSteps, names: Sequence[str]):
        super().__init__(stepper, ConstraintPlaces(stepper, kept.inertia), names)
        self.kept = kept

    def project(
        self, direction: Mapping[str, np.ndarray], start: Sequence[TakenMove]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The tangents of q and v (N,) after the projections of a start, from a direction before them."""
        self._begin([direction])
        q, v = self.begun(*start)
        return q[0], v[0]

    def sides(
        self, solved: SolvedAction, nodes: Sequence[NodeOfStep], q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What is added to the left sides: of displacements (s, N), which are negative, and of g (s, E)."""
        pulled, off = [], []
        for n, node in enumerate(nodes):
            self.places.at(node.q)
            if n < len(solved.u):
                pulled.append(self._pull_along(solved.impulses[n], q, node.time))
            if n:
                off.append(self._off(0, node.time, q))
        return -np.array(pulled), np.array(off)

    def tangent(self, solved: SolvedAction, q: np.ndarray, p: np.ndarray, known: Any) -> np.ndarray:
        """The tangent of p at the end, where the fields are put; known(): that of P at a fixed velocity."""
        kept, free = self.kept, self.components.free
        node = kept.node(len(solved.u), solved.u, solved.end)
        kept.action.put(None, solved.v)
        pulled = self._pull_along(solved.impulses[-1], q, solved.end)
        kept.equations.load(solved.end)
        rates = self._rate(0, solved.v, q)
        right = np.concatenate([(p - pulled - known())[free], -rates])
        impulses = kept.saddle(kept.action.mass(solved.end), node).solve(right)[-kept.count :]
        return p - pulled - node.jacobian.T @ impulses

    def _pull_along(self, impulses: np.ndarray, q: np.ndarray, t: float) -> np.ndarray:
        """The change of C' L (N,) along q. and parameters at the present coordinates, L fixed."""
        self.places.constraints.set_multipliers(impulses)
        x = q[None]
        return self._changed(self._of_g, x, np.zeros_like(x), t, self.components.positions)[0]
