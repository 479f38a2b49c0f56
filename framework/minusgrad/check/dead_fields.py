"""Dead fields: U changes with the field, and its gradient is zero.

A coordinate cast to an integer has the derivative zero at every point, so no force and no minimiser moves it.
This check runs at the start of a run, for the fields of staged energies and of terms and maps that round
something; at the start of a fit with such a term, for its parameters. It takes one step of physical size;
smooth energies cost nothing.

Decisions 0338.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..codegen.tracing import Trace
from ..potential.potential import Potential
from ..symbolic.operations import OPERATIONS
from .questions import EPS, GAUSS, SHRINKS, field_spread

STEPS = (0.1, 0.4, 1.6)
"""Lengths of steps in units of the spread of the values, tried until U changes."""
CAUSE = "and its gradient is zero all along a step: a value is cast, cut off or frozen on the way"
CURE = "`minusgrad check` tells the line; [run] allow_dead = true runs all the same"


@dataclass(frozen=True)
class Candidate:
    """A field that may be dead: how to set it, and how to compute U, its size and its gradient.

    `free`: its mask (`holds`); the free components move between `lower` and `upper`.
    """

    values: np.ndarray
    put: Callable[[np.ndarray], None]
    value: Callable[[], float]
    magnitude: Callable[[], float]
    gradient: Callable[[], np.ndarray]
    free: np.ndarray
    lower: float = -np.inf
    upper: float = np.inf

    def is_dead(self, rng: np.random.Generator) -> bool:
        """True if U changes along a step on which the gradient is zero everywhere. Restores the values."""
        try:
            return not self.gradient().any() and self._changes_unseen(rng)
        finally:
            self.put(self.values)

    def _changes_unseen(self, rng: np.random.Generator) -> bool:
        here, step = self.value(), rng.normal(size=self.values.shape) * field_spread(self.values) * self.free
        for part in STEPS:
            for shrink in 0.5 ** np.arange(SHRINKS):
                self._put_step(part * shrink * step)
                if np.isfinite(there := self.value()):
                    break
            if abs(there - here) > 1e4 * EPS * max(self.magnitude(), abs(here)):
                return not any(
                    self._has_slope(0.5 * (node + 1.0) * part * shrink * step) for node in GAUSS[0]
                )
        return False

    def _has_slope(self, step: np.ndarray) -> bool:
        self._put_step(step)
        return bool(self.gradient().any())

    def _put_step(self, step: np.ndarray) -> None:
        self.put(np.clip(self.values + step, self.lower, self.upper))


def rounds(traced: Trace) -> bool:
    """True if an energy or a map rounds a number: casts it to an integer, floors it, ..."""
    return any(OPERATIONS[node.op].rounding for node in traced.graph)


def dead_fields(potential: Potential, suspects: Container[str], t: float = 0.0) -> Iterator[tuple[str, str]]:
    """Dead fields among those that the suspected terms and maps read: pairs (field, term).

    Restores the fields.
    """
    rng = np.random.default_rng(0)
    for name, term in _read_by(potential, suspects).items():
        field = potential.fields[name]
        candidate = Candidate(
            field.values.copy(),
            field.set,
            partial(potential.value, t),
            partial(potential.magnitude, t),
            partial(potential.gradient, name, t),
            np.ones(field.shape, bool),
        )
        if candidate.is_dead(rng):
            yield name, term
        potential.refresh(t)


def _read_by(potential: Potential, suspects: Container[str]) -> dict[str, str]:
    """The fields that these terms read, each with the first term that reads it."""
    found: dict[str, str] = {}
    for term in (*potential.maps.values(), *potential.terms.values()):
        for field in term.fields.values() if term.name in suspects else ():
            if field.name not in potential.fields.derived:
                found.setdefault(field.name, term.name)
    return found
