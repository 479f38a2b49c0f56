"""Diagnosis of a step whose result is not finite: the first move, term and node that give NaN or infinity."""

from collections.abc import Callable

from ...energies.fields import Field
from ...errors import RangeError
from ...potential.non_finite import ON_A_LINE, first_non_finite_node
from ..step_sequence import (
    BathDrift,
    ConstrainedBathDrift,
    ConstrainedDrift,
    Drift,
    FlowDrift,
    Forces,
    HalfFriction,
    InteractionKick,
    Kick,
    MagneticDrift,
    Move,
    PressureDrift,
    PressureKick,
    TangentProjection,
    rule,
)
from ..timed.single_moves import SingleMoves


class NonFiniteDiagnosis:
    """Takes a step move by move, and looks at the moving fields and at the forces after each.

    `forces(t)` evaluates the forces at time t as the stepper does.
    """

    def __init__(self, single: SingleMoves, moving: list[Field], forces: Callable[[float], None]):
        self.single, self.moving, self.forces = single, moving, forces

    def first(self, number: int, t0: float, dt: float) -> str | None:
        """The first non-finite value in step `number`, in words; None if all moves are finite.

        The fields keep the values at which it occurred.
        """
        rules: dict[type[Move], Callable[..., str | None]] = {
            HalfFriction: self._after_friction,
            Kick: self._around_kick,
            Drift: self._after_drift,
            BathDrift: self._after_drift,
            MagneticDrift: self._after_magnetic_drift,
            InteractionKick: self._around_kick,
            FlowDrift: self._after_drift,
            PressureKick: self._around_kick,
            PressureDrift: self._after_drift,
            ConstrainedDrift: self._after_constrained_drift,
            ConstrainedBathDrift: self._after_constrained_drift,
            TangentProjection: self._after_projection,
            Forces: self._forces,
        }
        self.single.begin(number, t0, dt)
        for move in self.single.scheme.moves:
            if (found := rule(rules, move, "diagnosis of a step")(move)) is not None:
                return found
        return None

    def overflow(self) -> str | None:
        """The first moving field and node that are not finite."""
        for field in self.moving:
            if (node := first_non_finite_node(field.values)) is not None:
                return f"field '{field.name}', node {node} overflowed; try a smaller dt"
        return None

    def _after_friction(self, move: HalfFriction) -> str | None:
        if self.single.moves.friction is None:
            return None
        self.single.half_friction()
        return (found := self.overflow()) and f"{found}, in the friction"

    def _around_kick(self, move: Kick) -> str | None:
        moves = self.single.moves
        if (found := moves.potential.first_nonfinite(self.single.time, moves.gradient)) is not None:
            return found if found.endswith(ON_A_LINE) else f"{found}; a smaller dt or a softening may cure it"
        self.single.kick(move)
        return self.overflow()

    def _after_drift(self, move: Drift) -> str | None:
        self.single.drift(move)
        return self.overflow()

    def _after_magnetic_drift(self, move: MagneticDrift) -> str | None:
        self.single.drift(move)
        return (found := self.overflow()) and f"{found}, in the magnetic field"

    def _after_constrained_drift(self, move: Drift) -> str | None:
        self.single.constrained_drift(move)
        return (found := self.overflow()) and f"{found}, in the projection onto constraints"

    def _after_projection(self, move: TangentProjection) -> str | None:
        self.single.tangent(move)
        return (found := self.overflow()) and f"{found}, in the projection onto constraints"

    def _forces(self, move: Forces) -> str | None:
        try:
            self.forces(self.single.time)
        except RangeError as error:
            return str(error)
        return None
