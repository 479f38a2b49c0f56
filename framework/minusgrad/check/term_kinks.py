"""Energies at special states: a finite U whose gradient is not finite.

Decisions 0337.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..energies.fields import Field
from ..energies.roles import Linear
from ..energies.term import Term
from ..engine import storage
from ..potential.potential import Potential
from ..potential.staged.staged_term import StagedTerm
from .questions import Finding
from .term_subject import TermSubject, part


def kinks(subject: TermSubject, fields: Mapping[str, Field]) -> Iterator[Finding]:
    """A finite U with a gradient that is not: where nodes coincide, where one is at zero, at rest."""
    term = subject.term
    for argument, field in term.fields.items():
        start = field.values.copy()
        for words, special in _special(term, argument, start):
            field.set(special)
            broken = _is_kink(subject.potential, field.name, subject.t)
            field.set(start)
            if broken:
                yield _kink_warning(subject, argument, words)
                break
    if not isinstance(term, StagedTerm) and not subject.potential.maps:
        for made in term.energy.shaping:
            if _is_kink_at_rest(subject, made):
                yield _kink_warning(subject, made.field, "where an element is at rest")


def _is_kink(potential: Potential, field: str, t: float) -> bool:
    return bool(np.isfinite(potential.value(t))) and not np.isfinite(potential.gradient(field, t)).all()


def _kink_warning(subject: TermSubject, argument: str, words: str) -> Finding:
    subject.where = words
    text = (
        f"U of '{subject.term.name}' is finite and its gradient is not: guard a root or norm of zero,"
        " norm(eps),"
    )
    return replace(subject.finding(argument, "kink", True, None, text), warning=True)


def _is_kink_at_rest(subject: TermSubject, made: Linear) -> bool:
    """Of one element whose F is the unit matrix to the last bit: a corner of the unit cube."""
    one = part(subject.term, np.random.default_rng(0), tuples=1)
    field, row = one.fields[made.field], one.elements.tuples()[0]
    d, start = field.shape[1], field.values.copy()
    if len(row) <= d:
        return False
    corner, weights = start.copy(), np.zeros((1, len(row), d))
    corner[row] = 0.0
    corner[row[1 : d + 1]] = np.eye(d)
    weights[0, 0], weights[0, 1 : d + 1] = -1.0, np.eye(d)
    alone = replace(one, data=one.data | {made.weights: storage.allocate(weights)})
    field.set(corner)
    broken = _is_kink(Potential(subject.potential.fields, [alone], frozen=True), field.name, subject.t)
    field.set(start)
    return broken


def _special(term: Term | StagedTerm, argument: str, values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    slots = () if isinstance(term, StagedTerm) else term.slots(argument)
    if not isinstance(term, StagedTerm) and len(slots) > 1 and term.elements.count:
        first, second = term.elements.tuples()[0][list(slots[:2])]
        together = values.copy()
        together[first] = together[second]
        yield "where two nodes coincide", together
    zero = values.copy()
    zero[:1] = 0.0
    if not isinstance(term, StagedTerm) or _spans_zero(values):
        yield "where a node is at zero", zero


def _spans_zero(values: np.ndarray) -> bool:
    """True if every component has a value at or below zero and one at or above.

    A kernel of a stage may use positions as indices of arrays, so zero is safe only within the given range.
    """
    return bool(((values <= 0.0).any(axis=0) & (values >= 0.0).any(axis=0)).all())
