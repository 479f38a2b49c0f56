"""CSR lists of the slots that contribute to each row: sums without atomics.

    row r = sum of slots[start[r] : start[r + 1]], in this order

The order is fixed, so a sum has the same bits at any number of threads.
"""

from dataclasses import dataclass

import numpy as np

from .node_numbers import node_numbers


@dataclass(frozen=True)
class Gather:
    """Row r receives slots[start[r] : start[r + 1]], in that order; int32."""

    start: np.ndarray
    slots: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, count: int) -> "Gather":
        """`rows[slot]` is the row that a slot belongs to; slots keep their order within a row."""
        flat = np.ravel(rows)
        slots = node_numbers("slots", np.argsort(flat, kind="stable"))
        start = np.zeros(count + 1, np.int32)
        start[1:] = np.cumsum(np.bincount(flat, minlength=count))
        return cls(start, slots)
