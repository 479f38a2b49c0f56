"""Diagnosis of a step whose result is not finite: the first move, term and node that give NaN or infinity.

Decisions 0119.
"""

from collections.abc import Callable

from ...energies.fields import Field
from ...errors import RangeError
from ...potential.non_finite import ON_A_LINE, first_non_finite_node
from ..step_sequence import Forces, HalfFriction, Kick, Move
from ..timed.single_moves import SingleMoves
from .energy_balance import SMALLER, UNITS


class NonFiniteDiagnosis:
    """Takes a step move by move, and looks at the moving fields after each, before a kick at the forces.

    `forces(t)` evaluates the forces at time t as the stepper does.
    """

    def __init__(self, single: SingleMoves, moving: list[Field], forces: Callable[[float], None]):
        self.single, self.moving, self.forces = single, moving, forces

    def first(self, number: int, t0: float, dt: float) -> str | None:
        """The first non-finite value in step `number`, in words; None if all moves are finite.

        The fields keep the values at which it occurred.
        """
        self.single.begin(number, t0, dt)
        for move in self.single.scheme.moves:
            if (found := self._in_move(move)) is not None:
                return found
        return None

    def overflow(self) -> str | None:
        """The first moving field and node that are not finite."""
        for field in self.moving:
            if (node := first_non_finite_node(field.values)) is not None:
                return f"field '{field.name}', node {node} overflowed; {SMALLER}"
        return None

    def _in_move(self, move: Move) -> str | None:
        if isinstance(move, HalfFriction) and self.single.moves.friction is None:
            return None
        if isinstance(move, Kick):
            moves, cure = self.single.moves, "; a smaller dt or a softening may cure it"
            if (found := moves.potential.first_nonfinite(self.single.time, moves.gradient)) is not None:
                return found + cure * (not found.endswith(ON_A_LINE))
        try:
            if isinstance(move, Forces):
                self.forces(self.single.time)
                return None
            self.single.take(move)
        except RangeError as error:
            return f"{error.finding}; {SMALLER}, {UNITS}"
        return (found := self.overflow()) and f"{found}{move.where}"
