"""Tape of a variational run: the solved steps, recorded for its derivatives.

A step has one part, or 2, 4, ... where its equations were not solved at once.
"""

from dataclasses import dataclass, field

import numpy as np

from ...energies.fields import Field


def _nothing() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True)
class SolvedAction:
    """A solved part of a step: its length and time, q and p at its start (N,), its displacements (s, N).

    Under constraints also its impulses (s + 1, E), velocities (N,) and time at its end.
    """

    h: float
    time: float
    q: np.ndarray
    p: np.ndarray
    u: np.ndarray
    impulses: np.ndarray = field(default_factory=_nothing)
    v: np.ndarray = field(default_factory=_nothing)
    end: float = 0.0


@dataclass(frozen=True)
class PhasePoint:
    """The state at the end of a step, or before the first: time, coordinates and velocities (N,)."""

    time: float
    q: np.ndarray
    v: np.ndarray


@dataclass
class ActionTape:
    """The solved parts of some steps from number `first` on, by step; the states between steps by number."""

    first: int = 0
    parts: dict[int, list[SolvedAction]] = field(default_factory=dict)
    states: dict[int, PhasePoint] = field(default_factory=dict)

    def begin(self, first: int, state: PhasePoint) -> None:
        """Forget all steps; the next one is number `first`, from this state."""
        self.first = first
        self.parts.clear()
        self.states = {first: state}

    @staticmethod
    def size(moving: list[Field], steps: int, degree: int, constraints: int = 0) -> int:
        """Bytes of a tape of so many steps, under so many constraints."""
        vector, kept = 8 * sum(f.values.size for f in moving) // 2, 8 * constraints * (degree + 1)
        return steps * ((4 + degree + (constraints > 0)) * vector + kept)
