"""Elements in parts of consecutive ones, each with rows of its own for the nodes that it reaches.

    node n = sum over the rows r that are copies of n,    row r = sum over the elements of its part, in order

So elements add to rows one after another, without atomics and without a number kept for each of their slots.
The number of parts follows from the elements alone, and with it the order of each sum: its bits do not depend
on the number of threads, of which as many work as there are parts.

Parts serve meshes whose consecutive elements share nodes, with many elements at each. Elsewhere there are
as many rows to copy and to sum as slots.

Decisions 0262.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .gather import Gather

COUNTS = (64, 32, 16)
"""Numbers of parts that are tried in this order."""
LEAST_SLOTS = 6
"""Slots of elements for each row, at least: with 12, parts take 0.87 of the time of slots; with 3, 1.1."""


@dataclass(frozen=True)
class Parts:
    """A division of elements, int32.

    first   (parts + 1,): the first block of elements of each part
    begin   (parts + 1,): its first row
    nodes   (rows,): the node that each row is a copy of; by part, then by node
    rows    (blocks * wide, k): the row of each slot. Lanes that fill the last block up have rows of their own
            behind those of the last part, `spare` of them, which no node sums
    """

    first: np.ndarray
    begin: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray
    spare: int

    @staticmethod
    def of(elements: np.ndarray, wide: int) -> "Parts | None":
        """The most parts of elements (E, k), in blocks of `wide`; None if all have too many rows."""
        for parts in COUNTS:
            divided = _divide_elements(elements, wide, parts)
            if divided is not None and LEAST_SLOTS * len(divided.nodes) <= elements.size:
                return divided
        return None

    def gather(self, count: int) -> Gather:
        """The rows that each of `count` nodes sums, in the order of parts."""
        return Gather.of(self.nodes[: len(self.nodes) - self.spare], count)


def _divide_elements(elements: np.ndarray, wide: int, parts: int) -> Parts | None:
    """Elements in so many parts; None if there are fewer blocks."""
    count, arity = elements.shape
    blocks = -(-count // wide)
    if blocks < parts:
        return None
    first = np.arange(parts + 1) * blocks // parts
    rows = np.zeros((blocks * wide, arity), np.int32)
    reached: list[np.ndarray] = []
    begin = [0]
    for part in range(parts):
        some = slice(first[part] * wide, min(first[part + 1] * wide, count))
        nodes, rows[some] = _nodes_of_part(elements[some], begin[-1])
        reached.append(nodes)
        begin.append(begin[-1] + len(nodes))
    rows[count:] = begin[-1] + np.arange(arity)
    begin[-1] += arity
    nodes = np.concatenate([*reached, elements[-1]])
    return Parts(_as_int32(first), _as_int32(begin), _as_int32(nodes), rows, spare=arity)


def _nodes_of_part(elements: np.ndarray, begin: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of some elements in increasing order, and the row of each slot, from `begin` on."""
    low = int(elements.min())
    met = np.zeros(int(elements.max()) + 1 - low, bool)
    met[elements - low] = True
    number = np.cumsum(met) + (begin - 1)
    return np.flatnonzero(met) + low, number[elements - low]


def _as_int32(values: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.asarray(values, np.int32)
