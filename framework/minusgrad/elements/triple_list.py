"""Triples of nodes within a cutoff: a centre with two arms, each unordered pair of arms once.

    (i; j, k)     for each centre i, and each two rows j < k of its list of neighbours, images included

They are tuples of three nodes with the images of a `PairList`, in the order of its targets and rows. They are
listed again from the pairs when these are. Triples beyond the cutoff, but within the skin, have no energy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..engine import memory
from ..errors import EnergyError
from .list_reference import ListReference
from .node_tuples import NodeTuples
from .pair_list import PairList


@dataclass(frozen=True, eq=False, kw_only=True)
class TripleList(NodeTuples):
    """The triples of a list of pairs: `nodes` (E, 3), the centre first, and their `images`, int32 (E, 3, d).

    d is 0 without a box. `built`: the version of the pairs that they were listed from.
    """

    pairs: PairList
    images: np.ndarray
    built: int
    fixed: ClassVar[bool] = False
    listed: ClassVar[bool] = True

    @classmethod
    def among(cls, pairs: PairList) -> "TripleList":
        """The triples of these pairs. Raises `EnergyError` where there can be none."""
        visits, images = pairs.visits()
        later = _later(visits[:, 0])
        first = np.repeat(np.arange(len(visits)), later)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
        nodes = np.stack([visits[first, 0], visits[first, 1], visits[second, 1]], axis=1)
        arms = np.stack([images[first, 0], images[first, 1], images[second, 1]], axis=1)
        if not len(nodes):
            nodes, arms = _beyond(pairs)
        return cls(
            np.ascontiguousarray(nodes, np.int32),
            pairs=pairs,
            images=np.ascontiguousarray(arms),
            built=pairs.version,
        )

    def following(self, reference: ListReference | None) -> "TripleList":
        return TripleList.among(self.pairs.following(reference))

    def rebuild(self, fields: Mapping[str, Any]) -> "TripleList":
        """The triples for the reference as it is: itself, unless the pairs were listed again."""
        pairs = self.pairs.rebuild(fields)
        if pairs is self.pairs and pairs.version == self.built:
            return self
        return TripleList.among(pairs)


def all_triples(nodes: np.ndarray, what: str) -> NodeTuples:
    """Every node with every two others, (n (n - 1) (n - 2) / 2, 3). Raises `EnergyError` for less than three.

    `what`: the name of the term, which begins messages.
    """
    _require_three(nodes, what)
    count = len(nodes)
    memory.require(6 * count**3, f"{what}: all triples of {count} nodes", "give a `cutoff`", EnergyError)
    first, second = np.triu_indices(count - 1, 1)
    others = np.array([np.delete(nodes, k) for k in range(count)])
    rows = np.stack(
        [np.repeat(nodes, len(first)), others[:, first].ravel(), others[:, second].ravel()], axis=1
    )
    return NodeTuples(np.ascontiguousarray(rows, np.int32))


def _require_three(nodes: np.ndarray, what: str) -> None:
    if len(nodes) < 3:
        raise EnergyError(f"{what}: a triple needs three nodes, got {len(nodes)}; add nodes")


def _later(targets: np.ndarray) -> np.ndarray:
    """How many visits of the same target follow each visit; those of a target are consecutive."""
    last = np.searchsorted(targets, targets, side="right")
    return last - 1 - np.arange(len(targets))


def _beyond(pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
    """One triple that is beyond the cutoff, where there are no others: kernels need an element."""
    nodes, d = pairs.nodes, len(pairs.periodic)
    images = np.zeros((1, 3, d), np.int32)
    if any(pairs.periodic):
        axis = pairs.periodic.index(True)
        images[0, 1:, axis] = pairs.beyond
        return np.full((1, 3), nodes[0]), images
    _require_three(nodes, pairs.what)
    return nodes[None, :3], images
