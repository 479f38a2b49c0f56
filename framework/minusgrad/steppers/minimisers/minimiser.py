"""Minimisers: steppers that move fields to a minimum of an objective.

    find z with lower <= x <= upper and   p(z) = 0,      z = x / scale,
    p = dU/dz, but 0 where z is at a bound and dU/dz pushes it outward      (the projected gradient [J])

All of them work on one vector z of doubles (`unknowns.ScaledVariables`), sum dot products in fixed order and
save their whole state, so that the bits do not depend on how the iterations are cut or resumed. A search
ends with a named outcome (`outcomes`).

Under constraints g(z) = 0 a trial point is first moved onto them, and p is the part of dU/dz along them,
which is the gradient of the Lagrangian U + lambda^T g (`constraint_manifold`). Unknowns then have no bounds.

Decisions 0086, 0363.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...energies.fields import Field, ordered_sum
from ...engine import storage
from ...errors import EnergyError, NonFiniteError, RunFailedError, SingularSystemError
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ...potential.term_forces import largest_forces
from ..holds import Holds
from ..stepper import PARTS, Gradient, Stepper, refuse_unlike
from ..systems.parts import (
    BARRIERS,
    CONSTRAINTS,
    FAR,
    FRICTION,
    LAGRANGIAN,
    MAGNETIC,
    MOVING,
    PERIODIC,
    SUPPORTS,
    TIME,
    Consumer,
)
from ..systems.system import System
from .cell_variables import variables
from .constraint_manifold import ConstraintManifold, reached
from .objective import Objective, Redrawn, WithBarriers, WithMemory
from .outcomes import NO_TOLERANCES, SearchStatus, Tolerances
from .unknowns import Unknown


@dataclass
class Point:
    """The values x of the unknowns, with z, U and dU/dz there; U is NaN where dU/dz is not finite.

    Under constraints dU/dz is its part along them, and U is NaN where no projection reaches them.
    """

    x: np.ndarray
    z: np.ndarray
    energy: float
    slope: np.ndarray

    @property
    def finite(self) -> bool:
        return math.isfinite(self.energy)


class Minimiser(Stepper):
    """The base of all minimisers: the present point, the outcome, saving and restoring.

    objective: a system or a potential, or a function of fields, such as the loss of a run. It and the holds
    are taken at time `t`. `free`: the mask of each unknown field, in place of those of the holds. The steps
    keep the constraints of the system. Raises `EnergyError` for a tolerance of forces
    where the objective is no potential, and for a start that violates the constraints.
    """

    slow_on_devices = "each step copies the fields, for a search on the host"

    kept: tuple[str, ...] = ()
    """The attributes that the method's next iteration reads, apart from the present point."""
    consumer = Consumer(
        "a minimiser",
        {SUPPORTS, MOVING, CONSTRAINTS, PERIODIC, FAR, TIME, BARRIERS},
        apart=[(CONSTRAINTS, BARRIERS)],
        idle=dict.fromkeys((FRICTION, MAGNETIC), "at rest it has no force"),
        cure="leave it out",
        cures={LAGRANGIAN: 'use kind = "variational"'},
    )
    fixed = PARTS | {"objective", "coordinates", "gradient"}

    def __init__(
        self,
        objective: System | Objective,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        t: float = 0.0,
        free: Mapping[str, np.ndarray] | None = None,
    ):
        self.objective, self.tolerances = self._taken(objective), tolerances
        objective, constraints = self.objective, self.constraints
        self.holds.place(t)
        if free is None:
            free = {u.field: self.holds.free(u.field) for u in unknowns}
        self.coordinates = variables(objective, unknowns, free)
        self._slopes = {f.name: storage.allocate(np.zeros_like(f.values)) for f in self.moving}
        self.gradient = Gradient(self._slopes, self.update)
        self.step, self.t, self._energy = 0, t, 0.0
        self.change, self.moved, self.exhausted, self.rounded = math.inf, math.inf, False, False
        self.start_forces = np.zeros(len(self.moving))
        self._relative: tuple[object, float] = (None, math.inf)
        if tolerances.force is not None and not isinstance(objective, Potential):
            raise EnergyError("tolerance `force`: needs a sum of energies, which a loss is not; use gradient")
        self.outside = self.coordinates.confine()
        self.coordinates.write(self.coordinates.scaled(self.coordinates.read()))
        self.manifold = self._manifold(constraints)
        self.evaluate()

    def _taken(self, given: System | Objective) -> Objective:
        """The function to be minimised; the search of a fit has no system of its own."""
        if isinstance(given, Potential):
            given = System(given)
        if not isinstance(given, System):
            self._unheld = Holds(given.fields)
            return given
        super().__init__(given)
        self._system = self.system.without_motions()
        return self.potential

    @property
    def holds(self) -> Holds:
        """The components with prescribed values; of the search of a fit none."""
        return self.system.holds if self._system else self._unheld

    def _manifold(self, constraints: Constraints | None) -> ConstraintManifold | None:
        """The constraints over the unknowns; the start is moved onto them."""
        if constraints is None:
            if self.tolerances.constraint is not None:
                raise EnergyError("tolerance `constraint`: there are no constraints, got one; leave it out")
            return None
        made = ConstraintManifold(constraints, self.coordinates, self.tolerances.constraint)
        made.begin(self.t)
        return made

    # The stepper's interface

    @property
    def time(self) -> float:
        """The time at which the objective is taken; it does not advance."""
        return self.t

    @property
    def moving(self) -> list[Field]:
        """The unknown fields."""
        return self.coordinates.fields

    def advance(self, n: int) -> None:
        """At most n iterations; fewer if there is an outcome.

        Raises `NonFiniteError` with step, term and node; the fields are then those of the last finite step.
        """
        self.update()
        for _ in range(n):
            if self.tolerances.outcome(self._status()) is not None:
                return
            here = self._here()
            there = self._next_point(here)
            if there is None:
                self.return_to(here)
                self.exhausted = True
            else:
                self.step += 1
                s = np.abs(there.z - here.z)
                self._energy, self.change = there.energy, float(s.max())
                self.moved = float((self.coordinates.scale * s).max())
            self.mark()

    def has_slope(self, name: str) -> bool:
        """True if dU/d(an unknown field) is not zero everywhere."""
        self.update()
        return bool(storage.host(self._slopes[name]).any())

    @property
    def energy(self) -> float:
        """U at the present fields."""
        self.update()
        return self._energy

    @energy.setter
    def energy(self, energy: float) -> None:
        self._energy = energy

    @property
    def inputs(self) -> tuple[float, ...]:
        known = () if self.constraints is None else (self.constraints.writes,)
        return self.objective.writes, self.holds.numbers.writes, self.t, *known

    def update(self) -> None:
        """If fields or parameters were written since the last step, evaluate again and forget the old ones.

        Held components are set to their prescribed values, and the others into their bounds.
        """
        if self.stale:
            self.holds.place(self.t)
            for outside in self.coordinates.confine():
                warnings.warn(outside.text(outside.unit), stacklevel=2)
            self.evaluate()
            self._forget()

    def begin(self) -> None:
        self.holds.place(self.t)
        self.coordinates.confine()
        self.coordinates.write(self.coordinates.scaled(self.coordinates.read()))
        self._forget()
        self.evaluate()

    def evaluate(self, t: float | None = None) -> None:
        """Recompute U and its gradient, from now on at time t, and clear the outcome.

        Under constraints the free components are moved onto them. `update` does it where fields or parameters
        were written between two steps. Raises `NonFiniteError`, and `RunFailedError` for constraints that
        cannot be met.
        """
        if t is not None:
            self.t = t
            self.holds.place(t)
        if self.manifold is not None:
            reached(self.manifold, self.t)
        if isinstance(self.objective, Potential):
            self.objective.refuse_crossed()
        self.change, self.moved, self.exhausted, self.rounded = math.inf, math.inf, False, False
        here = self._evaluated()
        if not here.finite:
            if self.manifold is not None and self.manifold.trouble:
                raise RunFailedError(f"step {self.step}: {self.manifold.trouble}; start elsewhere")
            raise NonFiniteError(f"step {self.step}: {self._nonfinite()}")
        self._energy = here.energy
        if self.tolerances.force is not None:
            self.start_forces = self._largest_forces()
        self.mark()

    def state(self) -> dict[str, np.ndarray]:
        """All arrays that the next iteration depends on, without the fields."""
        self.update()
        return self._state()

    def _state(self) -> dict[str, np.ndarray]:
        """`state`, with the gradient as it is."""
        slopes = {f"gradient/{n}": storage.host(g).copy() for n, g in self._slopes.items()}
        clock = {"energy": np.array(self._energy)}
        own = {n: np.array(getattr(self, n)) for n in self._kept}
        remembered = self.objective.state() if isinstance(self.objective, WithMemory) else {}
        known = {} if self.manifold is None else {"multipliers": self._multipliers()}
        return slopes | clock | own | self.coordinates.state() | remembered | known

    @property
    def _kept(self) -> tuple[str, ...]:
        """The attributes that are saved."""
        own = "moved" if self.tolerances.step is not None else ""
        forces = "start_forces" if self.tolerances.force is not None else ""
        return (*CLOCK, *self.kept, *filter(None, (own, forces)))

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values of `state`. Raises `CheckpointError` if any is missing or does not fit."""
        refuse_unlike(state, self._state())
        for name, array in self._slopes.items():
            storage.store(array, state[f"gradient/{name}"])
        for name in ("energy", *self._kept):
            setattr(self, name, state[name].copy() if state[name].ndim else state[name].item())
        self.coordinates.restore(state)
        if isinstance(self.objective, Redrawn):
            self.objective.redraw(self.step)
        if isinstance(self.objective, WithMemory):
            self.objective.restore(state)
        self.mark()

    # The outcome

    @property
    def status(self) -> SearchStatus:
        """The figures that decide on the outcome."""
        self.update()
        return self._status()

    def _status(self) -> SearchStatus:
        """`status`, from the last evaluation."""
        here = self._here()
        pinned = self.coordinates.pinned(here.z, here.slope)
        residual = float(np.abs(np.where(pinned, 0.0, here.slope)).max())
        force = math.inf if self.tolerances.force is None else self._relative_force(here)
        return SearchStatus(
            self.step,
            self._energy,
            residual,
            self.change,
            bool(pinned.all()),
            self.exhausted,
            force,
            self.moved,
            self.rounded,
            0.0 if self.manifold is None else self.manifold.violation,
        )

    def _relative_force(self, here: Point) -> float:
        """The largest component of the projected dU/dx, relative to the largest force on its field."""
        if self._relative[0] != self.inputs:
            left = self.coordinates.spread(self.projected(here) / self.coordinates.scale)
            sizes = np.array([np.abs(left[field.name]).max() for field in self.moving])
            largest = self._largest_forces()
            if self._alone:
                largest = np.maximum(largest, self.start_forces)
            parts = sizes[sizes > 0.0] / np.maximum(largest, np.finfo(np.float64).tiny)[sizes > 0.0]
            self._relative = self.inputs, float(parts.max(initial=0.0))
        return self._relative[1]

    @property
    def _alone(self) -> bool:
        """True for one energy and nothing held: at rest it exerts no force on any node."""
        free = self.coordinates.spread(np.ones(len(self.coordinates)))
        return len(self.potential.terms) == 1 and all(mask.all() for mask in free.values())

    def _largest_forces(self) -> np.ndarray:
        """The largest force on each unknown field (`potential.term_forces`)."""
        found = largest_forces(self.potential, [field.name for field in self.moving], self.t)
        return np.array(list(found.values()))

    @property
    def residual(self) -> float:
        """The largest component of the projected gradient."""
        return self.status.residual

    @property
    def gradient_norm(self) -> float:
        """The Euclidean norm of the projected gradient."""
        self.update()
        p = self.projected(self._here())
        return math.sqrt(dot(p, p))

    @property
    def outcome(self) -> str | None:
        """The word for how the search has ended (`outcomes`); None while it has not."""
        return self.tolerances.outcome(self.status)

    @property
    def verdict(self) -> str:
        """The outcome as a sentence, with its figures; if the search is stuck, with a cure."""
        return self.tolerances.verdict(self.status)

    @property
    def failed(self) -> bool:
        """True if the search is stuck, or has not reached its tolerances."""
        required = self.tolerances != NO_TOLERANCES
        return self.outcome == "stuck" or (required and self.outcome is None)

    # For the methods

    def _forget(self) -> None:
        """Reset all that earlier steps learnt of U, because U or the point has changed."""

    def _next_point(self, here: Point) -> Point | None:
        """The point after `here`, to which the fields are then set; None if no step lowers U."""
        raise NotImplementedError

    def evaluate_at(self, z: np.ndarray) -> Point:
        """Set the fields to z, as near as bounds, constraints and precision allow, and evaluate there."""
        x = self.coordinates.write(z)
        if self.manifold is not None and not self.manifold.reach(self.t):
            return Point(x, self.coordinates.scaled(x), math.nan, np.zeros(len(x)))
        return self._evaluated()

    def free_length(self, here: Point, direction: np.ndarray, length: float) -> float:
        """The length up to this one to which the way along a direction passes no barrier of U.

        A little less than that to the first one, so that U is finite there. The fields are then anywhere.
        """
        if not (isinstance(self.objective, WithBarriers) and self.objective.barriers):
            return length
        self.coordinates.put(here.x)
        before = self._values()
        for _ in range(MOST_CUTS):
            self.coordinates.write(here.z + length * direction)
            part = self.objective.free_part(before, self._values())
            if part >= 1.0:
                return length
            length *= SHARE * part
            if not self.coordinates.bounded:
                return length  # the way is straight, so that a part of it is free
        return 0.0

    def _values(self) -> dict[str, np.ndarray]:
        """The present values of the unknown fields."""
        return {field.name: field.values.copy() for field in self.moving}

    def value_at(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Set the fields to z as `evaluate_at` does; the scaled variables and U there."""
        x = self.coordinates.write(z)
        if self.manifold is not None:
            if not self.manifold.reach(self.t):
                return self.coordinates.scaled(x), math.nan
            x = self.coordinates.read()
        return self.coordinates.scaled(x), self.objective.value(self.t)

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """The part of a vector (N,) that constraints allow at the present fields."""
        if self.manifold is None:
            return vector
        self.manifold.load(self.t)
        return self.manifold.tangent(vector)

    @property
    def multipliers(self) -> np.ndarray:
        """lambda (E,) of the constraints at the present fields: those of an equilibrium where it is one."""
        self.update()
        return self._multipliers()

    def _multipliers(self) -> np.ndarray:
        if self.manifold is None:
            return np.zeros(0)
        self.manifold.load(self.t)
        return self.manifold.multipliers(self.coordinates.slope(self._slopes))

    def constraint_gradient(self) -> dict[str, np.ndarray]:
        """G^T lambda by unknown field, held components too; free components of it and dU/dx add to zero."""
        if self.manifold is None:
            return {}
        return self.manifold.by_field(self.multipliers)

    def finite_at(self, here: Point, z: np.ndarray, cure: str) -> Point:
        """`evaluate_at`; returns to `here` and raises `NonFiniteError` if U or dU/dz is not finite at z."""
        there = self.evaluate_at(z)
        if not there.finite:
            off = self.manifold.trouble if self.manifold is not None else ""
            trouble = off or self._nonfinite()
            self.return_to(here)
            self.mark()
            if off:
                raise RunFailedError(f"step {self.step + 1}: {trouble}; {cure} may cure it")
            raise NonFiniteError(f"step {self.step + 1}: {trouble}; {cure} may cure it")
        return there

    def return_to(self, point: Point) -> None:
        """Set the fields to a point, with the same bits of the gradient as when it was evaluated."""
        self.coordinates.put(point.x)
        self.objective.evaluate_into(self._slopes, self.t)  # by the kernel of `_evaluated`: the same bits

    def projected(self, point: Point) -> np.ndarray:
        """The projected gradient (N,) at a point."""
        return np.where(self.coordinates.pinned(point.z, point.slope), 0.0, point.slope)

    def rounding(self) -> float:
        """An estimate of the rounding of U at the present fields: eps sum |u|."""
        return float(np.finfo(self.objective.fields.dtype).eps) * self.objective.magnitude(self.t)

    # Inside

    def _here(self) -> Point:
        """The present point, from the last evaluation."""
        x = self.coordinates.read()
        slope = self.tangent(self.coordinates.slope(self._slopes))
        return Point(x, self.coordinates.scaled(x), self._energy, slope)

    def _evaluated(self) -> Point:
        x = self.coordinates.read()
        with np.errstate(invalid="ignore", over="ignore"):
            energy = self.objective.evaluate_into(self._slopes, self.t)
            slope = self.coordinates.slope(self._slopes)
        if not np.isfinite(slope).all():
            energy = math.nan
        elif self.manifold is not None:
            try:
                slope = self.tangent(slope)
            except SingularSystemError:
                self.manifold.trouble = "the constraints are dependent here, as rods in line are"
                energy = math.nan
        return Point(x, self.coordinates.scaled(x), energy, slope)

    def _nonfinite(self) -> str:
        """A message about the first non-finite value at the present fields."""
        if (found := self.objective.first_nonfinite(self.t, self._slopes)) is not None:
            return found
        energies = self.objective.by_term(self.t).items()
        bad = ((name, u) for name, u in energies if not math.isfinite(u))
        texts = (f"the energy of term '{name}' is {u}, though its forces are finite" for name, u in bad)
        return "; ".join(texts) or "the gradient in scaled variables overflows"


WITHOUT_SEARCH = replace(
    Minimiser.consumer,
    name="a minimiser without a line search",
    understands={*Minimiser.consumer.understands} - {BARRIERS},
    apart=(),
    cures={**Minimiser.consumer.cures, BARRIERS: "use newton or lbfgs"},
)
"""The parts that methods understand whose steps no line search shortens."""
SHARE = 0.9
"""The part of the way to a barrier that a step may take."""
MOST_CUTS = 60
"""Most times that a way along bounds is shortened."""
CLOCK = ("step", "t", "dt", "change", "exhausted")
"""The attributes that every minimiser saves, besides the gradient and the energy."""


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Sum of a b, in the fixed order of `ordered_sum`."""
    return ordered_sum(a * b)


def largest(values: np.ndarray) -> float:
    """The largest absolute value; at least 1e-290, so that one can divide by it."""
    return max(float(np.abs(values).max()), 1e-290)
