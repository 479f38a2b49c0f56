"""Tangents of variational steps: the derivative of a run along a direction, one linear system for each step.

    J u. = -(F_q q. + F_p p. + F_theta theta.)         with the letters of `variational_adjoint`

then q'. = q. + u_s., and p'. likewise. Where steps end, M v. = p. - P_q q. - P_theta theta.
Under constraints the start is projected onto them first, and a step has impulses (`impulse_tangents`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...steppers.constrained.move_tape import TakenMove
from ...steppers.variational.action_tape import ActionTape, PhasePoint, SolvedAction
from ...steppers.variational.phase_function import PhaseFunction
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..tangents import shaped
from .impulse_tangents import ImpulseTangents
from .phase_parts import Pair, PhaseParts


class VariationalTangents:
    """A run of a variational integrator with its tangent; `tangents`: the present ones by field, in f64.

    begun: the projections of the start of the present run.
    """

    def __init__(self, stepper: VariationalIntegrator, names: Sequence[str], begun: Sequence[TakenMove] = ()):
        self.begun, kept = begun, stepper.kept
        self.impulses = ImpulseTangents(stepper, kept, names) if kept else None
        self.stepper, self.action = stepper, stepper.action
        self.phase = PhaseParts(stepper, names)
        fields = stepper.potential.fields
        self.tangents: dict[str, Any] = {n: np.zeros(fields[n].shape) for n in self.phase.nodal}
        self.parameters = {n: np.zeros(p.shape(n)) for n, p in self.phase.owners.items()}
        self._p = np.zeros(len(stepper.components))

    def start(self, direction: Mapping[str, np.ndarray]) -> None:
        """Start at the stepper's present state with these tangents; others are zero."""
        for name, array in (self.tangents | self.parameters).items():
            array[...] = shaped(name, direction.get(name), array.shape)
        q, v = self.phase.parts.taken(self.tangents)
        if self.impulses:
            after = self.stepper.memory()
            q, v = self.impulses.project(direction, self.begun)
            self.stepper.recall(after)
        self.phase.parts.put(self.tangents, q, v)
        self._p = self._moved(self.action.lagrangian, q, v, self.stepper.time)[1]

    def advance(self, steps: int) -> None:
        """Advance the state and its tangent by `steps` steps."""
        one, before = self.stepper, self.stepper.tape
        one.tape = tape = ActionTape()
        try:
            for _ in range(steps):
                step = one.step
                one.advance(1)
                after = one.memory()
                q, _ = self.phase.parts.taken(self.tangents)
                for solved in tape.parts.pop(step):
                    q = self._part(solved, q)
                self._see(q, tape.states.pop(step + 1))
                one.recall(after)
        finally:
            one.tape = before

    def _part(self, solved: SolvedAction, q: np.ndarray) -> np.ndarray:
        """The tangent of q at the end of a part of a step; that of p is kept."""
        phase, action, g, free = self.phase, self.action, self.action.galerkin, self.stepper.components.free
        phase.begin(solved)
        h, u, s = solved.h, solved.u, g.degree
        force, momentum = np.zeros((s, len(q))), np.zeros((s, len(q)))
        for i in range(s):
            t = action.place(i, u)
            for letter, sign, one in action.functions:
                of_q, of_v = self._moved(one, q, np.zeros_like(q), t)
                force[i] += sign * (of_v if letter == "R" else of_q)
                momentum[i] += of_v if letter == "L" else 0.0
        left = action.rows((force, momentum))[:-1]
        left[0] += self._p
        moved, blocks_at = np.zeros((s, len(q))), action.blocks_at(u)
        pulled = np.zeros_like(q)
        if self.impulses:
            moved, pulled = self._with_impulses(solved, self.impulses, q, left, blocks_at)
        else:
            moved.reshape(-1)[phase.spread_mask] = -phase.factors(blocks_at).solve(
                left.reshape(-1)[phase.spread_mask]
            )
        for i, blocks in enumerate(blocks_at):
            for name, change in (("Gq", g.values[i, 1:] @ moved), ("Gv", g.slopes[i, 1:] @ moved / h)):
                if name in blocks:
                    force[i] += blocks[name] @ change
        p, q = self._p + action.impulse((force, momentum)) - pulled, q + moved[-1]
        if self.impulses:
            known = lambda: self._moved(action.lagrangian, q, np.zeros_like(q), solved.end)[1]  # noqa: E731
            p = self.impulses.tangent(solved, q, p, known)
        self._p = np.where(free, p, 0.0)
        return q

    def _with_impulses(
        self,
        solved: SolvedAction,
        impulses: ImpulseTangents,
        q: np.ndarray,
        left: np.ndarray,
        blocks_at: Sequence[dict[str, Any]],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The tangents of displacements (s, N), and the change of sum_n<s C_n' L_n (N,)."""
        kept, mask, (s, size) = impulses.kept, self.phase.spread_mask, left.shape
        nodes, bends = kept.nodes(solved.u, solved.impulses, solved.end)
        of_u, off = impulses.sides(solved, nodes, q)
        sides = np.concatenate([(left + of_u).reshape(-1)[mask], off.reshape(-1)])
        found, moved = -kept.factors(blocks_at, nodes, bends).solve(sides), np.zeros(s * size)
        moved[mask], pushed = np.split(found, [-s * kept.count])
        moved, pushed = moved.reshape(s, size), pushed.reshape(s, -1)
        pulled = -of_u.sum(axis=0)
        for n, node in enumerate(nodes[:-1]):
            pulled += node.jacobian.T @ pushed[n] + (bends[n - 1] @ moved[n - 1] if n else 0.0)
        return moved, pulled

    def _see(self, q: np.ndarray, point: PhasePoint) -> None:
        """The tangents of velocities at the end of a step."""
        self.phase.at(point)
        known = self._moved(self.action.lagrangian, q, np.zeros_like(q), point.time)[1]
        v = self.phase.mass_solved(self._p - known, point.time)
        self.phase.parts.put(self.tangents, q, v)

    def _moved(self, one: PhaseFunction, q: np.ndarray, v: np.ndarray, t: float) -> Pair:
        """The changes of the derivatives by q and v along tangents of these, parameters and other fields."""
        phase, potential = self.phase, one.potential
        tangents: dict[str, Any] = phase.arrays("along", q, v, one)
        for name in phase.others:
            if name in potential.reads:
                tangents[name] = phase.parts.array(f"along {name}", name)
                storage.store(tangents[name], self.tangents[name])
        tangents |= {n: values for n, values in self.parameters.items() if phase.owners[n] is potential}
        asked = {n: phase.parts.array(n, n) for n in one.read}
        if not tangents or not asked:
            return np.zeros_like(q), np.zeros_like(q)
        potential.sweep(DerivativeRequest(product=asked, tangents=tangents), t)
        return one.split(asked)
