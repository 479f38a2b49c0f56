"""Triples of nodes within a cutoff: a centre with two arms, each unordered pair of arms once.

(i; j, k)     for each centre i, and each two rows j < k of its list of neighbours, images included

Decisions 0289.
"""

from typing import ClassVar

import numpy as np

from ...engine import memory
from ...errors import EnergyError
from ..node_tuples import NodeTuples
from .pair_list import PairList
from .pair_tuples import PairTuples, later, require_nodes, tuple_beyond


class TripleList(PairTuples):
    """The triples of a list of pairs: `nodes` (E, 3), the centre first."""

    SIZE: ClassVar[int] = 3

    @classmethod
    def _listed_tuples(cls, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        visits, images = pairs.visits()
        others = later(visits[:, 0])
        first = np.repeat(np.arange(len(visits)), others)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(others) - others, others)
        nodes = np.stack([visits[first, 0], visits[first, 1], visits[second, 1]], axis=1)
        arms = np.stack([images[first, 0], images[first, 1], images[second, 1]], axis=1)
        return np.ascontiguousarray(nodes, np.int32), np.ascontiguousarray(arms)

    @classmethod
    def _tuple_beyond(cls, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        return tuple_beyond(pairs, cls.SIZE)


def all_triples(nodes: np.ndarray, what: str) -> NodeTuples:
    """Every node with every two others, (n (n - 1) (n - 2) / 2, 3). Raises `EnergyError` for less than three.

    `what`: the name of the term, which begins messages.
    """
    require_nodes(3, nodes, what)
    count = len(nodes)
    memory.require(6 * count**3, f"{what}: all triples of {count} nodes", "give a `cutoff`", EnergyError)
    first, second = np.triu_indices(count - 1, 1)
    others = np.array([np.delete(nodes, k) for k in range(count)])
    rows = np.stack(
        [np.repeat(nodes, len(first)), others[:, first].ravel(), others[:, second].ravel()], axis=1
    )
    return NodeTuples(np.ascontiguousarray(rows, np.int32))
