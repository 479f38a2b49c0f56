"""Adjoint of constrained steps: the transposes of the projections of positions and of velocities.

A drift onto constraints moves (x_0, v) to (x_1, v'), a projection makes v' the tangent v:

    v' = v - W G_0^T L,   x_1 = x_0 + h v',   g(x_1, t_1) = 0      L (E,): impulses, G_0 (E, N) at x_0, t_0
    v = v' - W G^T M,     G v + dg/dt = 0     at x, t              M (E,): impulses, G (E, N)

W (N,) are inverse masses m, zero at held components; K(L) = sum of L_e d2g_e/dx2 (N, N); p are parameters and
data of g, and fields that do not move. By the implicit function theorem, with the adjoints lx and lv (N,) of
the results, a drift gives, with G_1 at x_1, t_1,

    w = lv + h lx,   (G_1 W G_0^T)^T e = -G_0 W w,   b = w + G_1^T e,   z = W b
    lx <- lx + G_1^T e / h - K_0(L) z,   lv <- b
    lp <- lp + (e / h).dg/dp at x_1 - z.d(G_0^T L)/dp,   lm <- lm + z.(G_0^T L) / m     for each node

and a projection of velocities

    (G W G^T) e = -G W lv,   b = lv + G^T e,   z = W b
    lx <- lx - K(M) z + d(e.(G v + dg/dt))/dx,   lv <- b
    lp <- lp - z.d(G^T M)/dp + d(e.(G v + dg/dt))/dp,   lm <- lm + z.(G^T M) / m

All are gradients of C = sum lambda_e g_e and its products along x = z, or along x = v, t = 1. Kicks and
friction are those of `backward`, friction with the two projections within it. Steps that were divided are
followed substep by substep. The start is projected like a drift of h = 1 from rest, then its velocities.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...potential.potential import Potential
from ...steppers.constrained.move_tape import TakenMove
from ...steppers.integrator import Integrator
from ...steppers.step_sequence import (
    ConstrainedDrift,
    Forces,
    HalfFriction,
    Kick,
    Move,
    TangentProjection,
    rule,
)
from ..component_adjoint import ComponentAdjoint
from .constraint_places import ConstraintPlaces


class ConstrainedAdjoint(ComponentAdjoint):
    """The adjoint of the steps on the tape of a constrained integrator.

    `adjoints` and `parameters` as of `Backward`, in double precision; `begun`: the projections of the start.
    """

    stepper: Integrator

    def __init__(self, stepper: Integrator, names: Sequence[str], begun: Sequence[TakenMove]):
        assert stepper.move_tape
        self.places, self.tape, self.begun = ConstraintPlaces(stepper), stepper.move_tape, begun
        super().__init__(stepper, self.places.components, names)
        self._of_g = self.places.constraints.potential
        self._kicked = np.zeros(len(self.components))

    def clear(self) -> None:
        super().clear()
        self._kicked.fill(0.0)
        self.places.weigh()

    def back(self, last: int, steps: int) -> None:
        rules: Mapping[type[Move], Callable[[TakenMove], None]] = {
            HalfFriction: self._half_friction,
            Kick: self._kick,
            ConstrainedDrift: self._drift,
            TangentProjection: self._tangent,
            Forces: lambda taken: self._forces(taken.x, taken.time),
        }
        for step in reversed(range(last - steps, last)):
            for taken in reversed(self.tape.steps[step]):
                rule(rules, taken.move, "adjoint")(taken)

    def finish(self) -> None:
        """The kicks at the start, and the projections onto it."""
        self._forces(self.tape.start, self.stepper.t0)
        moved, turned = self.begun
        self._tangent(turned)
        x, v = self._parts.taken(self.adjoints)
        x, _ = self._drifted(moved, x, np.zeros_like(v))
        self._parts.put(self.adjoints, x, v)

    # The moves of a step

    def _kick(self, taken: TakenMove) -> None:
        _, v = self._parts.taken(self.adjoints)
        self._kicked += taken.h * self.places.weights * v

    def _forces(self, x: np.ndarray, t: float) -> None:
        """The transposes of the kicks by the forces at positions x (N,)."""
        self.places.at(x)
        potential, names = self.stepper.potential, self.components.positions
        lx, lv = self._parts.taken(self.adjoints)
        lx += self._product(potential, self._along(potential, names, self._kicked), t, names, -1.0)
        if self._heavy:
            self._weigh(self._kicked * self._force(potential, names, t) / self.places.masses)
        self._parts.put(self.adjoints, lx, lv)
        self._kicked.fill(0.0)

    def _drift(self, taken: TakenMove) -> None:
        self._parts.put(self.adjoints, *self._drifted(taken, *self._parts.taken(self.adjoints)))

    def _drifted(self, taken: TakenMove, lx: np.ndarray, lv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The adjoints before a drift onto constraints."""
        places, h, w = self.places, taken.h, lv + taken.h * lx
        here, there = (places.jacobian(x, t) for x, t in ((taken.before, taken.begun), (taken.x, taken.time)))
        e = places.factors(there, here).solve(-(here @ (places.weights * w)), trans="T")
        b = w + there.T @ e
        self._slope(e / h, taken.time)  # the fields are at the end of the drift
        places.at(taken.before)
        return lx + there.T @ e / h + self._bent(here, taken.impulses, places.weights * b, taken.begun), b

    def _tangent(self, taken: TakenMove) -> None:
        self._parts.put(self.adjoints, *self._projected(taken, *self._parts.taken(self.adjoints)))

    def _projected(self, taken: TakenMove, lx: np.ndarray, lv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The adjoints before a projection of velocities."""
        places = self.places
        here = places.jacobian(taken.x, taken.time)
        e = places.factors(here, here).solve(-(here @ (places.weights * lv)))
        b = lv + here.T @ e
        lx = lx + self._bent(here, taken.impulses, places.weights * b, taken.time)
        places.constraints.set_multipliers(e)
        names = self.components.positions
        moving: dict[str, Any] = {**self._along(self._of_g, names, taken.v), "t": 1.0}
        return lx + self._product(self._of_g, moving, taken.time, names, 1.0), b

    def _bent(self, here: Any, impulses: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
        """-K(L) z at the present positions; the parts of parameters and masses go to their adjoints."""
        self.places.constraints.set_multipliers(impulses)
        self._weigh(z * (here.T @ impulses) / self.places.masses)
        names = self.components.positions
        return self._product(self._of_g, self._along(self._of_g, names, z), t, names, -1.0)

    def _slope(self, multipliers: np.ndarray, t: float) -> None:
        """Add dC/dp at the present positions, for parameters and fields that do not move."""
        self.places.constraints.set_multipliers(multipliers)
        read = self._of_g.reads
        fields = {n: self._parts.array(n, n) for n in self._others if n in read}
        slopes = self._owned(self._of_g, read)
        if fields or slopes:
            found = self._of_g.sweep(DerivativeRequest(gradient=fields, slopes=slopes), t).slopes
            self._add({n: storage.host(a) for n, a in fields.items()}, found, 1.0)

    def _half_friction(self, taken: TakenMove) -> None:
        """Friction by the explicit midpoint rule, tangent velocities at its middle and its end."""
        if self.stepper.dissipation is None:
            return
        middle, end = taken.inner
        lx, lv = self._projected(end, *self._parts.taken(self.adjoints))
        x, n = self._slowed(taken, middle.v, taken.h * self.places.weights * lv)
        lx, n = self._projected(middle, lx + x, n)
        x, rest = self._slowed(taken, taken.before, 0.5 * taken.h * self.places.weights * n)
        self._parts.put(self.adjoints, lx + x, lv + n + rest)

    def _slowed(self, taken: TakenMove, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-R_xv u and -R_vv u at velocities v (N,)."""
        losing, components = self.stepper.dissipation, self.components
        assert losing
        self.places.at(taken.x)
        self.places.put(v, components.velocities)
        along = self._along(losing, components.velocities, u)
        of_v = self._product(losing, along, taken.time, components.velocities, -1.0)
        of_x = -self._again(losing, components.positions)
        if self._heavy:
            self._weigh(u * self._force(losing, components.velocities, taken.time) / self.places.masses)
        return of_x, of_v

    def _force(self, potential: Potential, names: Sequence[str], t: float) -> np.ndarray:
        """dU/dx or dR/dv (N,) at the present fields."""
        arrays = {n: self._parts.array(f"force {n}", n) for n in names}
        potential.gradient_into({n: a for n, a in arrays.items() if n in potential.reads}, t)
        return self.components.joined(arrays, names)
