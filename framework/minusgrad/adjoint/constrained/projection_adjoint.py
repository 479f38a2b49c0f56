"""Transposes of the projections of positions and of velocities onto constraints.

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

All are gradients of C = sum lambda_e g_e and its products along x = z, or along x = v, t = 1. At held
components G_1^T e / h and G^T e are derivatives by the places and velocities of supports, which their numbers
take.

Decisions 0392.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...steppers.constrained.move_tape import TakenMove
from ...steppers.stepper import DifferentiableStepper
from ..components.component_adjoint import ComponentAdjoint
from .constraint_places import ConstraintPlaces


class ProjectionAdjoint(ComponentAdjoint):
    """Adjoints of a constrained stepper's fields and parameters, and how its projections change them.

    `adjoints` and `parameters` as of `Backward`, in double precision.
    """

    def __init__(self, stepper: DifferentiableStepper, places: ConstraintPlaces, names: Sequence[str]):
        self.places = places
        super().__init__(stepper, places.components, names)
        self._heavy = [] if places.is_fixed else self._heavy
        self._of_g = places.constraints.potential

    def begun(self, moved: TakenMove, turned: TakenMove) -> None:
        """From a start on the constraints to that before its two projections."""
        self._tangent(turned)
        x, v = self._parts.taken(self.adjoints)
        x, _ = self._drifted(moved, x, np.zeros_like(v))
        self._parts.put(self.adjoints, x, v)

    def _tangent(self, taken: TakenMove) -> None:
        self._parts.put(self.adjoints, *self._projected(taken, *self._parts.taken(self.adjoints)))

    def _drifted(self, taken: TakenMove, lx: np.ndarray, lv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The adjoints before a drift onto constraints."""
        places, h, w = self.places, taken.h, lv + taken.h * lx
        here, there = (places.jacobian(x, t) for x, t in ((taken.before, taken.begun), (taken.x, taken.time)))
        e = places.factors(there, here).solve(-(here @ (places.weights * w)), trans="T")
        b = w + there.T @ e
        self._held(there.T @ e / h, self.components.positions, taken.time)
        self._slope(e / h, taken.time)  # the fields are at the end of the drift
        places.at(taken.before)
        return lx + there.T @ e / h + self._bent(here, taken.impulses, places.weights * b, taken.begun), b

    def _projected(self, taken: TakenMove, lx: np.ndarray, lv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The adjoints before a projection of velocities."""
        places = self.places
        here = places.jacobian(taken.x, taken.time)
        e = places.factors(here, here).solve(-(here @ (places.weights * lv)))
        b = lv + here.T @ e
        self._held(here.T @ e, self.components.velocities, taken.time)
        lx = lx + self._bent(here, taken.impulses, places.weights * b, taken.time)
        places.constraints.set_multipliers(e)
        names = self.components.positions
        moving: dict[str, Any] = {**self._along(self._of_g, names, taken.v), "t": 1.0}
        return lx + self._product(self._of_g, moving, taken.time, names, 1.0), b

    def _held(self, adjoint: np.ndarray, names: Sequence[str], t: float) -> None:
        """Supports take what projections give to held components at a time, of places or velocities (N,)."""
        if self.supports:
            self.supports.pull(t, self.components.parts(adjoint, names))

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
