"""The curvature of U along a direction, and its derivatives: one more tangent of the graphs of energies.

    c = phi . H phi = d2/ds2 U(x + s phi) at s = 0,    H = d2U/dx2
    dc/da = sum over elements of d/da (d2u/ds2)        a: the fields x, other fields, parameters, data

phi (by field, in its shape) does not change. Where H phi = mu phi with |phi| = 1, dc/da at fixed phi is the
derivative of the eigenvalue mu. d2u/ds2 is the tangent of a tangent, its derivatives by reverse
accumulation, all symbolic. They are asked once and not in every step, so that the graphs are evaluated by
NumPy, in f64: compiling a third derivative would take longer than its numbers.

Decisions 0198.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen import tracing
from ...codegen.derivative_request import tangents
from ...codegen.verification.element_samples import Sample
from ...elements.trees.near_pairs import NearPairs
from ...energies.fields import Field
from ...energies.term import Term
from ...errors import EnergyError
from ...symbolic import differentiation, ties
from ...symbolic.graph import inputs
from ...symbolic.numpy_values import numbers

TOGETHER = 4096
"""Elements that are evaluated together."""


class ModeCurvature:
    """c of some terms along directions of some fields, at the present fields and parameters.

        curvature = ModeCurvature(potential.terms, ["x"])
        curvature.derivatives({"x": phi}, ["x", "spring.stiffness"], t)

    Raises `EnergyError` for energies without element graphs: of kernels, of trees, and of fields that maps
    compute.
    """

    def __init__(self, terms: Mapping[str, Any], names: Sequence[str], computed: Mapping[str, Field]):
        self.terms = {n: term for n, term in terms.items() if _reads(term, names)}
        self._graphs: dict[tuple, tuple[Any, list[Any], list[Any]]] = {}
        for name, term in self.terms.items():
            if not isinstance(term, Term) or isinstance(term.elements, NearPairs):
                raise EnergyError(
                    f"'{name}': has no third derivatives, which need an energy of elements, got one of"
                    " kernels or of a tree; take differences of two runs"
                )
        for name, term in terms.items():
            if read := sorted({f.name for f in term.fields.values()} & {*computed}):
                raise EnergyError(
                    f"'{name}': reads '{read[0]}', which a map computes, and third derivatives do not pass"
                    " through maps; take differences of two runs"
                )

    def derivatives(
        self, direction: Mapping[str, np.ndarray], wrt: Sequence[str], t: float
    ) -> dict[str, np.ndarray]:
        """dc/d(name) of fields and of addresses "term.argument", each in the shape of its values.

        A name that no term reads has zeros of no shape. Raises `EnergyError` for an argument without a
        derivative.
        """
        found: dict[str, Any] = dict.fromkeys(wrt, 0.0)
        for term in self.terms.values():
            for asked, argument in _arguments(term, wrt):
                found[asked] = found[asked] + self._derivative(term, argument, direction, t)
        return {n: np.asarray(values, np.float64) for n, values in found.items()}

    def value(self, direction: Mapping[str, np.ndarray], t: float) -> float:
        """c."""
        total = 0.0
        for term in self.terms.values():
            curved, _, _ = self._traced(term, tuple(direction), None)
            total += sum(float(each[0].sum()) for _, each in self._numbers(term, [curved], direction, t))
        return total

    def _derivative(
        self, term: Term, argument: str, direction: Mapping[str, np.ndarray], t: float
    ) -> np.ndarray:
        """The derivative by one argument of a term, in the shape of its values."""
        _, leaves, graphs = self._traced(term, tuple(direction), argument)
        if argument in term.fields:
            out = np.zeros(term.fields[argument].shape)
            for sample, each in self._numbers(term, graphs, direction, t):
                for leaf, values in zip(leaves, each, strict=True):
                    _, slot, component = leaf.value[:3]
                    np.add.at(out, (sample.nodes[slot], *component), values)
            return out
        rows = [np.stack(each, axis=1) for _, each in self._numbers(term, graphs, direction, t)]
        return _of_rows(term, argument, np.concatenate(rows))

    def _traced(
        self, term: Term, names: tuple[str, ...], argument: str | None
    ) -> tuple[Any, list[Any], list[Any]]:
        """The graph of d2u/ds2, and those of its derivatives by the leaves of an argument."""
        key = term.name, names, argument
        if key not in self._graphs:
            if (term.name, names) not in self._graphs:
                traced = tracing.of_term(term)
                moving = [a for a, f in term.fields.items() if f.name in names and a in traced.inputs]
                along = tangents(traced, moving)
                once = differentiation.tangent([traced.value], along)
                self._graphs[term.name, names] = traced, differentiation.tangent(once, along), []
            traced, (curved,), _ = self._graphs[term.name, names]
            leaves = [] if argument is None else [x for row in traced.inputs[argument] for x in row]
            slopes = ties.settle_ties(differentiation.gradient(curved, leaves)) if leaves else []
            self._graphs[key] = curved, leaves, slopes
        return self._graphs[key]

    def _numbers(
        self, term: Term, graphs: Sequence[Any], direction: Mapping[str, np.ndarray], t: float
    ) -> Iterator[tuple[Sample, list[np.ndarray]]]:
        """The numbers of some graphs for all elements, part by part."""
        along = {a: direction[f.name] for a, f in term.fields.items() if f.name in direction}
        for begin in range(0, term.elements.count, TOGETHER):
            rows = np.arange(begin, min(begin + TOGETHER, term.elements.count))
            sample = Sample.of_elements(term, rows, t, along)
            leaves = {leaf.serial: sample.leaf(leaf) for leaf in inputs(list(graphs))}
            found = numbers(graphs, leaves, term.tables, term.dtype.type)
            yield sample, [np.broadcast_to(one, rows.shape) for one in found]


def _reads(term: Any, names: Sequence[str]) -> bool:
    return any(field.name in names for field in term.fields.values())


def _arguments(term: Term, wrt: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names asked for that a term reads, each with the term's argument of it."""
    for asked in wrt:
        if "." not in asked:
            yield from ((asked, a) for a, f in term.fields.items() if f.name == asked)
            continue
        own = [a for a in (*term.parameters, *term.data) if term.address(a) == asked]
        if fixed := [a for a in own if a not in term.energy.differentiable]:
            raise EnergyError(f"{term.name} has no derivative with respect to '{fixed[0]}'")
        yield from ((asked, a) for a in own)


def _of_rows(term: Term, argument: str, each: np.ndarray) -> np.ndarray:
    """The derivative by an argument's values, in their shape, from rows of elements."""
    if argument in term.data:
        return each.reshape(len(each), *term.shape(argument))
    values = term.parameters[argument]
    if values.index is None:
        return each.sum(axis=0).reshape(values.shape)
    rows = np.zeros((len(values.rows), each.shape[1]))
    np.add.at(rows, values.index, each)
    return rows.reshape(values.shape)
