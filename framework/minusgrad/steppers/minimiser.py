"""Minimisers: steppers that move fields to where the potential has a minimum.

    find z with lower <= x <= upper and   p(z) = 0,      z = x / scale,
    p = dU/dz, but 0 where z is at a bound and dU/dz pushes it outward      (the projected gradient [J])

All of them work on one vector z of doubles (`unknowns.Coordinates`), add up dot products in fixed order and
keep their whole state, so that the bits do not depend on how the iterations are cut or resumed. A search
ends with a named outcome (`outcomes`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..energies.fields import Field, ordered_sum
from ..engine import storage
from ..errors import CheckpointError, NonFiniteError
from ..potential.potential import Potential
from .holds import Holds
from .outcomes import UNASKED, SearchStatus, Tolerances
from .stepper import Stepper
from .unknowns import ScaledVariables, Unknown


@dataclass
class Point:
    """The values x of the unknowns, and there z, U (no number where dU/dz is none) and dU/dz."""

    x: np.ndarray
    z: np.ndarray
    energy: float
    slope: np.ndarray

    @property
    def finite(self) -> bool:
        return math.isfinite(self.energy)


class Minimiser(Stepper):
    """What all minimisers share: the present point, the outcome, saving and restoring.

    `t` is the time at which the potential and what is held are looked at. `free`, by field: where it may
    move, booleans of the field's shape (none: wherever nothing holds it).
    """

    kept: tuple[str, ...] = ()
    """What the method's next iteration reads, apart from the present point: names of attributes."""

    def __init__(
        self,
        potential: Potential,
        unknowns: Sequence[Unknown],
        enough: Tolerances = UNASKED,
        *,
        t: float = 0.0,
        free: Mapping[str, np.ndarray] | None = None,
        holds: Holds | None = None,
    ):
        self.potential, self.enough = potential, enough
        self.holds = holds or Holds(potential.fields)
        self.holds.place(t)
        if free is None:
            free = {u.field: self.holds.free[u.field] for u in unknowns if u.field in self.holds.free}
        self.coordinates = ScaledVariables(potential, unknowns, free)
        self.gradient = {f.name: storage.allocate(np.zeros_like(f.values)) for f in self.moving}
        self.step, self.t, self.energy = 0, t, 0.0
        self.change, self.exhausted = math.inf, False
        self.coordinates.write(self.coordinates.read() / self.coordinates.scale)
        self.evaluate()

    # The stepper's interface

    @property
    def time(self) -> float:
        """It stands still."""
        return self.t

    @property
    def moving(self) -> list[Field]:
        """The unknown fields."""
        return self.coordinates.fields

    def advance(self, n: int) -> None:
        """At most n iterations; fewer, or none, if there is an outcome.

        Raises `NonFiniteError` naming step, term and node; the fields are then those of the last finite step.
        """
        for _ in range(n):
            if self.outcome is not None:
                return
            here = self._here()
            there = self._next(here)
            if there is None:
                self.stand(here)
                self.exhausted = True
            else:
                self.step += 1
                self.energy, self.change = there.energy, float(np.abs(there.z - here.z).max())

    def evaluate(self, t: float | None = None) -> None:
        """U and its gradient anew, from now on at time t; whatever had ended the search is judged anew.

        Needed if something other than a step has changed what they depend on. Raises `NonFiniteError`.
        """
        if t is not None:
            self.t = t
            self.holds.place(t)
        self.change, self.exhausted = math.inf, False
        here = self._look()
        if not here.finite:
            raise NonFiniteError(f"step {self.step}: {self._trouble()}")
        self.energy = here.energy

    def state(self) -> dict[str, np.ndarray]:
        """Everything an iteration reads before it writes, the fields apart."""
        gradients = {f"gradient/{n}": storage.host(g).copy() for n, g in self.gradient.items()}
        return gradients | {n: np.array(getattr(self, n)) for n in (*CLOCK, *self.kept)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Give back what `state` took. Raises `CheckpointError` if anything is missing or does not fit."""
        for name, present in self.state().items():
            if name not in state or state[name].shape != present.shape:
                raise CheckpointError(
                    f"the checkpoint's 'stepper/{name}' is missing or does not fit this stepper"
                )
        for name, array in self.gradient.items():
            storage.store(array, state[f"gradient/{name}"])
        for name in (*CLOCK, *self.kept):
            setattr(self, name, state[name].copy() if state[name].ndim else state[name].item())

    # The outcome

    @property
    def standing(self) -> SearchStatus:
        """The figures that the outcome is judged by."""
        here = self._here()
        pinned = self.coordinates.pinned(here.z, here.slope)
        residual = float(np.abs(np.where(pinned, 0.0, here.slope)).max())
        return SearchStatus(self.step, self.energy, residual, self.change, bool(pinned.all()), self.exhausted)

    @property
    def residual(self) -> float:
        """The largest component of the projected gradient."""
        return self.standing.residual

    @property
    def outcome(self) -> str | None:
        """Why the search has ended; None while there is something to do."""
        return self.enough.outcome(self.standing)

    @property
    def verdict(self) -> str:
        """The outcome as a sentence, with its figures; what cures it if there is no way on."""
        return self.enough.verdict(self.standing)

    @property
    def failed(self) -> bool:
        """Whether it was asked to get somewhere, and is not there."""
        asked = self.enough != UNASKED
        return self.outcome == "stuck" or (asked and self.outcome is None)

    # For the methods

    def _next(self, here: Point) -> Point | None:
        """The point after `here`, which the fields then hold; None if no step lowers U."""
        raise NotImplementedError

    def look(self, z: np.ndarray) -> Point:
        """Move the fields to z, as near as bounds and precision allow, and evaluate there."""
        self.coordinates.write(z)
        return self._look()

    def leap(self, here: Point, z: np.ndarray, cure: str) -> Point:
        """`look`, for methods that cannot go back. Raises `NonFiniteError`, and is `here` again."""
        there = self.look(z)
        if not there.finite:
            trouble = self._trouble()
            self.stand(here)
            raise NonFiniteError(f"step {self.step + 1}: {trouble}; {cure} may cure it")
        return there

    def stand(self, point: Point) -> None:
        """Go back to a point: the same bits as when it was looked at."""
        self.coordinates.put(point.x)
        self.potential.evaluate_into(self.gradient, self.t)  # by the kernel that looked

    def projected(self, point: Point) -> np.ndarray:
        """The projected gradient."""
        return np.where(self.coordinates.pinned(point.z, point.slope), 0.0, point.slope)

    def rounding(self) -> float:
        """About how much of U at the present fields is rounding: eps sum |u|."""
        return float(np.finfo(self.potential.fields.dtype).eps) * self.potential.magnitude(self.t)

    # Inside

    def _here(self) -> Point:
        """The present point, as it was evaluated last."""
        x = self.coordinates.read()
        return Point(x, x / self.coordinates.scale, self.energy, self.coordinates.slope(self.gradient))

    def _look(self) -> Point:
        x = self.coordinates.read()
        with np.errstate(invalid="ignore", over="ignore"):
            energy = self.potential.evaluate_into(self.gradient, self.t)
            slope = self.coordinates.slope(self.gradient)
        if not np.isfinite(slope).all():
            energy = math.nan
        return Point(x, x / self.coordinates.scale, energy, slope)

    def _trouble(self) -> str:
        """What is not finite at the present fields."""
        if (blamed := self.potential.blame(self.t, self.gradient)) is not None:
            return blamed
        energies = {n: u for n, u in self.potential.by_term(self.t).items() if not math.isfinite(u)}
        told = [f"the energy of term '{n}' is {u}, though its forces are finite" for n, u in energies.items()]
        return "; ".join(told) or "the gradient in scaled variables is beyond all numbers"


CLOCK = ("step", "t", "dt", "energy", "change", "exhausted")
"""What every minimiser keeps, besides the gradient."""


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Sum of a b, in the fixed order of `ordered_sum`."""
    return ordered_sum(a * b)


def largest(values: np.ndarray) -> float:
    """The largest absolute value; never so small that nothing can be divided by it."""
    return max(float(np.abs(values).max()), 1e-290)
