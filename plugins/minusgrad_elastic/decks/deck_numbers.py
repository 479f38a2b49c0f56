"""Numbers of a deck and where they stand; faces of cells that no other cell has."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from .abaqus_elements import COUNTS, DIMENSIONS, face_nodes


def free_faces(kind: str, rows: np.ndarray, cells: Sequence[tuple[str, np.ndarray]]) -> Iterator[np.ndarray]:
    """The faces of some cells that no other cell has: those that a surface without names of faces means."""
    counts: Counter[tuple[int, ...]] = Counter()
    for other, nodes in cells:
        if DIMENSIONS[other] == DIMENSIONS[kind]:
            for face in face_nodes(other):
                corners = [n for n in face if n < _corner_count(other)]
                counts.update(map(tuple, np.sort(nodes[:, corners], axis=1).tolist()))
    for face in face_nodes(kind):
        corners = [n for n in face if n < _corner_count(kind)]
        keys = map(tuple, np.sort(rows[:, corners], axis=1).tolist())
        free = np.array([counts[key] == 1 for key in keys])
        if free.any():
            yield rows[free][:, list(face)]


def _corner_count(kind: str) -> int:
    return COUNTS[kind.rstrip("0123456789")]


class Index:
    """Numbers of a file, and where each stands."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers
        self.order = np.argsort(numbers, kind="stable")

    def rows_of(self, wanted: np.ndarray) -> np.ndarray:
        """The places of numbers; -1 for those that are not there."""
        if not len(self.numbers):
            return np.full(len(wanted), -1)
        at = np.searchsorted(self.numbers, wanted, sorter=self.order)
        at = self.order[np.clip(at, 0, len(self.numbers) - 1)]
        return np.where(self.numbers[at] == wanted, at, -1)

    def rows_within(self, first: int, last: int, step: int) -> np.ndarray:
        """The places of first, first + step, ... up to last; those that are not there do not count."""
        apart = self.numbers - first
        return np.flatnonzero((apart >= 0) & (self.numbers <= last) & (apart % max(step, 1) == 0))
