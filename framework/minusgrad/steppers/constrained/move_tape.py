"""Tape of a constrained run: the moves of each step as they were taken, recorded for its derivatives.

A step has the moves of its scheme once, or 2, 4, ... times where it was divided into substeps. Positions (N,)
and velocities (N,) are in double precision, one field after another; impulses (E,) belong to projections.

Decisions 0392.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...energies.fields import Field, Fields, Motion
from ..schemes import Scheme
from ..step_sequence import Drift, HalfFriction, Kick, Move, TangentProjection
from .constrained_moves import ConstrainedMoves


def _nothing() -> np.ndarray:
    return np.zeros(0)


NOTHING = _nothing()


@dataclass(frozen=True)
class TakenMove:
    """A move of length h from time `begun` to `time`; x (N,): the positions at its end.

    before: the positions (N,) where a drift began, or the velocities (N,) before friction. v: the velocities
    (N,) after a projection of them. impulses (E,): of a projection. inner: the projections within friction.
    """

    move: Move
    h: float
    begun: float
    time: float
    x: np.ndarray
    before: np.ndarray = field(default_factory=_nothing)
    v: np.ndarray = field(default_factory=_nothing)
    impulses: np.ndarray = field(default_factory=_nothing)
    inner: "tuple[TakenMove, ...]" = ()


@dataclass
class MoveTape:
    """The moves of some steps from number `first` on, by step; `start`: the positions (N,) of the first."""

    first: int = 0
    steps: dict[int, list[TakenMove]] = field(default_factory=dict)
    start: np.ndarray = field(default_factory=_nothing)

    def begin(self, first: int, positions: np.ndarray) -> None:
        """Forget all steps; the next one is number `first`, at these positions."""
        self.first, self.start = first, positions
        self.steps.clear()

    def begin_step(self, step: int) -> None:
        """Drop the record of this step, which begins once more."""
        self.steps[step] = []

    @staticmethod
    def size(
        fields: Fields, motions: Sequence[Motion], steps: int, drifts: int, constraints: int, friction: bool
    ) -> int:
        """Bytes of a tape of so many steps, none of them divided, with so many constraints."""
        components = sum(fields[m.position].values.size for m in motions)
        vectors, projections = drifts + 1 + 6 * friction, drifts + 1 + 4 * friction
        return 8 * (steps * (vectors * components + projections * constraints) + components)


class MoveRecorder:
    """Records the moves of the present step on a tape, as they are taken."""

    def __init__(
        self,
        tape: MoveTape,
        fields: Fields,
        motions: Sequence[Motion],
        scheme: Scheme,
        moves: ConstrainedMoves,
    ):
        self.tape, self.scheme, self._moves = tape, scheme, moves
        self._positions = [fields[m.position] for m in motions]
        self._velocities = [fields[m.velocity] for m in motions]
        self._steps: list[TakenMove] = []
        self._x = self._before = NOTHING

    def begin(self, first: int) -> None:
        """Begin the tape at the present positions, with step number `first`."""
        self.tape.begin(first, _read(self._positions))

    def begin_step(self, step: int) -> None:
        """Record the moves of this step, or of its substeps, from now on."""
        self.tape.begin_step(step)
        self._steps, self._x = self.tape.steps[step], _read(self._positions)

    def before(self, move: Move) -> None:
        """Record the values that a move overwrites."""
        self._moves.projected.clear()
        self._before = _read(self._velocities) if isinstance(move, HalfFriction) else self._x

    def after(self, move: Move, dt: float, begun: float, time: float) -> None:
        """Record a move of a step of length dt, which was taken from time `begun` to `time`."""
        h, before, v, impulses = dt, NOTHING, NOTHING, NOTHING
        inner: tuple[TakenMove, ...] = ()
        if isinstance(move, Kick):
            h = self.scheme.kicks[move.number] * dt
        elif isinstance(move, Drift):
            h, before = self.scheme.drifts[move.number] * dt, self._x
            self._x, impulses = _read(self._positions), self._moves.projections.impulses.copy()
        elif isinstance(move, HalfFriction):
            h, before = 0.5 * dt, self._before
            inner = tuple(self._tangent(time, *pair) for pair in self._moves.projected)
        elif isinstance(move, TangentProjection):
            ((v, impulses),) = self._moves.projected
        self._steps.append(TakenMove(move, h, begun, time, self._x, before, v, impulses, inner))

    def _tangent(self, time: float, v: np.ndarray, impulses: np.ndarray) -> TakenMove:
        return TakenMove(TangentProjection(), 0.0, time, time, self._x, NOTHING, v, impulses)


def _read(fields: Sequence[Field]) -> np.ndarray:
    """The values of fields as one vector (N,)."""
    return np.concatenate([f.values.reshape(-1) for f in fields], dtype=np.float64)
