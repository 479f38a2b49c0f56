"""Adjoint of implicit steps: one solution of the step's linear system for each of them, whatever the scheme.

A step solves F(u; y, q, x, x_s, p, m) = dPhi/du = 0 at free components (`steppers.implicit`), then
x' = x + reach u, v' = speed u + carried. With l the adjoint of its results and H = dF/du, the Hessian without
projection,

    H z = reach l_x' + speed l_v' + ...          l_theta <- - (dF/dtheta)' z   for each theta of F

and y, q, x_s, x', v' are sums of what is known at the start, whose factors distribute their adjoints. dF/dx
is d2U/dx2 (as X = x + u), dF/dq = -rate d2R/dv2, dF/dx_s = d2R/dv dx; those of inertia are derivatives of its
local energy. Held components have no adjoint, because a step overwrites them; derivatives of U and R by them
go to the numbers of their motion (`supports`).
"""

from collections.abc import Sequence

import numpy as np

from ...errors import EnergyError
from ...steppers.implicit.implicit_integrator import ImplicitIntegrator
from ...steppers.implicit.incremental_potential import IncrementalPotential
from ...steppers.implicit.stage import MOVED, V_BEFORE, A, V
from ...steppers.implicit.substep_tape import SolvedStage
from ..components.component_adjoint import ComponentAdjoint
from ..supports.support_derivatives import SupportDerivatives

PRECISE = 1e-13
"""The relative residual of the adjoint's systems, for iterative solvers."""


class ImplicitAdjoint(ComponentAdjoint):
    """The adjoint of the steps on the tape of an implicit integrator.

    `adjoints` and `parameters` as of `Backward`, in double precision.
    """

    stepper: ImplicitIntegrator

    def __init__(self, stepper: ImplicitIntegrator, names: Sequence[str]):
        assert stepper.tape is not None
        super().__init__(stepper, stepper.components, names)
        self.tape, self.one = stepper.tape, stepper.incremental
        refuse_moved_lag(self.one, self.supports)
        self._carried = {name: np.zeros(len(self.components)) for name in stepper.scheme.keeps}

    def clear(self) -> None:
        super().clear()
        for array in self._carried.values():
            array.fill(0.0)

    def back(self, last: int, steps: int) -> None:
        self._leave(last)
        for step in reversed(range(last - steps, last)):
            for solved in reversed(self.tape.stages[step]):
                self._stage(solved)

    def finish(self) -> None:
        """The acceleration that Newmark's scheme begins with, a = -(dU/dx + dR/dv) / m at the start."""
        x, v = self._parts.taken(self.adjoints)
        self._parts.put(self.adjoints, x, v)
        if A not in self._carried or not self._carried[A].any():
            return
        one, components = self.stepper, self.components
        z = self._carried[A] / components.masses(one.inertia)
        components.write(self.tape.start[0], components.positions)
        components.write(self.tape.start[1], components.velocities)
        start = one.times(0)
        one.holds.place(start)
        x -= self._pulled(one.potential, components.positions, z, start, components.positions)
        if one.dissipation:
            names = components.velocities
            x -= self._pulled(one.dissipation, names, z, start, components.positions)
            v -= self._again(one.dissipation, components.velocities)
        self._weigh(-z * self.tape.start[2])
        self._parts.put(self.adjoints, x, v)

    def _stage(self, solved: SolvedStage) -> None:
        """From the adjoints after a stage to those before it."""
        one, components, stage = self.one, self.components, solved.stage
        x, v = self._parts.taken(self.adjoints)
        last = {name: self._carried[name] for name in self._carried}
        none = np.zeros(len(components))
        moved, accelerated = last.get(MOVED, none), last.get(A, none)
        one.resume(solved, components.masses(self.stepper.inertia))
        right = stage.reach * (x + moved) + stage.speed * v + stage.weight * accelerated
        z = self._solved(right)
        known = {name: c * v for name, c in stage.carried.items()}
        known[V] = known.get(V, none) + last.get(V_BEFORE, none)
        inertial = -one.inertia.product(solved.u, {"u": z}, "y")
        target, rest = inertial - stage.weight * accelerated, none
        x = x - (right - inertial)
        if self.stepper.dissipation:
            rest = stage.rate * (one.friction_hessian(solved.u) @ z)
            one.slide(solved.u)
            seen = -self._pulled(
                self.stepper.dissipation, components.velocities, z, one.time, components.positions
            )
            x = x + rest + seen
            known[V] = known[V] + stage.seen * seen
        one.place(solved.u)
        self._pulled(self.stepper.potential, components.positions, z, one.time, [])
        self._weigh(-one.inertia.product(solved.u, {"u": z}, "m"))
        for factors, adjoint in ((stage.target, target), (stage.rest, rest)):
            for name, c in factors.items():
                known[name] = known.get(name, none) + c * adjoint
        self._parts.put(self.adjoints, x, known[V])
        for name in self._carried:
            self._carried[name] = np.where(components.free, known.get(name, none), 0.0)

    def _solved(self, right: np.ndarray) -> np.ndarray:
        """z (N,) with H z = right at free components, zero at the others."""
        free, solver = self.components.free, self.stepper.solver.solver
        z = np.zeros(len(right))
        solver.factor(self.stepper.linear_system())
        z[free] = solver.solve(right[free], PRECISE)
        return z


def refuse_moved_lag(one: IncrementalPotential, supports: SupportDerivatives | None) -> None:
    """Raise `EnergyError` for the numbers of holds where friction reads places at the start of a step."""
    if supports and one.lags:
        assert one.dissipation
        raise EnergyError(
            f"'{supports.names[0]}': has no derivative where friction reads supports at the start of a step,"
            f" as '{one.dissipation.barriers[0]}' does; leave its friction out"
        )
