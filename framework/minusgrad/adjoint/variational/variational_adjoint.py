"""Adjoint of variational steps: one linear system for each of them.

A step solves F(u; q, p, theta) = 0 (`steppers.variational.discrete_action`), then q' = q + u_s and
p' = p + h sum_i b_i G_i. With adjoints lq, lp of its results and J = dF/du,

    J' z = e_s lq + d(h sum_i b_i lp G_i)/du             at free components, by the transpose of its factors
    a_i = h b_i (lp - sum_n l_n(c_i) z_n),     c_i = -b_i sum_n l_n'(c_i) z_n
    lq <- lq + sum_i d(a_i G_i + c_i P_i)/dq,  lp <- lp - z_0,  and ltheta as lq

Where a velocity is seen, it is that of p: with w the
solution of M w = lv, M = dP/dv, lp <- lp + w, lq <- lq - P_q' w. At the start p is dL/dv of the velocities.
All products with second derivatives of L, U and R are the engine's. Under constraints the start is projected
onto them first, and a step has impulses (`impulse_adjoint`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...steppers.constrained.move_tape import TakenMove
from ...steppers.variational.action_tape import SolvedAction
from ...steppers.variational.phase_function import PhaseFunction
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..backward import RunAdjoint, felt, rows_of
from .impulse_adjoint import ImpulseAdjoint
from .phase_parts import Pair, PhaseParts


class VariationalAdjoint(RunAdjoint):
    """The adjoint of the steps on the tape of a variational integrator.

    `adjoints` and `parameters` as of `Backward`, in double precision. start: the projections of the start.
    """

    stepper: VariationalIntegrator

    def __init__(self, stepper: VariationalIntegrator, names: Sequence[str], start: Sequence[TakenMove] = ()):
        assert stepper.tape is not None
        self.stepper, self.tape, self.action = stepper, stepper.tape, stepper.action
        self.phase = PhaseParts(stepper, names)
        fields = stepper.potential.fields
        self.adjoints = {n: np.zeros(fields[n].shape) for n in self.phase.nodal}
        self.parameters = {n: rows_of(p, n) for n, p in self.phase.owners.items()}
        self._p, self.start = np.zeros(len(stepper.components)), start
        self.kept = stepper.kept
        self.impulses = (
            ImpulseAdjoint(stepper, self.kept, names, self.adjoints, self.parameters) if self.kept else None
        )

    def clear(self) -> None:
        super().clear()
        self._p = np.zeros_like(self._p)

    def found(self, name: str) -> np.ndarray:
        found = super().found(name)
        return found.astype(self.stepper.potential.fields.dtype) if name in self.adjoints else found

    def back(self, last: int, steps: int) -> None:
        if steps:
            self._seen(last)
        for step in reversed(range(last - steps, last)):
            for solved in reversed(self.tape.parts[step]):
                self._part(solved)

    def finish(self) -> None:
        """The momenta of the start are dL/dv."""
        q, v = self.phase.parts.taken(self.adjoints)
        point = self.tape.states[0]
        self.phase.at(point)
        p = np.where(self.stepper.components.free, self._p, 0.0)
        of_q, of_v = self._pulled(self.action.lagrangian, np.zeros_like(p), p, point.time, 1.0)
        self.phase.parts.put(self.adjoints, q + of_q, v + of_v)
        if self.impulses:
            self.impulses.begun(*self.start)

    def _seen(self, step: int) -> None:
        """The adjoints of velocities that were seen at a step become those of q and p."""
        q, v = self.phase.parts.taken(self.adjoints)
        if v.any():
            point = self.tape.states[step]
            self.phase.at(point)
            w = self.phase.mass_solved(v, point.time)
            self._p = self._p + w
            q = q + self._pulled(self.action.lagrangian, np.zeros_like(w), w, point.time, -1.0)[0]
        self.phase.parts.put(self.adjoints, q, np.zeros_like(v))

    def _part(self, solved: SolvedAction) -> None:
        """From the adjoints after a part of a step to those before it."""
        phase, g, free = self.phase, self.action.galerkin, self.stepper.components.free
        phase.begin(solved)
        h, u, s = solved.h, solved.u, self.action.galerkin.degree
        q, _ = phase.parts.taken(self.adjoints)
        p = np.where(free, self._p, 0.0)
        if self.impulses:
            q, p = self._tangent(solved, self.impulses, q, p)
        right = np.zeros((s, len(q)))
        right[-1] = q
        blocks_at = self.action.blocks_at(u)
        for i, blocks in enumerate(blocks_at):
            pushed = h * g.weights[i] * p
            of_q, of_v = (
                blocks[n].T @ pushed if n in blocks else np.zeros_like(pushed) for n in ("Gq", "Gv")
            )
            right += np.outer(g.values[i, 1:], of_q) + np.outer(g.slopes[i, 1:] / h, of_v)
        if self.impulses:
            z, more = self._transposed(solved, self.impulses, blocks_at, right, p)
            q = q + more
        else:
            z = np.zeros((s, len(q)))
            z.reshape(-1)[phase.spread_mask] = phase.factors(blocks_at).solve_transposed(
                right.reshape(-1)[phase.spread_mask]
            )
        for i in range(s):
            t = self.action.place(i, u)
            a = h * g.weights[i] * (p - g.values[i, :-1] @ z)
            c = -g.weights[i] * (g.slopes[i, :-1] @ z)
            for letter, sign, one in self.action.functions:
                along = {"L": (a, c), "U": (a, 0.0 * a), "R": (0.0 * a, a)}[letter]
                q = q + self._pulled(one, *along, t, sign)[0]
        self._p = p - z[0]
        phase.parts.put(self.adjoints, q, np.zeros_like(q))

    def _tangent(
        self, solved: SolvedAction, impulses: ImpulseAdjoint, q: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """lq and lp before the impulses that make the velocity tangent."""
        node, w, e = impulses.tangent(solved, p)
        of_q, _ = self._pulled(self.action.lagrangian, np.zeros_like(w), w, node.time, -1.0)
        return q + of_q + impulses.turned(solved.impulses[-1], p + w, e, solved.v, node.time), p + w

    def _transposed(
        self,
        solved: SolvedAction,
        impulses: ImpulseAdjoint,
        blocks_at: Sequence[dict[str, Any]],
        right: np.ndarray,
        p: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """z (s, N) of a step with impulses, and what these add to lq (N,)."""
        kept, mask, (s, size) = impulses.kept, self.phase.spread_mask, right.shape
        nodes, bends = kept.nodes(solved.u, solved.impulses, solved.end)
        of_u, of_impulses = impulses.sides(nodes, bends, p)
        sides = np.concatenate([(right + of_u).reshape(-1)[mask], of_impulses.reshape(-1)])
        found, z = kept.factors(blocks_at, nodes, bends).solve_transposed(sides), np.zeros(s * size)
        z[mask], y = np.split(found, [-s * kept.count])
        z = z.reshape(s, size)
        return z, impulses.at_nodes(solved, nodes, z, y.reshape(s, -1), p)

    def _pulled(
        self, one: PhaseFunction, along_q: np.ndarray, along_v: np.ndarray, t: float, sign: float
    ) -> Pair:
        """Second derivatives of L, U or R times a direction, by q and v (N,), times a sign.

        Those by parameters and by fields that do not move are added to their adjoints.
        """
        phase, potential = self.phase, one.potential
        tangents = phase.arrays("along", along_q, along_v, one)
        if not tangents:
            return np.zeros_like(along_q), np.zeros_like(along_q)
        read = [*one.read, *(n for n in phase.others if n in potential.reads)]
        asked = {n: phase.parts.array(n, n) for n in read}
        felt_by = felt(potential, set(tangents))
        changes = [n for n, p in phase.owners.items() if p is potential and n.partition(".")[0] in felt_by]
        found = potential.sweep(DerivativeRequest(product=asked, changes=changes, tangents=tangents), t)
        for name in phase.others:
            if name in asked:
                self.adjoints[name] += sign * storage.host(asked[name])
        for name, values in found.changes.items():
            array = self.parameters[name]
            storage.store(array, storage.host(array) + sign * values.reshape(tuple(array.shape)))
        of_q, of_v = one.split({n: asked[n] for n in one.read})
        free = self.stepper.components.free
        return np.where(free, sign * of_q, 0.0), np.where(free, sign * of_v, 0.0)
