"""Tuples of nodes that their owner exchanges for others: contacts, bonds that form and break.

They may be none. Their room, that of the buffers that kernels fill, is a power of two; up to `LARGE` it only
grows, so that kernels and buffers serve for all of them.

Decisions 0286.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..list_reference import ListReference
from .rewritten_tuples import RewrittenTuples, room_of

LARGE = 1 << 13
"""Tuples from which on the room follows their number alone, because kernels in lanes begin there."""


class ChangingTuples(RewrittenTuples):
    """Tuples (E, k), int32, that `with_nodes` replaces; E may be 0."""

    def __init__(self, nodes: np.ndarray, room: int = 0):
        super().__init__()
        self.nodes, self._room = nodes, room_after(len(nodes), room)

    @property
    def room(self) -> int:
        return self._room

    @property
    def own_values(self) -> bool:
        return True

    def with_nodes(self, nodes: np.ndarray) -> "ChangingTuples":
        """The elements with these nodes in place of the present ones: itself, or others with another room."""
        room = room_after(len(nodes), self._room)
        if room != self._room:
            return ChangingTuples(nodes, room)
        self.nodes = nodes
        self._renew_arrays()
        return self

    def following(self, reference: ListReference | None) -> "ChangingTuples":
        return ChangingTuples(self.nodes.copy(), self._room)

    def rebuild(self, fields: Mapping[str, Any]) -> "ChangingTuples":
        return self


def room_after(count: int, present: int) -> int:
    """The room for so many tuples in the place of others."""
    if count >= LARGE:
        return room_of(count)
    return max(room_of(count), present if present <= LARGE else 0)
