"""Triples of nodes within a cutoff: a centre with two arms, each unordered pair of arms once.

    (i; j, k)     for each centre i, and each two rows j < k of its list of neighbours, images included

They are tuples of three nodes with the images of a `PairList`, in the order of its targets and rows. They are
listed again from the pairs when these are. Triples beyond the cutoff, but within the skin, have no energy.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar

import numpy as np

from ..engine import lane_blocks, memory, storage
from ..errors import EnergyError
from .elements import Elements
from .gather import Gather
from .list_reference import ListReference
from .loops import EachElement, Loop
from .node_tuples import NodeTuples
from .pair_list import PairList

LEAST_ROOM = 64
"""Triples that every list has room for."""


class TripleList(Elements):
    """The triples of a list of pairs: `nodes` (E, 3), the centre first, and their `images`, int32 (E, 3, d).

    d is 0 without a box. They are listed again in place, as long as their number stays between the same two
    powers of two, which are the room of the buffers that kernels fill: how a run goes on does not depend on
    how it came about.
    """

    fixed: ClassVar[bool] = False
    listed: ClassVar[bool] = True

    def __init__(self, pairs: PairList):
        self._take(pairs, *_triples(pairs))
        self._slots: dict[Hashable, tuple[storage.ArraySlot, Callable[[], np.ndarray]]] = {}
        self._blocks: dict[Hashable, tuple[lane_blocks.Blocks, Callable[[], np.ndarray]]] = {}
        self._gathers: dict[Hashable, Gather | None] = {}

    def _take(self, pairs: PairList, nodes: np.ndarray, images: np.ndarray) -> None:
        self.pairs, self._listed_from, self._empty = pairs, pairs.version, not len(nodes)
        self.nodes, self.images = _beyond(pairs) if self._empty else (nodes, images)

    @property
    def empty(self) -> bool:
        return self._empty

    @property
    def arity(self) -> int:
        return 3

    @property
    def loop(self) -> Loop:
        return EachElement()

    @property
    def room(self) -> int:
        return _room(len(self.nodes))

    def tuples(self) -> np.ndarray:
        return self.nodes

    def part(self, rng: np.random.Generator, elements: int, targets: int) -> tuple[Elements, Any]:
        return NodeTuples(self.nodes).part(rng, elements, targets)

    def arrays(self) -> dict[str, Any]:
        return {"nodes": self.derived("nodes", lambda: self.nodes)}

    def derived(self, name: Hashable, make: Callable[[], np.ndarray]) -> storage.ArraySlot:
        if name not in self._slots:
            self._slots[name] = storage.ArraySlot(storage.allocate(make())), make
        return self._slots[name][0]

    def in_lanes(self, name: Hashable, make: Callable[[], np.ndarray], wide: int) -> lane_blocks.Blocks:
        if (name, wide) not in self._blocks:
            self._blocks[name, wide] = lane_blocks.blocked(make(), wide, self.room), make
        return self._blocks[name, wide][0]

    def gather(self, nodes: int, slots: Any = None) -> Gather | None:
        key = nodes, None if slots is None else tuple(slots)
        if key not in self._gathers:
            self._gathers[key] = super().gather(nodes, slots)
        return self._gathers[key]

    def following(self, reference: ListReference | None) -> "TripleList":
        return TripleList(self.pairs.following(reference))

    def rebuild(self, fields: Mapping[str, Any]) -> "TripleList":
        """The triples for the reference as it is: itself, or a list with another room."""
        pairs = self.pairs.rebuild(fields)
        if pairs is self.pairs and pairs.version == self._listed_from:
            return self
        nodes, images = _triples(pairs)
        if _room(len(nodes)) != self.room:
            return TripleList(pairs)
        self._take(pairs, nodes, images)
        self.version += 1
        self._gathers.clear()
        for slot, make in self._slots.values():
            slot.replace(make())
        for blocks, make in self._blocks.values():
            lane_blocks.store(blocks, make())
        return self


def _triples(pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
    """The nodes (E, 3) and images (E, 3, d) of the triples of these pairs."""
    visits, images = pairs.visits()
    later = _later(visits[:, 0])
    first = np.repeat(np.arange(len(visits)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    nodes = np.stack([visits[first, 0], visits[first, 1], visits[second, 1]], axis=1)
    arms = np.stack([images[first, 0], images[first, 1], images[second, 1]], axis=1)
    return np.ascontiguousarray(nodes, np.int32), np.ascontiguousarray(arms)


def _room(count: int) -> int:
    """The power of two above a number of triples: kernels in lanes begin at one, so that none is passed."""
    return max(1 << count.bit_length(), LEAST_ROOM)


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
