"""The derivatives of runs, for each class of steppers: the properties that `Rollout` needs.

splitting schemes      a tape of positions; adjoint and tangents move by move (`backward`, `tangents`)
with constraints       a tape of moves; two linear systems for each step (`constrained`)
implicit schemes       a tape of solved stages; one linear system for each step (`implicit`)
variational steps      a tape of solved steps; one linear system for each (`variational`)
Gauss-Radau steps      a tape of states; transposed stage equations for each substep (`gauss_radau`)
gradient flows         a tape of both ends of steps; one linear system for each (`implicit.flow_derivatives`)
programs               a tape of states; one sweep through maps and slopes (`program`)

Decisions 0391.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from ..steppers.constrained.move_tape import MoveTape, TakenMove
from ..steppers.implicit.flow_tape import FlowTape
from ..steppers.implicit.gradient_flow import GradientFlow
from ..steppers.implicit.implicit_integrator import ImplicitIntegrator
from ..steppers.implicit.substep_tape import SubstepTape
from ..steppers.integrator import Integrator
from ..steppers.programs.evolution import Evolution
from ..steppers.programs.state_tape import StateTape
from ..steppers.stepper import DifferentiableStepper, SplittingStepper
from ..steppers.tape import MOST_NUMBERS, Tape
from ..steppers.timed.gauss_radau.gauss_radau import GaussRadau
from ..steppers.timed.gauss_radau.radau_tape import RadauTape
from ..steppers.variational.action_tape import ActionTape
from ..steppers.variational.variational_integrator import VariationalIntegrator
from .backward import Backward, RunAdjoint
from .constrained.constrained_adjoint import ConstrainedAdjoint
from .constrained.constrained_tangents import ConstrainedTangents
from .implicit.flow_derivatives import FlowAdjoint, FlowTangents
from .implicit.gauss_radau.radau_adjoint import RadauAdjoint
from .implicit.gauss_radau.radau_tangents import RadauTangents
from .implicit.implicit_adjoint import ImplicitAdjoint
from .implicit.implicit_tangents import ImplicitTangents
from .programs.program import ProgramAdjoint, ProgramTangents, kept_fields
from .tangents import Sensitivity
from .variational.variational_adjoint import VariationalAdjoint
from .variational.variational_tangents import VariationalTangents


class Tangents(Protocol):
    """A run with its tangents along some directions; `along`: the present ones of each, by field."""

    @property
    def size(self) -> int | None:
        """Bytes for each direction; None if a run carries one direction only."""

    @property
    def along(self) -> Sequence[Mapping[str, Any]]: ...

    def start(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None: ...

    def advance(self, steps: int) -> None: ...


class OneDirection:
    """Tangents of a run that carries one direction, as `Tangents`.

    A product gives a force and its change at the cost of the change alone, so that runs which share the
    forces would cost as much (figures in decision 0391).
    """

    size = None

    def __init__(self, beside: Sensitivity | ProgramTangents | VariationalTangents | RadauTangents):
        self._beside = beside
        self.advance = beside.advance

    @property
    def along(self) -> Sequence[Mapping[str, Any]]:
        return [self._beside.tangents]

    def start(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None:
        (direction,) = directions
        self._beside.start(direction)


class Derivation(ABC):
    """The derivatives of runs of one stepper. `longest`: the most steps that a tape can hold."""

    longest: int = 2**31

    def begin(self) -> None:
        """Begin a run at the present start, which a run may move. Raises `RunFailedError` where it cannot."""
        return

    @abstractmethod
    def tape_size(self, steps: int) -> int:
        """Bytes of a tape of so many steps, at most."""

    def kept(self, names: Sequence[str]) -> tuple[str, ...]:
        """The fields that a tape has to keep for derivatives by these names; none if all tapes are alike.

        Raises `EnergyError` for names without a derivative.
        """
        return ()

    @abstractmethod
    def recorded(self, steps: int, kept: Sequence[str]) -> Any:
        """The same stepper, recording on a tape of so many steps; `kept`: the fields that it keeps."""

    @abstractmethod
    def adjoint(self, recorded: Any, names: Sequence[str]) -> RunAdjoint:
        """The adjoint of the steps on a tape."""

    @abstractmethod
    def tangents(self, names: Sequence[str]) -> Tangents:
        """A run beside its tangents."""


class OfSplitting(Derivation):
    """Runs of a splitting scheme."""

    def __init__(self, stepper: SplittingStepper):
        self.stepper = stepper
        one, self._fields = stepper, stepper.potential.fields
        self._drifts, self._friction = len(one.scheme.drifts), one.dissipation is not None
        turning = (
            one.magnetic.motions.values() if one.magnetic else one.motions if one.moves.part_flow else ()
        )
        self._turned = [m.velocity for m in turning]
        self.longest = Tape.longest(self._fields, one.motions, self._drifts)

    def tape_size(self, steps: int) -> int:
        motions = self.stepper.motions
        return Tape.size(self._fields, motions, steps, self._drifts, self._friction, self._turned)

    def recorded(self, steps: int, kept: Sequence[str]) -> SplittingStepper:
        motions = self.stepper.motions
        tape = Tape.of(self._fields, motions, steps, self._drifts, self._friction, self._turned)
        return self.stepper.with_tape(tape)

    def adjoint(self, recorded: SplittingStepper, names: Sequence[str]) -> RunAdjoint:
        return Backward(recorded, names)

    def tangents(self, names: Sequence[str]) -> Tangents:
        return OneDirection(Sensitivity(self.stepper, names))


class OfConstrained(Derivation):
    """Runs of a splitting scheme with constraints, which begin on them."""

    def __init__(self, stepper: Integrator):
        self.stepper = stepper
        self.begun: list[TakenMove] = []
        """The projections of the start of the present run."""

    def begin(self) -> None:
        self.begun[:] = self.stepper.project_start()

    def tape_size(self, steps: int) -> int:
        one = self.stepper
        assert one.constraints
        drifts, count = len(one.scheme.drifts), one.constraints.count
        return MoveTape.size(
            one.potential.fields, one.motions, steps, drifts, count, one.dissipation is not None
        )

    def recorded(self, steps: int, kept: Sequence[str]) -> Integrator:
        return self.stepper.with_tape(MoveTape())

    def adjoint(self, recorded: Integrator, names: Sequence[str]) -> RunAdjoint:
        return ConstrainedAdjoint(recorded, names, self.begun)

    def tangents(self, names: Sequence[str]) -> Tangents:
        return ConstrainedTangents(self.stepper, names, self.begun)


class OfSolvedSteps(Derivation):
    """Runs of steps whose tape keeps what each has solved; of the classes of a row of `SOLVED`."""

    def __init__(self, stepper: Any, tape: Any, adjoint: Any, tangents: Callable[..., Tangents]):
        self.stepper, self._tape, self._adjoint, self._tangents = stepper, tape, adjoint, tangents

    def tape_size(self, steps: int) -> int:
        return self._tape.size(self.stepper.moving, steps)

    def recorded(self, steps: int, kept: Sequence[str]) -> Any:
        return self.stepper.with_tape(self._tape())

    def adjoint(self, recorded: Any, names: Sequence[str]) -> RunAdjoint:
        return self._adjoint(recorded, names)

    def tangents(self, names: Sequence[str]) -> Tangents:
        return self._tangents(self.stepper, names)


class OfVariational(Derivation):
    """Runs of a variational integrator; under constraints they begin on these."""

    def __init__(self, stepper: VariationalIntegrator):
        self.stepper = stepper
        self.begun: list[TakenMove] = []
        """The projections of the start of the present run, none without constraints."""

    def begin(self) -> None:
        self.begun[:] = self.stepper.project_start()

    def tape_size(self, steps: int) -> int:
        one = self.stepper
        count = one.constraints.count if one.constraints else 0
        return ActionTape.size(one.moving, steps, one.order // 2, count)

    def recorded(self, steps: int, kept: Sequence[str]) -> VariationalIntegrator:
        return self.stepper.with_tape(ActionTape())

    def adjoint(self, recorded: VariationalIntegrator, names: Sequence[str]) -> RunAdjoint:
        return VariationalAdjoint(recorded, names, self.begun)

    def tangents(self, names: Sequence[str]) -> Tangents:
        return OneDirection(VariationalTangents(self.stepper, names, self.begun))


class OfProgram(Derivation):
    """Runs of a program of maps and slopes."""

    def __init__(self, stepper: Evolution):
        self.stepper = stepper
        largest = max(field.values.size for field in stepper.moving)
        self.longest = max(1, MOST_NUMBERS // largest)

    def tape_size(self, steps: int) -> int:
        return StateTape.size(self.stepper.moving, steps)

    def kept(self, names: Sequence[str]) -> tuple[str, ...]:
        return kept_fields(self.stepper, names)

    def recorded(self, steps: int, kept: Sequence[str]) -> Evolution:
        fields = self.stepper.potential.fields
        return self.stepper.with_tape(StateTape([fields[name] for name in kept], steps))

    def adjoint(self, recorded: Evolution, names: Sequence[str]) -> RunAdjoint:
        return ProgramAdjoint(recorded, names)

    def tangents(self, names: Sequence[str]) -> Tangents:
        return OneDirection(ProgramTangents(self.stepper, names))


def _one_direction(tangents: Any) -> Callable[..., Tangents]:
    return lambda stepper, names: OneDirection(tangents(stepper, names))


SOLVED: dict[type, tuple[Any, Any, Callable[..., Tangents]]] = {
    ImplicitIntegrator: (SubstepTape, ImplicitAdjoint, ImplicitTangents),
    GradientFlow: (FlowTape, FlowAdjoint, FlowTangents),
    GaussRadau: (RadauTape, RadauAdjoint, _one_direction(RadauTangents)),
}
"""Tape, adjoint and tangents of steps that are solved."""


def derivation(stepper: DifferentiableStepper) -> Derivation:
    """The derivatives of runs of this stepper."""
    for kind, classes in SOLVED.items():
        if isinstance(stepper, kind):
            return OfSolvedSteps(stepper, *classes)
    if isinstance(stepper, Evolution):
        return OfProgram(stepper)
    if isinstance(stepper, VariationalIntegrator):
        return OfVariational(stepper)
    if isinstance(stepper, Integrator) and stepper.constraints:
        return OfConstrained(stepper)
    return OfSplitting(cast(SplittingStepper, stepper))
