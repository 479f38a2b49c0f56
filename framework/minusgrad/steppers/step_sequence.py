"""The sequence of moves that make one step of an integrator, as data.

    half friction 0, kick 0, (drift i, forces i, kick i + 1) for each stage i, half friction 1

The order of a step is written only here. The stepper (`moves`), its adjoint and its tangents say what each
move does, as pieces, which run by launches or in one kernel of many steps (`move_pieces`). A new move is a
class here and pieces in each of the three. One without pieces for a move refuses the steps that contain it
(`rule`).

Decisions 0359.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from ..engine.kernels import Code
from ..errors import EnergyError

Result = TypeVar("Result")
Emit = Callable[["Move", str], list[Code]]
"""Code of a move; its number as text: a literal, or `move` plus a literal inside the loop over stages."""

ON_CONSTRAINTS = ", in the projection onto constraints"


@dataclass(frozen=True)
class Move:
    """A part of a step; `number` says which coefficient it takes, inside a stage counted from its own."""

    number: int = 0
    name: ClassVar[str]
    where: ClassVar[str] = ""
    """Ends a message about a number that overflowed in this move, if more is to be said than the field."""
    without_adjoint: ClassVar[str | None] = None
    """Why a run with this move has no derivative, and the cure; None if it has one."""


class HalfFriction(Move):
    """The dissipation acts for half a step: number 0 at the start of the step, number 1 at its end."""

    name = "half friction"
    where = ", in the friction"


class Kick(Move):
    """v <- v - kicks[number] dt (dU/dx) / inertia, by the forces evaluated last."""

    name = "kick"


class Drift(Move):
    """x <- x + drifts[number] dt v; then it is time t0 + (step + ends[number]) dt, and supports are there."""

    name = "drift"


class BathDrift(Drift):
    """A drift with the exchange of heat in its middle."""

    name = "drift in a heat bath"
    without_adjoint = "a run in a heat bath has no derivative; use leapfrog"


class MagneticDrift(Drift):
    """A drift in a magnetic field, which turns the velocity on the way (`magnetic.flow`)."""

    name = "drift in a magnetic field"
    where = ", in the magnetic field"


class FlowDrift(Drift):
    """A drift along the flow of kinetic energy and a part of U (`part_flow`)."""

    name = "drift along the flow of a part"


class InteractionKick(Kick):
    """A kick by the energies, less the part whose flow drifts follow."""

    name = "kick of the interaction"


class PressureKick(Kick):
    """A kick, and that of the cell by stress and pressure (`pressure.cell`)."""

    name = "kick at constant pressure"
    without_adjoint = "a run at constant pressure has no derivative; use leapfrog, at constant volume"


class PressureDrift(Drift):
    """Half a drift, the cell's deformation with the exchange of heat in its middle, half a drift."""

    name = "drift at constant pressure"
    without_adjoint = PressureKick.without_adjoint


class ConstrainedDrift(Drift):
    """A drift onto constraints, by impulses along their gradients at its start (`projections`)."""

    name = "drift onto constraints"
    where = ON_CONSTRAINTS


class ConstrainedBathDrift(BathDrift):
    """Half a drift onto constraints, the heat bath within their tangent space, half a drift."""

    name = "drift onto constraints in a heat bath"
    where = ON_CONSTRAINTS


class TangentProjection(Move):
    """v <- v - W G^T M, so that G v + dg/dt = 0 at the present positions."""

    name = "projection of velocities"
    where = ON_CONSTRAINTS


class Forces(Move):
    """dU/dx at the positions after the drift of this number."""

    name = "forces"


@dataclass(frozen=True)
class StepSequence:
    """The moves of a step: `opening`, then `stage` once for each coefficient in `row`, then `closing`."""

    opening: tuple[Move, ...]
    stage: tuple[Move, ...]
    closing: tuple[Move, ...]
    row: str = "drifts"

    def unrolled(self, stages: int) -> tuple[Move, ...]:
        """All moves of a step with so many stages, each with the number of its own coefficient."""
        middle = (replace(m, number=m.number + k) for k in range(stages) for m in self.stage)
        return (*self.opening, *middle, *self.closing)

    def replacing(self, old: type[Move], new: type[Move]) -> "StepSequence":
        """The same sequence with every move of one class replaced by the same number of another."""

        def part(moves: Sequence[Move]) -> tuple[Move, ...]:
            return tuple(new(m.number) if type(m) is old else m for m in moves)

        return replace(self, opening=part(self.opening), stage=part(self.stage), closing=part(self.closing))

    def constrained(self) -> "StepSequence":
        """The same sequence with drifts onto constraints, and tangent velocities at its end."""
        if any(isinstance(move, ConstrainedDrift | ConstrainedBathDrift) for move in self.stage):
            return self
        drifts = self.replacing(Drift, ConstrainedDrift).replacing(BathDrift, ConstrainedBathDrift)
        return replace(drifts, closing=(TangentProjection(), *drifts.closing))

    def code(self, emit: Emit) -> Code:
        """The moves as code, the stages in a loop."""
        stage = Code.joined(_pieces(emit, self.stage, inside=True))
        return Code.joined(
            [
                *_pieces(emit, self.opening),
                stage.inside(f"for move in range({self.row}.shape[0]):"),
                *_pieces(emit, self.closing),
            ]
        )

    def unrolled_code(self, emit: Emit, stages: int) -> Code:
        """The moves as code, one after another, each with the number of its own coefficient."""
        return Code.joined(_pieces(emit, self.unrolled(stages)))

    def unrolled_back(self, emit: Emit, stages: int) -> Code:
        """The moves as code from the last to the first, each with the number of its own coefficient."""
        return Code.joined(_pieces(emit, self.unrolled(stages)[::-1]))

    def reversed_code(self, emit: Emit, stages: int) -> Code:
        """The moves as code from the last to the first, the stages in a loop."""
        stage = [Code(f"move = {stages - 1} - back\n"), *_pieces(emit, self.stage[::-1], inside=True)]
        return Code.joined(
            [
                *_pieces(emit, self.closing[::-1]),
                Code.joined(stage).inside(f"for back in range({stages}):"),
                *_pieces(emit, self.opening[::-1]),
            ]
        )


def _pieces(emit: Emit, moves: Sequence[Move], inside: bool = False) -> list[Code]:
    return [piece for move in moves for piece in emit(move, _number(move, inside))]


def _number(move: Move, inside: bool) -> str:
    if not inside:
        return str(move.number)
    return f"move + {move.number}" if move.number else "move"


def rule(rules: Mapping[type[Move], Result], move: Move, interpreter: str) -> Result:
    """The rule of an interpreter for a move. Raises `EnergyError` where there is none."""
    found: Any = rules.get(type(move))
    if found is None:
        known = ", ".join(kind.name for kind in rules)
        raise EnergyError(
            f"{interpreter}: has no rule for the move '{move.name}', got a step that contains it;"
            f" use a scheme of these moves: {known}"
        )
    return found


KICK_DRIFT_KICK = StepSequence(
    opening=(HalfFriction(0), Kick(0)),
    stage=(Drift(0), Forces(0), Kick(1)),
    closing=(HalfFriction(1),),
)
"""One kick more than drifts; forces at the end of a step serve the first kick of the next one."""
