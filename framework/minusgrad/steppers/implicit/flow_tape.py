"""Tape of a gradient flow: the temperatures at both ends of each step, recorded for its derivatives.

Decisions 0350.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...energies.fields import Field


class FlowScheme(NamedTuple):
    """C (new T + now T_0 + before T_-1) / h + (1 - old) dU/dT + old dU/dT_0 = 0."""

    new: float
    now: float
    before: float
    old: float

    def sum(self, there: np.ndarray, here: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """new T + now T_0 + before T_-1."""
        earlier = 0.0 if before is None else self.before * before
        return self.new * there + self.now * here + earlier


@dataclass(frozen=True)
class FlowStep:
    """A solved step: its scheme, the times at its ends, T at its end, at its start, and before it (N,)."""

    scheme: FlowScheme
    times: tuple[float, float]
    there: np.ndarray
    here: np.ndarray
    before: np.ndarray | None


@dataclass
class FlowTape:
    """The steps from number `first` on, by number."""

    first: int = 0
    steps: dict[int, FlowStep] = field(default_factory=dict)

    @staticmethod
    def size(moving: list[Field], steps: int) -> int:
        """Bytes of a tape of so many steps."""
        return 3 * 8 * steps * sum(f.values.size for f in moving)
