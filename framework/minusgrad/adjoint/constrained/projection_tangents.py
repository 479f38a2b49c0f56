"""Tangents of the projections of positions and of velocities onto constraints, along some directions.

With the letters of `projection_adjoint`, and x., v., p., m. the tangents, a drift onto constraints gives

    u. = v. - W (K_0(L) x. + d(G_0^T L)/dp p.) + W G_0^T L m. / m
    (G_1 W G_0^T) L. = (G_1 (x. + h u.) + dg/dp p.) / h         g at x_1, t_1
    v. <- u. - W G_0^T L.,   x. <- x. + h v.

and a projection of velocities

    u. = v. - W (K(M) x. + d(G^T M)/dp p.) + W G^T M m. / m
    (G W G^T) M. = G u. + d(G v + dg/dt)/dx x. + d(G v + dg/dt)/dp p.
    v. <- u. - W G^T M.

Vectors here are (K, N), a row for each direction, which share the factors; held components have the tangents
of supports.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...steppers.constrained.move_tape import TakenMove
from ...steppers.stepper import DifferentiableStepper
from ..components.component_tangents import ComponentTangents
from .constraint_places import ConstraintPlaces


class ProjectionTangents(ComponentTangents):
    """Tangents of a constrained stepper along some directions, and how its projections change them."""

    def __init__(self, stepper: DifferentiableStepper, places: ConstraintPlaces, names: Sequence[str]):
        self.places = places
        super().__init__(stepper, places.components, names)
        self._of_g = places.constraints.potential

    def begun(self, moved: TakenMove, turned: TakenMove) -> tuple[np.ndarray, np.ndarray]:
        """The tangents x and v (K, N) after the two projections of a start, from those before."""
        x, v = self._placed(*self._taken(), moved.time)
        x, _ = self._drifted(moved, x, np.zeros_like(v))
        return x, self._projected(turned, x, v)

    def _weights(self) -> np.ndarray:
        return (
            np.zeros((len(self.along), len(self.components))) if self.places.is_fixed else super()._weights()
        )

    def _acceleration(self, change: np.ndarray, force: np.ndarray) -> np.ndarray:
        """The change (K, N) of W force, given that of the force."""
        return self.places.weights * (change - force * self._weights() / self.places.masses)

    def _drifted(self, taken: TakenMove, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places, h = self.places, taken.h
        there = places.jacobian(taken.x, taken.time)
        here = places.jacobian(taken.before, taken.begun)
        u = v - self._bent(here, taken.impulses, taken.begun, x)
        places.at(taken.x)
        there_x, _ = self._placed(x + h * u, u, taken.time)
        off = np.stack([self._off(k, taken.time, one) for k, one in enumerate(there_x)])
        impulses = places.factors(there, here).solve(off.T / h).T
        v = u - places.weights * (here.T @ impulses.T).T
        return self._placed(x + h * v, v, taken.time)

    def _placed(self, x: np.ndarray, v: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """x and v (K, N) with the tangents of supports at a time at held components."""
        if not self._supports:
            return x, v
        free, (of_x, of_v) = self.components.free, self._moved(t)
        return np.where(free, x, of_x), np.where(free, v, of_v)

    def _projected(self, taken: TakenMove, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        places = self.places
        here = places.jacobian(taken.x, taken.time)
        u = v - self._bent(here, taken.impulses, taken.time, x)
        places.equations.load(taken.time)
        rates = (here @ u.T).T + np.stack([self._rate(k, taken.v, one) for k, one in enumerate(x)])
        impulses = places.factors(here, here).solve(rates.T).T
        return u - places.weights * (here.T @ impulses.T).T

    def _bent(self, here: Any, impulses: np.ndarray, t: float, x: np.ndarray) -> np.ndarray:
        """The changes (K, N) of W G^T L at the present positions, L fixed."""
        self.places.constraints.set_multipliers(impulses)
        change = self._changed(self._of_g, x, np.zeros_like(x), t, self.components.positions)
        return self._acceleration(change, here.T @ impulses)

    def _off(self, k: int, t: float, x: np.ndarray) -> np.ndarray:
        """The change of g (E,) at the present positions along x and the parameters of direction k."""
        tangents = self._tangents(k, self._of_g, x, np.zeros_like(x))
        request = DerivativeRequest(changes=self.places.multipliers, tangents=tangents)
        changes = self._of_g.sweep(request, t).changes
        return np.concatenate([changes[name] for name in self.places.multipliers])

    def _rate(self, k: int, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The change of G v + dg/dt (E,) along x and the parameters of direction k."""
        along = self.components.parts(x, self.components.positions)
        along |= {n: self.along[k][n] for n in self._others}
        values = {n: a for n, a in self._parameters[k].items() if self._owners[n] is self._of_g}
        return self.places.equations.rate_change(v, along, values)
