"""Who interacts with whom: the elements that an energy is summed over.

`Tuples`: a list of node tuples, shape (E, k); single nodes are tuples of one.
`Pairs`: every unordered pair of a set of nodes, once.
`Gather`: for every row, the slots that contribute to it, in fixed order: sums need no atomics, and have
the same bits at any number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import EnergyError


@dataclass(frozen=True)
class Tuples:
    """Elements as rows of node numbers, shape (E, k), int32."""

    nodes: np.ndarray

    @classmethod
    def of(cls, rows: Sequence | np.ndarray, arity: int | None, count: int, what: str = "tuples") -> "Tuples":
        """Checked tuples of `arity` (None: any) over `count` nodes.

        Raises `EnergyError` with the first bad row.
        """
        nodes = np.asarray(rows)
        fits = nodes.ndim == 2 and nodes.size > 0 and nodes.shape[1] == (arity or nodes.shape[1])
        if not fits or nodes.dtype.kind not in "iu":
            shape, many = f"{nodes.dtype} of shape {list(nodes.shape)}", f"{arity} " if arity else ""
            raise EnergyError(f"{what}: needs rows of {many}node numbers, got {shape}")
        outside = ((nodes < 0) | (nodes >= count)).any(axis=1)
        if outside.any():
            row = int(np.argmax(outside))
            found = nodes[row].tolist()
            raise EnergyError(f"{what}: row {row} = {found} names a node outside 0..{count - 1}")
        return cls(np.ascontiguousarray(nodes, dtype=np.int32))

    @property
    def elements(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True)
class Pairs:
    """All unordered pairs of these nodes, shape (n,), int32."""

    nodes: np.ndarray

    @property
    def elements(self) -> int:
        return len(self.nodes) * (len(self.nodes) - 1) // 2


@dataclass(frozen=True)
class Gather:
    """Row r receives slots[start[r] : start[r + 1]], in that order; int32."""

    start: np.ndarray
    slots: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, count: int) -> "Gather":
        """`rows[slot]` is the row that a slot belongs to; slots keep their order within a row."""
        flat = np.ravel(rows)
        slots = np.argsort(flat, kind="stable").astype(np.int32)
        start = np.zeros(count + 1, np.int32)
        start[1:] = np.cumsum(np.bincount(flat, minlength=count))
        return cls(start, slots)
