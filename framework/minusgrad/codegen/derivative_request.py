"""Derivative requests: which of U, its derivatives and their tangents one sweep over a term computes.

    value       u
    slopes      du/da                                a: a parameter, datum, the time, or a node's component
    changes     sum over b of d2u/(da db) bdot       bdot: the tangent of b

a and b are any subsets of fields and parameters. The changes are the one product: Hessian products (fields
in, fields out), both mixed ones (fields and parameters), and the one of parameters alone.

Decisions 0254.
"""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any

import numpy as np

from ..symbolic import differentiation, ties
from ..symbolic.scalar import Scalar
from .tracing import Trace

ADJOINT = "lambda"
"""The adjoint as an argument of the map; a keyword of Python, so that no function has one of this name."""
ADJOINT_OF = "0_"
"""Begins the name of the adjoint of a field, as no name of a state's field begins."""


def adjoint_of(output: int) -> str:
    """The adjoint of a map's output, by its number, as an argument: none of Python's begins with a digit."""
    return f"{output}_{ADJOINT}" if output else ADJOINT


@dataclass(frozen=True)
class DerivativeRequest:
    """Derivatives of one term, by its arguments.

    `gradient`, `product`: of node fields, the arrays to which du/da, and its tangent, are added; those in
    `overwrite`, as ("d" or "dd", argument), are overwritten. `slopes`, `changes`: the same of other
    arguments, a row for each element. `tangents`: the directions of differentiation, an array for a node
    field; of other arguments only the name counts.

    Of a whole potential: its arrays are overwritten, unless it `adds`. `seeds`: for outputs y of its maps,
    arrays s; then all derivatives are those of U + sum of s.y; of the sum alone with `only_seeds`. `known`:
    the outputs that already have their values, so that no map recomputes them.
    """

    value: bool = False
    gradient: Mapping[str, Any] = field(default_factory=dict)
    slopes: Sequence[str] = ()
    product: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[str] = ()
    tangents: Mapping[str, Any] = field(default_factory=dict)
    overwrite: Collection[tuple[str, str]] = ()
    seeds: Mapping[str, Any] = field(default_factory=dict)
    adds: bool = False
    only_seeds: bool = False
    known: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.value or self.gradient or self.slopes or self.product or self.changes)

    def key(self, nodal: Container[str]) -> tuple:
        """Equal for requests that one kernel can serve: of `nodal` arguments also the arrays are the same."""
        arrays = (self.gradient, self.product, self.tangents)
        named = (tuple((a, id(v) if a in nodal else 0) for a, v in some.items()) for some in arrays)
        seeded = tuple((a, id(v)) for a, v in self.seeds.items())
        what = self.value, tuple(self.slopes), tuple(self.changes), tuple(self.overwrite)
        whole = self.adds, self.only_seeds, seeded, tuple(self.known)
        return *what, *whole, *named

    @property
    def names(self) -> tuple:
        """Equal for requests whose derivatives have equal graphs: the arguments, in their order."""
        nodal = tuple(self.gradient), tuple(self.product), tuple(self.tangents)
        return self.value, tuple(self.slopes), tuple(self.changes), *nodal

    def places(self, traced: Trace, slots: range) -> "Iterator[Place]":
        """All numbers that are computed for an element, in a fixed order."""
        if self.value:
            yield WHOLE
        for order, summed, nodal in (("d", self.slopes, self.gradient), ("dd", self.changes, self.product)):
            for argument in summed:
                for k, leaf in enumerate(traced.inputs[argument][0]):
                    yield Place(order, leaf, argument, column=k)
            for argument in nodal:
                overwrite = (order, argument) in self.overwrite
                for slot in slots:
                    for leaf in traced.inputs[argument][slot]:
                        yield Place(order, leaf, argument, slot=slot, overwrite=overwrite)


@dataclass
class Derivatives:
    """The sums of a sweep: U, and derivatives and changes by argument, of the shape of its values."""

    value: float = 0.0
    slopes: dict[str, np.ndarray] = field(default_factory=dict)
    changes: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """One number that a sweep computes of each element: u, or of `order` d or dd with respect to a leaf.

    It is stored in a `column` of the element's own row, or added to the node in a `slot` of the element
    (`overwrite`: the first of its sum, stored).
    """

    order: str
    leaf: Scalar | None
    argument: str = ""
    column: int | None = None
    slot: int = 0
    overwrite: bool = False

    @property
    def is_summed(self) -> bool:
        return self.column is not None

    @property
    def buffer(self) -> str:
        """The name of the array that rows of elements are in."""
        return f"{self.order}_{self.argument}" if self.argument else self.order

    @property
    def component(self) -> tuple[int, ...]:
        return self.leaf.value[2] if self.leaf is not None else ()


WHOLE = Place("value", None, column=0)
"""The energy of an element."""
TOTAL = Place("total", None, column=0)
"""The energy of a block of elements."""


@dataclass(frozen=True)
class Sweep:
    """The graph of a sweep as emitted: the trace, the places, and the tangents of leaves (by serial)."""

    traced: Trace
    places: Sequence[Place]
    along: Mapping[int, Scalar]


def tangents(traced: Trace, arguments: Sequence[str]) -> dict[int, Scalar]:
    """For each leaf of these arguments (by serial) its tangent: a leaf with the same key and "dot" behind."""
    leaves = [leaf for a in arguments for row in traced.inputs[a] for leaf in row]
    return {leaf.serial: traced.graph.input(*leaf.value, "dot") for leaf in leaves}


def weights_of(traced: Trace) -> list[Scalar]:
    """The adjoints of a map's outputs as leaves of one element's trace, in the order of `traced.given`."""
    names = takewhile(traced.inputs.__contains__, map(adjoint_of, count()))
    return [leaf for name in names for leaf in traced.inputs[name][0]]


def outputs(value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[Scalar]:
    """The numbers that belong to the places, of an element's energy `value`."""
    at = tuple([(p.order, None if p.leaf is None else p.leaf.serial) for p in places])
    key = ("outputs", value.serial, at, tuple([(serial, dot.serial) for serial, dot in along.items()]))
    return [*value.graph.once(key, lambda: _derivative_outputs(value, places, along))]


def _derivative_outputs(value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[Scalar]:
    first = [p.leaf for p in places if p.order == "d" and p.leaf is not None]
    second = [p.leaf for p in places if p.order == "dd" and p.leaf is not None]
    slopes = differentiation.gradient(value, [*first, *second])
    changes = differentiation.tangent(slopes[len(first) :], along)
    whole = [value for p in places if p in (WHOLE, TOTAL)]
    return [*whole, *ties.settle_ties([*slopes[: len(first)], *changes])]
