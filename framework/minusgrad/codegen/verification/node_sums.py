"""Sums over all elements at some nodes: the reference for kernels that store sums alone.

Decisions 0262.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ...energies.term import Term
from ...symbolic.numpy_values import After
from ...symbolic.scalar import Scalar
from ..derivative_request import Place
from .element_samples import Number, Places, Sample


@dataclass(frozen=True)
class NodeNumber(Number):
    """A number of a node: the sum over its slots of `graphs`, by slot. `graph` is the first of them."""

    graphs: Mapping[int, Scalar] = field(default_factory=dict)

    @classmethod
    def of(cls, summands: Sequence[tuple[Place, Scalar]]) -> Self:
        """The sum of these; several arguments may be bound to one field."""
        graphs: dict[int, Scalar] = {}
        for place, graph in summands:
            graphs[place.slot] = graphs[place.slot] + graph if place.slot in graphs else graph
        first = Number.at(*summands[0])
        return cls(first.name, first.graph, graphs=graphs)


@dataclass(frozen=True)
class NodePlaces(Places):
    """Some nodes, each with the sum over its slots; a sample has a row for each slot at its node.

    `slots`: of each sample which slot of its element each row is.
    """

    slots: Sequence[np.ndarray] = ()
    noun: ClassVar[str] = "node"

    def reference(self, wanted: Sequence[Number]) -> tuple[np.ndarray, np.ndarray]:
        found = [np.array(some.exact(_number_graphs(wanted))) for some in self.samples]
        return self._add_node_rows(wanted, found), self._add_node_rows(wanted, [*map(np.abs, found)])

    def rounding_reach(self, wanted: Sequence[Number]) -> np.ndarray:
        return self._add_node_rows(
            wanted, [some.numbers_with_rounding(_number_graphs(wanted))[1] for some in self.samples]
        )

    def number_with_change(self, number: Number, after: After) -> np.ndarray:
        found = [np.array(some.exact(_number_graphs([number]), after)) for some in self.samples]
        return self._add_node_rows([number], found)[0]

    def _add_node_rows(self, wanted: Sequence[Number], found: Sequence[np.ndarray]) -> np.ndarray:
        """(numbers, nodes) of the numbers of all graphs, (graphs, rows) for each node."""
        sums = np.zeros((len(wanted), len(self.samples)), found[0].dtype)
        for k, (one, slots) in enumerate(zip(found, self.slots, strict=True)):
            graph = 0
            for n, number in enumerate(wanted):
                assert isinstance(number, NodeNumber)
                for slot in number.graphs:
                    sums[n, k] += one[graph][slots == slot].sum()
                    graph += 1
        return sums


def _number_graphs(wanted: Sequence[Number]) -> list[Scalar]:
    return [graph for number in wanted if isinstance(number, NodeNumber) for graph in number.graphs.values()]


def at_nodes(term: Term, rows: np.ndarray, t: float, tangents: Mapping[str, Any]) -> NodePlaces:
    """A node of each of some elements, another slot of each, with all elements at it."""
    elements = term.elements.nodes
    nodes = np.unique(elements[rows, np.arange(len(rows)) % elements.shape[1]])
    samples, slots = [], []
    for node in nodes:
        at, slot = np.nonzero(elements == node)
        samples.append(Sample(term, at, list(elements[at].T), t, tangents))
        slots.append(slot)
    return NodePlaces(nodes, samples, sums=True, largest=False, slots=slots)
