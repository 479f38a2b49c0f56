"""Directed pairs of nodes, (i, j) and (j, i) apart, which have fields of their own; and triples around them.

    (p; i, j)        p the number of the pair: node i with each of its neighbours j, node by node
    (p; i, j, k)     each directed pair with each other neighbour k of i

Slot 0 of an element is the number of its directed pair: fields over pairs have a value there. Their number
follows the list of neighbours, so that these fields have room for the power of two above it; values behind
the last pair are zero, and no element reads them.

Decisions 0290.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...engine import memory
from ...errors import EnergyError
from ..changing.rewritten_tuples import room_of
from ..node_tuples import NodeTuples
from .pair_list import PairList
from .pair_tuples import PairTuples, require_nodes, tuple_beyond


class DirectedPairs(PairTuples):
    """The directed pairs of a list: `nodes` (E, 3), the number of the pair first, then its nodes.

    `pair_set`: which pairs they are, the same of all elements around them; `pair_room`: of fields over them.
    """

    SIZE: ClassVar[int] = 3

    def _take_tuples(self, pairs: PairList, nodes: np.ndarray, images: np.ndarray) -> None:
        super()._take_tuples(pairs, nodes, images)
        self.pair_set, self.pair_room = pairs.choice.key, _pair_room(pairs)

    @classmethod
    def _listed_tuples(cls, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        visits, images = pairs.visits()
        return _numbered_by_pair(np.arange(len(visits)), [*visits.T], [*images.swapaxes(0, 1)])

    @classmethod
    def _tuple_beyond(cls, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        nodes, images = tuple_beyond(pairs, cls.SIZE - 1)
        return _numbered_by_pair(np.zeros(1, int), [*nodes.T], [*images.swapaxes(0, 1)])

    def _fits_room(self, pairs: PairList, nodes: np.ndarray) -> bool:
        return super()._fits_room(pairs, nodes) and _pair_room(pairs) == self.pair_room


class DirectedTriples(DirectedPairs):
    """Each directed pair with each other neighbour of its first node: `nodes` (E, 4), the pair first.

    Both orders of two neighbours are listed, since (i, j) and (i, k) are two pairs.
    """

    SIZE: ClassVar[int] = 4

    @classmethod
    def _listed_tuples(cls, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        visits, images = pairs.visits()
        pair, third = _with_thirds(visits[:, 0])
        nodes = visits[pair, 0], visits[pair, 1], visits[third, 1]
        return _numbered_by_pair(pair, nodes, (images[pair, 0], images[pair, 1], images[third, 1]))


@dataclass(frozen=True)
class AllDirected(NodeTuples):
    """All directed pairs of some nodes, or all of their triples, without a cutoff."""

    pair_set: Hashable = None
    pair_room: int = 0


def all_directed(arity: int, nodes: np.ndarray, what: str) -> AllDirected:
    """All directed pairs of nodes (arity 3, with the number of the pair), or their triples (arity 4).

    Raises `EnergyError` for too few nodes, and for more than the memory holds. `what` begins messages.
    """
    require_nodes(arity - 1, nodes, what)
    count = len(nodes)
    memory.require(
        16 * count ** (arity - 1), f"{what}: all triples of {count} nodes", "give a `cutoff`", EnergyError
    )
    first = np.repeat(nodes, count - 1)
    second = np.concatenate([np.delete(nodes, k) for k in range(count)])
    pair, parts = np.arange(len(first)), [first, second]
    if arity == 4:
        pair, third = _with_thirds(np.repeat(np.arange(count), count - 1))
        parts = [first[pair], second[pair], second[third]]
    rows = np.ascontiguousarray(np.stack([pair, *parts], axis=1), np.int32)
    return AllDirected(rows, pair_set=("all", nodes.tobytes()), pair_room=len(first))


def _pair_room(pairs: PairList) -> int:
    """The values of a field over the directed pairs of a list."""
    return room_of(pairs.visit_count)


def _with_thirds(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each visit, with each other visit of its target: the numbers of both."""
    begin = np.searchsorted(targets, targets, side="left")
    many = np.searchsorted(targets, targets, side="right") - begin - 1
    pair = np.repeat(np.arange(len(targets)), many)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(many) - many, many)
    third = begin[pair] + place
    return pair, third + (third >= pair)


def _numbered_by_pair(
    pair: np.ndarray, nodes: Sequence[np.ndarray], images: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Elements with the number of their pair, and images, of which the pair itself has none."""
    rows = np.stack([pair, *nodes], axis=1)
    of_slots = np.stack([np.zeros_like(images[0]), *images], axis=1)
    return np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(of_slots, np.int32)
