"""Tuples of nodes that are overwritten in place: the arrays that kernels have read them from follow.

Decisions 0286.
"""

from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import numpy as np

from ...engine import lane_blocks, storage
from ..elements import Elements
from ..gather import Gather
from ..loops import EachElement, Loop
from ..node_tuples import NodeTuples

LEAST_ROOM = 64
"""Tuples that every list has room for."""


class RewrittenTuples(Elements):
    """Tuples `nodes` (E, k) whose arrays for kernels are slots. A subclass says when there are new ones."""

    fixed: ClassVar[bool] = False

    def __init__(self) -> None:
        self._slots: dict[Hashable, tuple[storage.ArraySlot, Callable[[], np.ndarray]]] = {}
        self._blocks: dict[Hashable, tuple[lane_blocks.Blocks, Callable[[], np.ndarray]]] = {}
        self._gathers: dict[Hashable, Gather | None] = {}

    @property
    def arity(self) -> int:
        return self.nodes.shape[1]

    @property
    def loop(self) -> Loop:
        return EachElement()

    @property
    def has_own_nodes(self) -> bool:
        return False  # whatever the present nodes are: kernels outlive them

    def tuples(self) -> np.ndarray:
        return self.nodes

    def part(self, rng: np.random.Generator, elements: int, targets: int) -> tuple[Elements, Any]:
        return NodeTuples(self.nodes).part(rng, elements, targets)

    def arrays(self) -> dict[str, Any]:
        return {"nodes": self.derived_array("nodes", lambda: self.nodes)}

    def derived_array(self, name: Hashable, make: Callable[[], np.ndarray]) -> storage.ArraySlot:
        if name not in self._slots:
            self._slots[name] = storage.ArraySlot(storage.allocate(make())), make
        return self._slots[name][0]

    def in_lanes(self, name: Hashable, make: Callable[[], np.ndarray], wide: int) -> lane_blocks.Blocks:
        if (name, wide) not in self._blocks:
            self._blocks[name, wide] = lane_blocks.rows_in_blocks(make(), wide, self.room), make
        return self._blocks[name, wide][0]

    def gather(self, nodes: int, slots: Any = None) -> Gather | None:
        key = nodes, None if slots is None else tuple(slots)
        if key not in self._gathers:
            self._gathers[key] = super().gather(nodes, slots)
        return self._gathers[key]

    def _renew_arrays(self) -> None:
        """Overwrite the arrays that follow from the tuples, after these."""
        self.version += 1
        self._gathers.clear()
        for slot, make in self._slots.values():
            slot.replace(make())
        for blocks, make in self._blocks.values():
            lane_blocks.store(blocks, make())


def room_of(count: int) -> int:
    """The power of two above a number of tuples: kernels in lanes begin at one, so that none is passed."""
    return max(1 << count.bit_length(), LEAST_ROOM)
