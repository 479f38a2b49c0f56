"""All pairs of some nodes with all others: sums over every source for a sample of targets.

Decisions 0308.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..elements import Elements
from ..loops import EachTarget, Loop, Sources

EVERY_SOURCE = EachTarget(
    (
        Sources("for j in range(0, {p}own_row[i]):", counted=True),
        Sources("for j in range({p}own_row[i] + 1, {p}row_nodes.shape[0]):", counted=False),
    ),
    rows="row_nodes",
)
"""Target i over the sources before its own row and behind it."""


class SampledTargets(Elements):
    """The pairs of some targets, rows of `sources`, int32 (n,), with all of these."""

    unordered: ClassVar[bool] = True

    def __init__(self, sources: np.ndarray, rows: np.ndarray):
        self.sources, self._rows = sources, rows.astype(np.int32)
        self.nodes = sources[self._rows]

    @property
    def arity(self) -> int:
        return 2

    @property
    def loop(self) -> Loop:
        return EVERY_SOURCE

    @property
    def count(self) -> int:
        return len(self.nodes) * (len(self.sources) - 1)

    def arrays(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"nodes": self.nodes, "own_row": self._rows, "row_nodes": self.sources}

    def of_row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        others = np.delete(self.sources, self._rows[row])
        pairs = np.stack([np.full_like(others, self.nodes[row]), others], axis=1)
        return pairs, np.arange(len(others)) < self._rows[row]

    def tuples(self) -> np.ndarray:
        return np.concatenate([self.of_row(row)[0] for row in range(len(self.nodes))])

    def part(self, rng: np.random.Generator, elements: int, targets: int) -> tuple[Elements, None]:
        return SampledTargets(self.sources, self._rows[:targets]), None
