"""Dead fields: U changes with the field, and its gradient is zero.

A coordinate cast to an integer has the derivative zero at every point, so no force and no minimiser moves it.
This check runs at the start of a run, for the fields of staged energies and of terms and maps that round
something; at the start of a fit with such a term, for its parameters. It takes one step of physical size, but
only of a field whose every way to U ends at a rounding (`FieldPaths`): another field has a derivative, and
one without a way does not change U. The graphs of terms and maps say so without a kernel.

Decisions 0148, 0338.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..codegen.kept_traces import KEPT
from ..codegen.tracing import Trace
from ..energies.fields import Field
from ..energies.term import Term
from ..potential.potential import Potential
from ..potential.slope import Slope
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


class FieldPaths:
    """The ways by which U depends on fields, through maps: known from the graphs of terms and maps.

    `smooth`: the fields from which a way leads to U on which every operation has a derivative; `all`: those
    from which any way does. A staged term and a slope may end a derivative, and let a value through.
    """

    def __init__(self, potential: Potential):
        self.smooth: set[str] = set()
        self.all: set[str] = set()
        for term in potential.terms.values():
            self._add(term, True, True)
        for one in reversed(potential.maps.values()):
            given = {field.name for field in _outputs(one)}
            self._add(one, bool(given & self.smooth), bool(given & self.all))

    def _add(self, one: Any, smooth: bool, any_way: bool) -> None:
        """Add the fields that a term or a map reads, whose outputs have such ways."""
        read = {field.name for argument, field in one.fields.items() if not _holds_integers(one, argument)}
        if any_way:
            self.all |= read
        if smooth and isinstance(one, Term):
            self.smooth |= {one.fields[argument].name for argument in smooth_arguments(one)}


def smooth_arguments(term: Term) -> set[str]:
    """The arguments of a term that are fields, from which operations with derivatives lead to its values."""
    trace = KEPT.of_term(term, "value")
    left, reached = list(trace.values), set[int]()
    while left:
        node = left.pop()
        if node.serial in reached:
            continue
        reached.add(node.serial)
        row = OPERATIONS[node.op]
        if row.branches is not None:
            left += node.args[-2:]  # without the condition
        elif row.derivative is not None:
            left += node.args[1:] if row.defined else node.args
    slots = {name: [one for slot in trace.inputs.get(name, ()) for one in slot] for name in term.fields}
    return {name for name, given in slots.items() if any(one.serial in reached for one in given)}


def _holds_integers(one: Any, argument: str) -> bool:
    """True for an argument of a term that is whole numbers, which have no derivative."""
    role = one.energy.roles[argument] if isinstance(one, Term) else None
    return bool(getattr(role, "integer", False))


def _outputs(one: Any) -> Iterable[Field]:
    """The fields that a map gives."""
    return (one.gives if isinstance(one, Slope) else one.outputs).values()


def dead_fields(potential: Potential, suspects: Container[str], t: float = 0.0) -> Iterator[tuple[str, str]]:
    """Dead fields among those that the suspected terms and maps read: pairs (field, term).

    Restores the fields.
    """
    rng = np.random.default_rng(0)
    if not (read := _read_by(potential, suspects)):
        return
    paths = FieldPaths(potential)
    for name, term in read.items():
        if name in paths.smooth or name not in paths.all:
            continue
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
