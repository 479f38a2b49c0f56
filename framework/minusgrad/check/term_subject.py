"""A term as a subject of checks: its energy, rounding and findings; and random parts of large terms."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..energies.term import Term
from ..engine import storage
from ..potential.potential import Potential
from ..potential.staged_term import StagedTerm
from .decisions import decisions
from .questions import EPS, Finding

MOST_NODES, MOST_TUPLES, MOST_PLAIN = 128, 4096, 200
"""A term with more targets, or more tuples, is checked on a random part of them."""


@dataclass
class TermSubject:
    """A potential of one term at time `t`; `where` names the present state."""

    potential: Potential
    term: Term
    t: float
    where: str = ""
    usual: float = 0.0
    """Sum of |u| at similar states: a state at rest has a smaller sum, and the same rounding."""

    def value(self) -> float:
        return self.potential.value(self.t)

    def gradient(self, name: str) -> np.ndarray:
        return self.potential.gradient(name, self.t)

    def product(self, name: str, along: str = "") -> Callable[[np.ndarray], np.ndarray] | None:
        """How the gradient changes along a step of `along` (default: `name`); None if staged."""
        if isinstance(self.term, StagedTerm):
            return None
        return lambda step: self.potential.product({along or name: step}, name, self.t)

    def set_time(self, t: np.ndarray) -> None:
        self.t = float(t)

    def decisions(self) -> tuple | None:
        """The sides of the conditions of a map; None of an energy, whose jumps are mistakes."""
        return None if isinstance(self.term, StagedTerm) else decisions(self.term, self.t)

    def rounding(self) -> float:
        """The size of rounding errors in differences of U: 100 eps sum|u|."""
        return 100.0 * EPS * max(self.potential.magnitude(self.t), self.usual)

    def finding(self, argument: str, question: str, passed: bool, figure: float | None, text: str) -> Finding:
        return Finding(self.term.name, argument, question, passed, figure, f"{text} {self.where}")


def maps_and_terms(potential: Potential) -> tuple[list[Term | StagedTerm], list[Term | StagedTerm]]:
    """All maps, and all terms; also those of slopes."""
    maps = [part for part in potential.parts.values() if part.outputs]
    names = {part.name for part in maps}
    return maps, [part for name, part in potential.parts.items() if name not in names]


def part(term: Term, rng: np.random.Generator, nodes: int = MOST_NODES, tuples: int = MOST_TUPLES) -> Term:
    """The term, on a random part of its elements if there are many. A copy, with parameters of its own."""
    parameters = {a: replace(v) for a, v in term.parameters.items()}
    some, rows = term.elements.part(rng, elements=tuples, targets=nodes)
    if rows is None:
        return replace(term, elements=some, parameters=parameters, shared={})
    return replace(
        term,
        elements=some,
        data={a: storage.allocate(storage.host(v)[rows]) for a, v in term.data.items()},
        parameters={
            a: replace(v, index=None if v.index is None else v.index[rows]) for a, v in parameters.items()
        },
        shared={},
    )


def arguments(term: Term, t: float) -> Iterator[dict[str, Any]]:
    """The arguments of every element of a term, as its function receives them."""
    return (term.arguments(e, element, t) for e, element in enumerate(term.elements.tuples()))
