"""Tape of a Gauss-Radau run, for its derivatives: the states before steps, and the substeps of one step.

Steps are taken once more from their recorded states, with the same bits, to get their substeps: so a tape has
the same size whatever the number of substeps.

Decisions 0248.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....energies.fields import Field
from ..motion_stepper import Memory
from .quadrature import STAGES

VECTORS = 2 * STAGES + 5
"""Of a state (`GaussRadau.state`): b and those predicted, forces, x, v and the errors of their sums."""


@dataclass(frozen=True)
class Substep:
    """A substep that was taken: its length and time; x, v (N,) and the errors of their sums at its start.

    x is measured from where forces do not depend on the place (`ClosePairs`), else from the origin.

    a0 (N,), b (7, N): the accelerations a(s) = a0 + b_1 s + ... + b_7 s^7. change: of b_7 by the last
    iteration, in parts of |a|.
    """

    h: float
    time: float
    start: Sequence[np.ndarray]
    a0: np.ndarray
    b: np.ndarray
    change: float


@dataclass
class RadauTape:
    """The states before steps, by the number of the step."""

    starts: dict[int, Memory] = field(default_factory=dict)

    @staticmethod
    def size(moving: list[Field], steps: int) -> int:
        """Bytes of a tape of so many steps."""
        return steps * VECTORS * 8 * sum(f.values.size for f in moving) // 2
