"""Symplectic splitting schemes: rows of kick and drift coefficients.

Symplectic Euler; leapfrog in its kick-drift-kick form (Verlet 1967, Phys. Rev. 159, 98); the triple jump of
order 4 and solution A of order 6 (Yoshida 1990, Phys. Lett. A 150, 262).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from .step_sequence import (
    KICK_DRIFT_KICK,
    BathDrift,
    Drift,
    Kick,
    MagneticDrift,
    Move,
    PressureDrift,
    PressureKick,
    StepSequence,
)


@dataclass(frozen=True)
class Scheme:
    """A symplectic splitting scheme: the kick and drift coefficients of one step, kicks first.

        Scheme(order=2, kicks=(0.5, 0.5), drifts=(1.0,))            leapfrog

    order: the order of the error in dt. kicks: fractions of the step, one more than drifts. drifts: fractions
    whose sum is 1. summary: a line for those who choose a scheme. sequence: the moves that use the
    coefficients, if not kick, drift, kick. Sources: Verlet 1967, Yoshida 1990 (see the module).
    """

    order: int
    kicks: tuple[float, ...]
    drifts: tuple[float, ...]
    summary: str = "Symplectic splitting."
    sequence: StepSequence = KICK_DRIFT_KICK

    @property
    def ends(self) -> tuple[float, ...]:
        """The part of a step that is over after each drift; exactly 1 after the last."""
        return (*accumulate(self.drifts[:-1]), 1.0)

    @property
    def rows(self) -> dict[str, tuple[float, ...]]:
        """The coefficients as kernels take them, by name."""
        return {"kicks": self.kicks, "drifts": self.drifts, "ends": self.ends}

    @property
    def stages(self) -> int:
        """How often the middle of the sequence is repeated."""
        return len(self.rows[self.sequence.row])

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves of one step, in their order."""
        return self.sequence.unrolled(self.stages)

    def in_bath(self) -> "Scheme":
        """The same scheme, exchanging heat in the middle of every drift."""
        return replace(self, sequence=self.sequence.replacing(Drift, BathDrift))

    def in_field(self) -> "Scheme":
        """The same scheme, with the rotation of a magnetic field in every drift.

        The flow of a drift is symmetric, so that symmetric compositions of leapfrog keep their order.
        """
        return replace(self, sequence=self.sequence.replacing(Drift, MagneticDrift))

    def constrained(self) -> "Scheme":
        """The same scheme with constraints: RATTLE, which keeps the order of symmetric compositions.

        Half kicks of neighbouring leapfrogs stay joined: a projection between them would change velocities
        along the gradients of constraints only, which the next drift does in any case.
        """
        return replace(self, sequence=self.sequence.constrained())

    def at_pressure(self) -> "Scheme":
        """The same scheme with a cell that moves, in a heat bath if there is one."""
        moving = self.sequence.replacing(Kick, PressureKick).replacing(Drift, PressureDrift)
        return replace(self, sequence=moving)


def composed(order: int, weights: Sequence[float], summary: str = Scheme.summary) -> Scheme:
    """Leapfrogs of these step fractions one after another, neighbouring half kicks joined."""
    halves = [w / 2.0 for w in weights]
    kicks = (halves[0], *(a + b for a, b in pairwise(halves)), halves[-1])
    return Scheme(order, kicks, tuple(weights), summary)


def mirrored(*outer: float) -> list[float]:
    """A symmetric row of weights whose sum is 1, given those before the middle."""
    return [*outer, 1.0 - 2.0 * sum(outer), *reversed(outer)]


TRIPLE_JUMP = mirrored(1.0 / (2.0 - 2.0 ** (1.0 / 3.0)))
SOLUTION_A = mirrored(0.784513610477560, 0.235573213359357, -1.17767998417887)

SCHEMES = {
    "symplectic_euler": Scheme(1, (1.0, 0.0), (1.0,), "Kick, drift: order 1."),
    "leapfrog": composed(2, [1.0], "Half kick, drift, forces, half kick: order 2."),
    "yoshida4": composed(4, TRIPLE_JUMP, "Three leapfrogs, the middle one backwards: order 4."),
    "yoshida6": composed(6, SOLUTION_A, "Seven leapfrogs: order 6."),
}
"""By name, as scene files choose them: a row here is all that a new scheme needs."""
