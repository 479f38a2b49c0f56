"""Equilibria as functions: their sensitivities by the implicit function theorem.

    dU/dx = 0                                     at the equilibrium x of the parameters p
    dL/dp = dl/dp - (d2U/dx dp)^T z,              H z = dl/dx
    dx/dp = -H^-1 d2U/dx dp                       H = d2U/dx2, as it is, never projected

x: the free components of the unknown fields; p: everything else that U and the losses l depend on:
parameters, data, other fields, and held components of the unknown fields, such as the places of supports.
Under constraints p has their parameters and data, too, as the lengths of rods (`constrained_equilibrium`).
The start of the search is none of them: an equilibrium does not depend on it.

A search begins at the last equilibrium, and at the start of the scene where it fails from there.

Decisions 0384.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...errors import EnergyError, NonFiniteError, RunFailedError, choices
from ...potential.borne_forces import BorneForces
from ...potential.potential import Potential
from ...solvers.linear_solver import LinearSolver
from ...steppers.holds import Holds
from ...steppers.minimisers.minimiser import Minimiser
from ...steppers.minimisers.outcomes import BALANCED, NO_TOLERANCES
from ...steppers.minimisers.scaled_hessian import images, scaled_hessian
from ...steppers.minimisers.soft_motions import soft_motions
from ...steppers.systems.parts import (
    BARRIERS,
    CONSTRAINTS,
    FRICTION,
    MAGNETIC,
    MOVING,
    PERIODIC,
    SUPPORTS,
    TIME,
    Consumer,
)
from ..losses import Loss, ObservedStates
from ..supports.support_derivatives import SupportDerivatives
from .constrained_equilibrium import ConstrainedEquilibrium
from .singular_modes import refuse_singular

STEP = 0
"""The step at which losses look at the equilibrium."""

EQUILIBRIA = Consumer(
    "derivatives of equilibria",
    {SUPPORTS, MOVING, CONSTRAINTS, PERIODIC, TIME, BARRIERS},
    idle=dict.fromkeys((FRICTION, MAGNETIC), "at rest it has no force"),
    cure="leave it out",
)
"""The parts of a system whose equilibria have sensitivities."""


class Equilibrium:
    """The equilibrium that a search finds, as a function, with losses of its state (see `RunObjective`).

    iterations: the most of one search. solver: of the systems of the derivatives, of `LinearSolver`. A search
    that fails has the value NaN, and `trouble` says why; the fields are then those of the last equilibrium.
    Raises `EnergyError` for an energy without a sparse Hessian over the unknown fields.
    """

    label = "the equilibrium of the loss"

    def __init__(
        self,
        search: Minimiser,
        losses: Sequence[Loss | ObservedStates],
        iterations: int,
        solver: str = "auto",
    ):
        if not hasattr(search, "potential"):
            raise EnergyError("equilibrium: needs a search of a potential, got one of a loss")
        self.search, self.potential, self.losses = search, search.potential, list(losses)
        self.iterations, self.solver, self.trouble = iterations, LinearSolver(solver), ""
        if search.tolerances == NO_TOLERANCES:
            force = BALANCED[self.potential.fields.dtype.name]
            search.tolerances = replace(search.tolerances, force=force)
        self.kept = ConstrainedEquilibrium(search) if search.constraints is not None else None
        self._names = [field.name for field in search.moving]
        everything = search.coordinates.spread(np.ones(len(search.coordinates)))
        self._sought = {n: mask > 0.0 for n, mask in everything.items()}
        self._fresh = search.state()
        self._start = self._values()
        self._good = self._start
        self._factored: object = None
        self._numbers, self._placed = search.holds.numbers, search.holds.numbers.writes
        self._supports: dict[tuple[str, ...], SupportDerivatives | None] = {}
        self._pressed = {
            n: t for n, t in BorneForces(self.potential).rimmed_fields.items() if n in self._names
        }
        self._held = {n: self.potential.fields[n].values.copy() for n in self._pressed}
        self.potential.hessian(self._names, search.t)  # refuses energies without one
        EQUILIBRIA.accept(search.system)

    @property
    def writes(self) -> tuple[float, ...]:
        """The inputs of the value, as numbers that differ after every write (`Potential.writes`)."""
        potentials = [self.potential, *(loss.potential for loss in self.losses if isinstance(loss, Loss))]
        kept = 0 if self.kept is None else self.kept.constraints.writes
        return (sum(potential.writes for potential in potentials) + kept, self._numbers.writes)

    @property
    def inputs(self) -> list[str]:
        """Names that it may depend on: fields that U or a loss reads, parameters, data, numbers of holds."""
        read = {*self.potential.reads, *(n for loss in self.losses for n in loss.reads)}
        more = [] if self.kept is None else self.kept.inputs
        read |= set() if self.kept is None else self.kept.potential.reads
        own = [*self.potential.arguments, *more, *self._numbers.names]
        return [*sorted(read - self.potential.fields.derived), *own]

    @property
    def holds(self) -> Holds:
        """The holds, whose numbers are parameters."""
        return self.search.holds

    @property
    def potentials(self) -> list[Potential]:
        """All that have parameters on which an equilibrium depends."""
        return [self.potential, *([] if self.kept is None else [self.kept.potential])]

    def owner(self, name: str) -> Potential:
        """The potential with this parameter or datum, or U for a field."""
        of_constraints = self.kept is not None and name in self.kept.inputs
        return self.kept.potential if of_constraints and self.kept else self.potential

    def inputs_of(self, name: str) -> np.ndarray:
        """Mask of the components of a field that are inputs. Raises `EnergyError` if there are none."""
        self._check(name)
        self._refuse_pressed([name])
        return ~self._sought.get(name, np.zeros(self.potential.fields[name].shape, bool))

    def set_input(self, name: str, values: np.ndarray) -> None:
        """Overwrite a field, but for the components that are sought."""
        field, inputs = self.potential.fields[name], self.inputs_of(name)
        field.set(np.where(inputs, values, field.values))

    def begin_here(self) -> None:
        """Take the present fields for the start of the scene, to which failed searches return."""
        self._start = self._values()

    # Loss, gradient and curvature

    def value(self) -> float:
        """L at the equilibrium; NaN if it was not found."""
        return self._losses() if self.find() else math.nan

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]:
        """L and dL/d(name) for names of `inputs`; NaN if the equilibrium was not found.

        Of the shape of the field, in f64, or of the parameter's values; zero at components that are sought.
        Raises `SingularSystemError` naming the mode, where the equilibrium is not unique.
        """
        for name in names:
            self._check(name)
        self._refuse_twice(names)
        if not self.find():
            return math.nan, {n: np.full(self._shape(n), math.nan) for n in names}
        value, slopes = self._slopes_of_losses(names)
        return value, self.pulled_back(slopes, names)

    def pulled_back(self, slopes: Mapping[str, np.ndarray], names: Sequence[str]) -> dict[str, np.ndarray]:
        """dL/d(name), from `slopes`: dl/d(field) and dl/d(parameter) at the equilibrium, by name."""
        self._refuse_pressed(names)
        if supports := self._supports_of(names):
            plain = list(dict.fromkeys([*(n for n in names if n not in supports.names), *self._names]))
            found = self._pulled_back(slopes, plain)
            supports.clear()
            supports.pull(self.search.t, dict(slopes) | {n: found[n] for n in self._names})
            found |= {n: supports.found(n) for n in supports.names}
        else:
            found = self._pulled_back(slopes, names)
        return {n: np.where(self._sought[n], 0.0, found[n]) if n in self._sought else found[n] for n in names}

    def _pulled_back(self, slopes: Mapping[str, np.ndarray], names: Sequence[str]) -> dict[str, np.ndarray]:
        """The same by fields and by parameters; without a meaning at components that are sought."""
        fields, search = self.potential.fields, self.search
        found = {n: np.zeros(self.owner(n).shape(n)) + slopes.get(n, 0.0) for n in names}
        of_state = {n: slopes.get(n, np.zeros(fields[n].shape)) for n in self._names}
        right = search.coordinates.components(of_state)
        if right.any():
            moved = self._changes(right, names)
            found = {n: found[n] - moved.get(n, 0.0) for n in names}
        return found

    def _changes(self, right: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """(d2U/dx dp)^T z by name, with the part of constraints; z solves for a derivative by x (N,)."""
        fields, search, kept = self.potential.fields, self.search, self.kept
        solved, mu = self._solved(right) if kept is None else kept.solved(right)
        z = search.coordinates.spread(solved)
        own = [n for n in names if n in self.potential.reads or (n not in fields and self._is_own(n))]
        into = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in own if n in fields}
        along = {n: storage.allocate(a.astype(fields.dtype)) for n, a in z.items()}
        request = DerivativeRequest(product=into, changes=[n for n in own if n not in fields], tangents=along)
        swept = self.potential.sweep(request, search.t)
        found = {n: storage.host(a) for n, a in into.items()} | swept.changes
        if kept is not None:
            kept.load()
            for name, change in kept.pulled(z, mu, names).items():
                found[name] = found.get(name, 0.0) + change
        return found

    def _is_own(self, name: str) -> bool:
        """True for an argument of U."""
        return self.owner(name) is self.potential

    def tangent(self, direction: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """dx along a direction of the inputs, by unknown field; held components move as `direction` says.

        So do the velocities of supports whose numbers are in it. The equilibrium must have been found.
        """
        fields, variables = self.potential.fields, self.search.coordinates
        moved = {n: np.asarray(d, np.float64) for n, d in direction.items()}
        for name in self._names:
            if name in moved:
                moved[name] = np.where(self._sought[name], 0.0, moved[name])
        speeds: dict[str, np.ndarray] = {}
        if supports := self._supports_of(direction):
            supports.start(moved)
            for name, part in supports.moved(self.search.t).items():
                into = moved if name in self._names else speeds
                into[name] = moved.get(name, 0.0) + part
        read = [*self.potential.reads, *self.potential.arguments]
        along = {
            n: storage.allocate(d.astype(fields.dtype)) if n in fields else d
            for n, d in moved.items()
            if n in read
        }
        into = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in self._names}
        self.potential.sweep(DerivativeRequest(product=into, tangents=along), self.search.t)
        pushed = {n: storage.host(a) for n, a in into.items()}
        if self.kept is not None:
            self.kept.load()
            more, changed = self.kept.pushed(moved)
            right = variables.components({n: a + more[n] for n, a in pushed.items()})
            step, _ = self.kept.solved(-right, -changed)
            found = variables.spread(step)
        else:
            right = variables.components(pushed)
            found = variables.spread(-self._solved(right)[0]) if right.any() else {}
        still = {n: moved.get(n, np.zeros(fields[n].shape)) for n in self._names}
        return {n: found.get(n, 0.0) + a for n, a in still.items()} | speeds

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """The Gauss-Newton matrix J^T l'' J, (P, P): J are the tangents of the state along P directions.

        Raises `NonFiniteError` where no equilibrium was found.
        """
        if not self.find():
            raise NonFiniteError(f"{self.label}: {self.trouble}")
        still = {n: np.zeros(self._shape(n)) for direction in directions for n in direction}
        tangents = [still | dict(direction) | self.tangent(direction) for direction in directions]
        matrix = np.zeros((len(directions), len(directions)))
        for loss in self.losses:
            seen = [self._seen_by(loss, tangent) for tangent in tangents]
            matrix += loss.gauss_newton(STEP, self.search.t, seen)
        return 0.5 * (matrix + matrix.T)

    def _seen_by(
        self, loss: Loss | ObservedStates, tangent: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        shared = loss.shared(tangent, self.potential)
        return {n: w for n, w in tangent.items() if n in loss.reads or n in shared}

    # The search

    def find(self, from_start: bool = False) -> bool:
        """Move the fields to the equilibrium of the present parameters; False if it was not found.

        from_start: begin at the start of the scene instead of the last equilibrium.
        """
        if self._placed != self._numbers.writes:
            self.place_supports()
        last = self._values() if not from_start else self._started()
        for first in (last, self._started()):
            self._put(first)
            if self._searched():
                self._good = self._values()
                return True
            if all((first[n] == self._started()[n]).all() for n in first):
                break
        self._put(self._good)
        return False

    def place_supports(self, where_they_are: bool = False) -> None:
        """Move held components as the numbers of their holds say; or leave them where they are.

        `find` moves them by itself after numbers were overwritten.
        """
        if not where_they_are:
            self.search.holds.place(self.search.t)
        now = {n: self.potential.fields[n].values for n in self._pressed}
        self._refuse_pressed([n for n, x in now.items() if (x != self._held[n])[~self._sought[n]].any()])
        self._placed = self._numbers.writes

    def return_to(self, found: Mapping[str, np.ndarray]) -> None:
        """Move the fields to an equilibrium that was found before, at the present parameters."""
        self._put(found)
        self.search.evaluate()
        self._good = self._values()

    def _searched(self) -> bool:
        """Search from the present fields."""
        self.trouble = ""
        try:
            self.search.restore(self._fresh)
            self.search.evaluate()
            self.search.advance(self.iterations)
        except RunFailedError as error:
            self.trouble = str(error)
            return False
        if self.search.outcome in ("converged", "settled"):
            return True
        self.trouble = f"{self.search.verdict}"
        return False

    def _started(self) -> dict[str, np.ndarray]:
        """The start of the scene, with the present values of held components."""
        now = self._values()
        return {n: np.where(self._sought[n], self._start[n], now[n]) for n in now}

    def state(self) -> dict[str, np.ndarray]:
        """The last equilibrium, from which the next search begins."""
        return {f"equilibrium/{n}": a for n, a in self._values().items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the values that `state` returned."""
        self._put({n: state[f"equilibrium/{n}"] for n in self._names})
        self._good = self._values()

    def _values(self) -> dict[str, np.ndarray]:
        return {n: self.potential.fields[n].values.copy() for n in self._names}

    def _put(self, values: Mapping[str, np.ndarray]) -> None:
        for name, array in values.items():
            self.potential.fields[name].set(array)

    # Inside

    def _losses(self) -> float:
        total = sum(loss.value(STEP, self.search.t) for loss in self.losses)
        if not math.isfinite(total):
            self.trouble = "the loss is not finite"
        return total

    def _slopes_of_losses(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]:
        """The sum of the losses, and its derivatives by the state and by names, at a fixed state."""
        total, slopes = 0.0, dict[str, np.ndarray]()
        held = self.search.holds.held.values() if self._supports_of(names) else ()
        speeds = [one.velocity.name for one in held if one.velocity is not None]
        for loss in self.losses:
            shared = loss.shared(names, self.potential)
            value, found = loss.evaluate(STEP, self.search.t, {*names, *self._names, *speeds}, shared)
            total += value
            for name, slope in found.items():
                slopes[name] = slopes.get(name, 0.0) + slope.astype(np.float64)
        if not math.isfinite(total):
            self.trouble = "the loss is not finite"
        return total, slopes

    def _solved(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """H^-1 b for the free components b (N,) of a derivative by x, at the present equilibrium; no mu."""
        variables = self.search.coordinates
        x = variables.read()
        z = variables.scaled(x)
        gradients = {n: self.search.gradient[n] for n in self._names}
        slope = variables.slope(gradients)
        rows = np.flatnonzero(~variables.pinned(z, slope))
        if (key := (self.search.inputs, rows.tobytes())) != self._factored:
            motions = soft_motions(variables.fields)
            system = scaled_hessian(self.potential, variables, motions, self.search.t).restricted_to(rows)
            turned = images(variables, motions, slope)[rows]
            refuse_singular(system, turned, motions, variables.fields, self.solver)
            self._factored = key
        found = np.zeros(len(right))
        found[rows] = variables.scale[rows] * self.solver.solve(variables.scale[rows] * right[rows])
        return found, np.zeros(0)

    def _shape(self, name: str) -> tuple[int, ...]:
        return self._numbers.shape(name) if name in self._numbers else self.owner(name).shape(name)

    def _supports_of(self, names: Iterable[str]) -> SupportDerivatives | None:
        """The derivatives by the numbers of holds among some names."""
        own = tuple(name for name in names if name in self._numbers)
        if own not in self._supports:
            self._supports[own] = SupportDerivatives.of(self.search.holds, own)
        return self._supports[own]

    def _refuse_twice(self, names: Sequence[str]) -> None:
        """Refuse places of supports beside numbers of their holds, which would overwrite them."""
        for number in (n for n in names if n in self._numbers):
            field = self._numbers.place(number)[0].field.name
            if field in names:
                raise EnergyError(
                    f"'{field}' and '{number}': both move the same supports; ask for one of them"
                )

    def _refuse_pressed(self, names: Iterable[str]) -> None:
        """Refuse other places of supports where a pressure has its potential by these."""
        planes = {} if self.kept is None else self.kept.planes
        for name in names:
            if (pressed := self._pressed.get(planes.get(name.partition(".")[0], ""))) is not None:
                raise EnergyError(
                    f"'{name}': the pressure '{pressed}' has its potential by the planes that its rim slides"
                    " in, got a derivative by their place; press a closed surface"
                )
        for name in (n for n in names if n in self._pressed):
            raise EnergyError(
                f"'{name}': the pressure '{self._pressed[name]}' has its potential by the places where its"
                " rim is held, got other places; ask for a `displacement` of their hold, or press a closed"
                " surface"
            )

    def _check(self, name: str) -> None:
        if name not in self.inputs:
            self._numbers.refuse(name)
            raise EnergyError(
                f"an equilibrium has no derivative with respect to '{name}'{choices(name, self.inputs)}"
            )
        if name in self._sought and self._sought[name].all():
            raise EnergyError(
                f"'{name}': an equilibrium does not depend on the start of its search; hold components of it"
                " and ask for those, or ask for 'rest', where the state has [state] rest_shape"
            )
