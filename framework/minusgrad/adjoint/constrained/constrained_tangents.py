"""Tangents of constrained steps: derivatives of a run along some directions, which share its factors.

With the letters of `constrained_adjoint`, and x., v., p., m. the tangents, a drift onto constraints gives

    u. = v. - W (K_0(L) x. + d(G_0^T L)/dp p.) + W G_0^T L m. / m
    (G_1 W G_0^T) L. = (G_1 (x. + h u.) + dg/dp p.) / h         g at x_1, t_1
    v. <- u. - W G_0^T L.,   x. <- x. + h v.

and a projection of velocities

    u. = v. - W (K(M) x. + d(G^T M)/dp p.) + W G^T M m. / m
    (G W G^T) M. = G u. + d(G v + dg/dt)/dx x. + d(G v + dg/dt)/dp p.
    v. <- u. - W G^T M.

Vectors here are (K, N), a row for each direction. Kicks and friction are those of `tangents`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...potential.potential import Potential
from ...steppers.constrained.move_tape import MoveTape, TakenMove
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
from ..component_tangents import ComponentTangents
from .constraint_places import ConstraintPlaces


class ConstrainedTangents(ComponentTangents):
    """A run of a constrained integrator with its tangents along some directions; `along`: the present ones.

    begun: the projections of the start of the present run.
    """

    stepper: Integrator

    def __init__(self, stepper: Integrator, names: Sequence[str], begun: Sequence[TakenMove]):
        self.places, self.begun = ConstraintPlaces(stepper), begun
        super().__init__(stepper, self.places.components, names)
        self._of_g = self.places.constraints.potential
        self._recorded: Integrator | None = None
        self._pull = self._force = np.zeros(0)

    def start(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Take a direction's tangents of the start before it was projected; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        self._begin(directions)
        self.places.weigh()
        after = self.stepper.memory()
        moved, turned = self.begun
        x, v = self._taken()
        x, _ = self._drifted(moved, x, np.zeros_like(v))
        v = self._projected(turned, x, v)
        self._evaluate(turned.x, turned.time, x, v)
        self._put(x, v)
        self.stepper.recall(after)

    def advance(self, steps: int) -> None:
        """Advance the state and its tangents by `steps` steps."""
        one = self.stepper
        if self._recorded is None:
            self._recorded = one.with_tape(MoveTape())
        recorded = self._recorded
        tape = recorded.move_tape
        assert tape
        recorded.dt = one.dt
        for _ in range(steps):
            step = one.step
            recorded.recall(one.memory())
            recorded.advance(1)
            after = recorded.memory()
            self._step(tape.steps.pop(step))
            one.recall(after)

    def _step(self, moves: Sequence[TakenMove]) -> None:
        x, v = self._taken()
        rules: Mapping[type[Move], Callable[..., tuple[np.ndarray, np.ndarray]]] = {
            HalfFriction: self._half_friction,
            Kick: lambda taken, x, v: (x, v - taken.h * self._acceleration(self._pull, self._force)),
            ConstrainedDrift: self._drifted,
            TangentProjection: lambda taken, x, v: (x, self._projected(taken, x, v)),
            Forces: lambda taken, x, v: self._evaluate(taken.x, taken.time, x, v),
        }
        for taken in moves:
            x, v = rule(rules, taken.move, "tangent")(taken, x, v)
        self._put(x, v)

    # The moves of a step

    def _evaluate(
        self, at: np.ndarray, t: float, x: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The force (N,) and its changes (K, N) at positions (N,); x and v as they are."""
        self.places.at(at)
        potential, names = self.stepper.potential, self.components.positions
        self._pull = self._changed(potential, x, v, t, names)
        self._force = self._slope(potential, names, t)
        return x, v

    def _acceleration(self, change: np.ndarray, force: np.ndarray) -> np.ndarray:
        """The change (K, N) of W force, given that of the force."""
        return self.places.weights * (change - force * self._weights() / self.places.masses)

    def _drifted(self, taken: TakenMove, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places, h = self.places, taken.h
        there = places.jacobian(taken.x, taken.time)
        here = places.jacobian(taken.before, taken.begun)
        u = v - self._bent(here, taken.impulses, taken.begun, x)
        places.at(taken.x)
        off = np.stack([self._off(k, taken.time, one) for k, one in enumerate(x + h * u)])
        impulses = places.factors(there, here).solve(off.T / h).T
        v = u - places.weights * (here.T @ impulses.T).T
        return x + h * v, v

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

    def _half_friction(self, taken: TakenMove, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.stepper.dissipation is None:
            return x, v
        middle, end = taken.inner
        slow = v - 0.5 * taken.h * self._slowed(taken, taken.before, x, v)
        slow = self._projected(middle, x, slow)
        last = v - taken.h * self._slowed(taken, middle.v, x, slow)
        return x, self._projected(end, x, last)

    def _slowed(self, taken: TakenMove, at: np.ndarray, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The changes (K, N) of W dR/dv at velocities (N,)."""
        losing, names = self.stepper.dissipation, self.components.velocities
        assert losing
        self.places.at(taken.x)
        self.places.put(at, names)
        change = self._changed(losing, x, v, taken.time, names)
        return self._acceleration(change, self._slope(losing, names, taken.time))

    def _slope(self, potential: Potential, names: Sequence[str], t: float) -> np.ndarray:
        """dU/dx or dR/dv (N,) at the present fields."""
        arrays = {n: self._parts.array(f"force {n}", n) for n in names}
        potential.gradient_into({n: a for n, a in arrays.items() if n in potential.reads}, t)
        return self.components.joined(arrays, names)
