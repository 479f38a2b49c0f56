"""Cells of windows beyond the rim of a grid: none ("zero"), that at the rim ("clamped"), or at the other rim.

A place counts the cells along each axis, and goes on counting beyond the rim.

Decisions 0268.
"""

from collections.abc import Sequence

import numpy as np


def number(place: Sequence[int], shape: Sequence[int], edges: Sequence[str]) -> int | None:
    """The number of the cell at a place, or None where no cell is."""
    found = numbers(np.array(place)[:, None], shape, edges)[0]
    return None if found < 0 else int(found)


def numbers(places: np.ndarray, shape: Sequence[int], edges: Sequence[str]) -> np.ndarray:
    """The numbers of the cells at places (axes, n), -1 where no cell is."""
    inside, moved = np.ones(places.shape[1], bool), []
    for at, size, edge in zip(places, shape, edges, strict=True):
        if edge == "zero":
            inside &= (at >= 0) & (at < size)
        moved.append(at % size if edge == "periodic" else np.clip(at, 0, size - 1))
    return np.where(inside, np.ravel_multi_index(moved, tuple(shape)), -1)
