"""A term as a subject of checks: its energy, rounding and findings; and random parts of large terms."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..codegen.verification.element_samples import Sample
from ..elements.elements import Elements
from ..elements.node_tuples import NodeTuples
from ..energies.fields import Field
from ..energies.roles import Datum, Node
from ..energies.term import Term
from ..engine import storage
from ..potential.potential import Potential
from ..potential.staged.staged_term import StagedTerm
from .decisions import Switches
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
    barrier: Elements | None = None
    """The elements whose U is finite on a part of space alone (`free_part`); None of others."""

    def free_part(self, argument: str, step: np.ndarray) -> float:
        """The part of a step of the node field of an argument on which U is finite."""
        if self.barrier is None:
            return 1.0
        before = {a: f.values for a, f in self.term.fields.items()}
        return self.barrier.free_part(before, before | {argument: before[argument] + step})

    def value(self) -> float:
        return self.potential.value(self.t)

    def gradient(self, name: str) -> np.ndarray:
        return self.potential.gradient(name, self.t)

    def product(self, name: str, along: str = "") -> Callable[[np.ndarray], np.ndarray] | None:
        """How the gradient changes along a step of `along` (default: `name`); None of most staged ones."""
        changing = along or name
        if isinstance(self.term, StagedTerm) and not (self.term.linear and changing in self.potential.fields):
            return None
        return lambda step: self.potential.product({along or name: step}, name, self.t)

    def set_time(self, t: np.ndarray) -> None:
        self.t = float(t)

    @cached_property
    def switches(self) -> Switches | None:
        """Numbers that decide branches of a map's elements; None of an energy, and of maps with windows."""
        return None if isinstance(self.term, StagedTerm) else Switches.of(self.term)

    def decisions(self) -> bytes | None:
        """The sides of the conditions of a map; None of an energy, whose jumps are mistakes."""
        return None if self.switches is None else self.switches.condition_truths(self.t).tobytes()

    def sides(self, among: np.ndarray | None = None) -> np.ndarray:
        """The sides of conditions, ties and rounded numbers of a map that has some, or of some elements."""
        assert self.switches is not None
        return self.switches.sides(self.t, among)

    def rows(self, argument: str) -> np.ndarray | None:
        """The rows of an argument's values that each element reads, (elements, k); None of one for all."""
        term = self.term
        if isinstance(term, StagedTerm):
            return None
        match term.energy.roles[argument]:
            case Node():
                return term.elements.tuples()[:, list(term.slots(argument))]
            case Datum():
                return np.arange(term.elements.count)[:, None]
        values = term.parameters.get(argument)
        return None if values is None or values.index is None or values.form else values.index[:, None]

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
    some, rows = term.elements.part(rng, elements=tuples, targets=nodes)
    return on_elements(term, some, rows)


def no_elements_warning(term: Term | StagedTerm) -> Finding:
    """The warning that a term has no elements at the given state, so that no question can be asked."""
    text = "no element is within the cutoff at the given state, so nothing was checked; check a denser state"
    return Finding(term.name, "", "elements", True, None, text, warning=True)


def of_each_branch(term: Term, rng: np.random.Generator, t: float, count: int) -> Term:
    """A map with switches on so many random elements, of each branch that there is as many as can be."""
    switches = Switches.of(term)
    assert switches is not None
    order = rng.permutation(term.elements.count)
    _, first, branch = np.unique(
        switches.branches(t)[:, order], axis=1, return_index=True, return_inverse=True
    )
    branch, turn = branch.reshape(-1), np.zeros(len(order), int)
    for k in range(len(first)):
        of_branch = np.flatnonzero(branch == k)
        turn[of_branch] = np.arange(len(of_branch))
    rows = np.sort(order[np.argsort(turn, kind="stable")][:count])
    return on_elements(term.one_by_one(), NodeTuples(term.elements.tuples()[rows]), rows)


def on_elements(term: Term, some: Elements, rows: np.ndarray | None) -> Term:
    """The term over some elements, with the data of these rows. A copy, with parameters of its own."""
    parameters = {a: replace(v) for a, v in term.parameters.items()}
    if rows is None:
        return replace(term, elements=some, parameters=parameters, shared={})
    return replace(
        term,
        elements=some,
        rule=None if term.rule is None else term.rule.of_rows(rows),
        data={a: storage.allocate(storage.host(v)[rows]) for a, v in term.data.items()},
        parameters={
            a: replace(v, index=None if v.index is None else v.index[rows]) for a, v in parameters.items()
        },
        shared={},
    )


def is_listed(term: Term) -> bool:
    """True for elements that are tuples of nodes of one set, without windows."""
    plain = term.grid is None and not term.energy.element_kind.several
    return plain and isinstance(term.elements, NodeTuples)


def compact(term: Term) -> Term:
    """A map on the nodes of its elements alone, in memory of its own: a part of a large grid is small.

    Maps with windows, and over several sets or pairs, remain as they are.
    """
    if not is_listed(term) or not term.outputs:
        return term
    members, nodes = np.unique(term.elements.nodes, return_inverse=True)
    if len(members) == term.nodes:
        return term

    def few(field: Field) -> Field:
        return Field.of(field.name, field.values[members], field.unit, term.dtype)

    return replace(
        term,
        elements=NodeTuples(nodes.reshape(term.elements.nodes.shape).astype(np.int32)),
        fields={a: few(f) for a, f in term.fields.items()},
        outputs={n: few(f) for n, f in term.outputs.items()},
        cells=None,
        rule=None,
        shared={},
    )


def arguments(term: Term, t: float) -> Iterator[dict[str, Any]]:
    """The arguments of every element of a term, as its function receives them."""
    every = Sample.of_elements(term, np.arange(term.elements.count), t)
    return (every.arguments(k) for k in range(len(every.rows)))
