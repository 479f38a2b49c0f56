"""CSR lists of the slots that contribute to each row: sums without atomics.

    row r = sum of slots[start[r] : start[r + 1]], in this order

The order is fixed, so a sum has the same bits at any number of threads.

Decisions 0260.
"""

from dataclasses import dataclass

import numpy as np

from .node_numbers import node_numbers

MANY = 1 << 16
"""Slots that are sorted by counting, in a fifth of the time; SciPy is not imported for fewer."""


@dataclass(frozen=True)
class Gather:
    """Row r receives slots[start[r] : start[r + 1]], in that order; int32."""

    start: np.ndarray
    slots: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, count: int) -> "Gather":
        """`rows[slot]` is the row that a slot belongs to; slots keep their order within a row."""
        flat = np.ravel(rows)
        order = np.argsort(flat, kind="stable") if len(flat) < MANY else _counting_sort(flat, count)
        slots = node_numbers("slots", order)
        start = np.zeros(count + 1, np.int32)
        start[1:] = np.cumsum(np.bincount(flat, minlength=count))
        return cls(start, slots)


def parts(start: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a list divided into parts of at most so many slots.

    Returns where parts begin in the list, (parts + 1,), and where rows begin among the parts, (rows + 1,).
    """
    counts = -(-np.diff(start) // most)
    rows = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    within = np.arange(rows[-1]) - np.repeat(rows[:-1], counts)
    begin = np.repeat(start[:-1], counts) + most * within
    return np.append(begin, start[-1]).astype(np.int32), rows


def _counting_sort(rows: np.ndarray, count: int) -> np.ndarray:
    """The stable order of numbers below `count`: the transpose of a matrix with one entry in each row."""
    from scipy.sparse import csr_matrix

    ones, start = np.ones(len(rows), np.int8), np.arange(len(rows) + 1, dtype=np.int32)
    return csr_matrix((ones, rows, start), shape=(len(rows), count)).tocsc().indices
