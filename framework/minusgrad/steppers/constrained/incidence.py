"""Which numbers of the Jacobian belong to which node: lists for kernels that work with its rows.

The rows of G are kept element by element, one after another: number `place` + u of them is the derivative of
equation e by component u of a node. An entry is (equation, place, node) of a field. Equations that share no
node that may move are independent groups: the connected components of the incidence graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...energies.fields import Field
from ...potential.constraints.equations import Equations
from ..holds import Holds


@dataclass(frozen=True)
class Entries:
    """The entries of one field, sorted by node: equation, place, node (n,); `width` components of a node.

    first: the place of the field's components among those of all fields.
    """

    field: Field
    equation: np.ndarray
    place: np.ndarray
    node: np.ndarray
    width: int
    first: int

    @property
    def by_node(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that have entries, and where those of each begin; (k,), (k + 1,)."""
        nodes, begin = np.unique(self.node, return_index=True)
        return nodes, np.append(begin, len(self.node))

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of all two entries of one node, the first of an equation that is no earlier."""
        _, begin = self.by_node
        counts = np.diff(begin)
        own = np.repeat(counts, counts)
        one = np.repeat(np.arange(len(self.node)), own)
        place = np.arange(len(one)) - np.repeat(np.cumsum(own) - own, own)
        other = np.repeat(np.repeat(begin[:-1], counts), own) + place
        kept = self.equation[one] >= self.equation[other]
        return one[kept], other[kept]


def entries(equations: Equations, names: Sequence[str]) -> list[Entries]:
    """The entries of each field."""
    found: dict[str, list[tuple[np.ndarray, ...]]] = {name: [] for name in names}
    start = 0
    for part, first in zip(equations.parts.values(), equations.first.tolist(), strict=False):
        length, column = part.columns.shape[1], 0
        for argument in part.arguments:
            field, nodes = part.term.fields[argument], part.nodes[argument]
            width = prod(field.shape[1:])
            element = np.repeat(np.arange(part.count), nodes.shape[1]).reshape(nodes.shape)
            place = start + element * length + column + np.arange(nodes.shape[1]) * width
            found[field.name].append(((first + element).ravel(), place.ravel(), nodes.ravel()))
            column += nodes.shape[1] * width
        start += part.count * length
    begins = np.concatenate([[0], np.cumsum(equations.sizes)]).tolist()
    return [
        _sorted(equations.fields[name], parts, first)
        for (name, parts), first in zip(found.items(), begins, strict=False)
    ]


def _sorted(field: Field, parts: Sequence[tuple[np.ndarray, ...]], first: int) -> Entries:
    none = [(np.zeros(0, np.int64),) * 3]
    equation, place, node = (np.concatenate(one) for one in zip(*(parts or none), strict=True))
    order = np.lexsort((equation, node))
    return Entries(field, equation[order], place[order], node[order], prod(field.shape[1:]), first)


def groups(equations: Equations, holds: Holds) -> np.ndarray:
    """The group (E,) of each equation, counted from 0: those of one group share nodes that may move."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, pairs = equations.count, list[np.ndarray]()
    for entry in entries(equations, equations.names):
        free = np.asarray(holds.free(entry.field.name).reshape(-1, entry.width).any(axis=1))[entry.node]
        pairs.append(np.stack([entry.equation, first + entry.node])[:, free])
        first += len(entry.field)
    one, other = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(len(one)), (one, other)), (first, first))
    labels = connected_components(graph, directed=False)[1][: equations.count]
    return np.unique(labels, return_inverse=True)[1]
