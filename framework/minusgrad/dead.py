"""Fields that nothing would ever move: U changes with them, and their gradient is zero all the same.

A coordinate cast to an integer has the derivative zero at every point, so forces and searches leave it alone
and say nothing. Asked at the start of a run, of terms and maps that round something, and of staged energies,
along one step of physical size; smooth energies cost nothing.
"""

from collections.abc import Container, Iterator

import numpy as np

from .follow import ROUNDINGS
from .potential import Potential
from .questions import EPS, GAUSS, SHRINKS, spread
from .staged import StagedTerm
from .trace import Trace

STEPS = (0.1, 0.4, 1.6)
"""Of the field's spread: the shortest in which U changes."""


def rounds(traced: Trace) -> bool:
    """Whether an energy or a map rounds something."""
    return any(node.op in ROUNDINGS for node in traced.graph)


def dead_fields(potential: Potential, rounding: Container[str], t: float = 0.0) -> Iterator[tuple[str, str]]:
    """(field, term) for each. The fields are left as they were.

    `rounding`: the terms and maps that round something, by name.
    """
    rng = np.random.default_rng(0)
    for name, term in _suspects(potential, rounding).items():
        field = potential.fields[name]
        start = field.values.copy()
        try:
            if _is_dead(potential, name, t, rng):
                yield name, term
        finally:
            field.set(start)
            potential.refresh(t)


def _suspects(potential: Potential, rounding: Container[str]) -> dict[str, str]:
    """The fields that a term may round, each with the first such term."""
    found: dict[str, str] = {}
    for term in (*potential.maps.values(), *potential.terms.values()):
        may_round = isinstance(term, StagedTerm) or term.name in rounding
        for field in term.fields.values() if may_round else ():
            if field.name not in potential.fields.derived:
                found.setdefault(field.name, term.name)
    return found


def _is_dead(potential: Potential, name: str, t: float, rng: np.random.Generator) -> bool:
    field = potential.fields[name]
    start, here = field.values.copy(), potential.value(t)
    step = rng.normal(size=start.shape) * spread(start)
    for part in STEPS:
        for shrink in 0.5 ** np.arange(SHRINKS):
            field.set(start + part * shrink * step)
            if np.isfinite(there := potential.value(t)):
                break
        if abs(there - here) > 1e4 * EPS * max(potential.magnitude(t), abs(here)):
            break
    else:
        return False
    for node in GAUSS[0]:
        field.set(start + 0.5 * (node + 1.0) * part * shrink * step)
        if potential.gradient(name, t).any():
            return False
    return True
