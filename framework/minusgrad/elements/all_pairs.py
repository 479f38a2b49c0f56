"""All unordered pairs of a set of nodes: forces that reach every other node, such as gravity."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .elements import Elements
from .loops import EachTarget, Loop, Sources

EVERY_OTHER = EachTarget(
    (Sources("for j in range(0, i):", counted=True), Sources("for j in range(i + 1, n):", counted=False)),
    dense=True,
)
"""Target i over the sources before it, which count the pair's energy, and those behind it."""


@dataclass(frozen=True)
class AllPairs(Elements):
    """All unordered pairs of these nodes, shape (n,), int32."""

    nodes: np.ndarray
    unordered: ClassVar[bool] = True

    @property
    def arity(self) -> int:
        return 2

    @property
    def loop(self) -> Loop:
        return EVERY_OTHER

    @property
    def count(self) -> int:
        return len(self.nodes) * (len(self.nodes) - 1) // 2

    def tuples(self) -> np.ndarray:
        """In the order (0, 1), (0, 2), ..., (1, 2), ... of the nodes."""
        low, high = np.triu_indices(len(self.nodes), 1)
        return np.stack([self.nodes[low], self.nodes[high]], axis=1)

    def of_row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        others = np.delete(self.nodes, row)
        pairs = np.stack([np.full_like(others, self.nodes[row]), others], axis=1)
        return pairs, np.arange(len(others)) < row

    def part(self, rng: np.random.Generator, elements: int, targets: int) -> tuple["AllPairs", None]:
        return AllPairs(np.sort(rng.permutation(self.nodes)[:targets])), None
