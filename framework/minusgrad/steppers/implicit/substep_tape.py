"""Tape of an implicit run: the solved stages of each step, recorded for its derivatives.

A step has one substep, or 2, 4, ... where its equation was not solved at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...energies.fields import Field
from .stage import ImplicitStage


@dataclass(frozen=True)
class SolvedStage:
    """A solved stage: its numbers, its time, the positions x at its start, u, y, q and the x_s of R (N,)."""

    stage: ImplicitStage
    time: float
    x: np.ndarray
    u: np.ndarray
    y: np.ndarray
    q: np.ndarray
    seen: np.ndarray


@dataclass
class SubstepTape:
    """The solved stages of some steps from number `first` on, by step; `start`: x, v and a before step 0."""

    first: int = 0
    stages: dict[int, list[SolvedStage]] = field(default_factory=dict)
    start: Sequence[np.ndarray] = ()

    def begin(self, first: int, state: Sequence[np.ndarray]) -> None:
        """Forget all steps; the next one is number `first`, from this x, v and a, if there is one."""
        self.first = first
        self.stages.clear()
        if first == 0:
            self.start = state

    def begin_step(self, step: int) -> None:
        """Drop the record of this step, which begins once more."""
        self.stages[step] = []

    @staticmethod
    def size(moving: list[Field], steps: int) -> int:
        """Bytes of a tape of so many steps, each of one substep."""
        return steps * 5 * 8 * sum(f.values.size for f in moving) // 2
