"""Stepper: the interface of integrators and minimisers, to the scheduler, observers and derivatives."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ..energies.fields import Field, Motion
from ..engine import storage
from ..errors import CheckpointError, EnergyError
from ..potential.potential import Potential
from .holds import Holds
from .magnetic.force import MagneticForce
from .moves import Friction, Moves
from .schemes import Scheme
from .tape import Tape


class DifferentiableStepper(Protocol):
    """A stepper in time whose runs have derivatives: its step is a sequence of moves that have an adjoint.

    The derivatives (`adjoint`) interpret `scheme.moves` and use the kernels of `moves`. They set `dt` and
    `step`. On a `tape` the stepper records what the adjoint needs.
    """

    step: int
    dt: float
    t0: float
    moves: Moves
    scheme: Scheme
    friction: Friction | None
    tape: Tape | None
    potential: Potential
    motions: tuple[Motion, ...]
    inertia: Mapping[str, Any]
    gradient: Mapping[str, Any]
    holds: Holds
    dissipation: Potential | None
    magnetic: MagneticForce | None

    @property
    def fused(self) -> bool: ...

    @property
    def time(self) -> float: ...

    @property
    def moving(self) -> list[Field]: ...

    def differentiable(self) -> "DifferentiableStepper": ...

    def with_tape(self, tape: Tape) -> "DifferentiableStepper":
        """The same stepper, recording on a tape."""

    def begin_tape(self, first: int) -> None: ...

    def advance(self, n: int) -> None: ...

    def evaluate(self) -> None: ...

    def state(self) -> dict[str, np.ndarray]: ...

    def restore(self, state: dict[str, np.ndarray]) -> None: ...


class Stepper:
    """Moves the fields of a potential, in place.

    `step` is the number of steps taken. `gradient` holds dU/d(field) at the present fields, by field, held
    components included. `motions` are the fields that move in time, with velocity and inertia; a minimiser
    has none.
    """

    kind: str = ""
    """Its kind in a scene file."""

    potential: Potential
    motions: tuple[Motion, ...] = ()
    inertia: Mapping[str, Any] = {}
    gradient: Mapping[str, Any]
    holds: Holds
    dissipation: Potential | None = None
    magnetic: MagneticForce | None = None
    step: int
    dt: float = 0.0

    @property
    def outcome(self) -> str | None:
        """The outcome in one word; None until the stepper has finished."""
        return None

    @property
    def verdict(self) -> str:
        """The outcome in a sentence; empty for an integrator."""
        return ""

    @property
    def time(self) -> float:
        """The time at which the potential is taken."""
        raise NotImplementedError

    @property
    def moving(self) -> list[Field]:
        """The fields that change."""
        raise NotImplementedError

    @property
    def failed(self) -> bool:
        """True if the stepper ended without reaching its tolerances."""
        return False

    @property
    def balance(self) -> dict[str, float]:
        """Energy that has come in and gone out so far, by name: work (in), dissipated (out)."""
        return {}

    @property
    def residual(self) -> float | None:
        """How far a minimiser is from its end; None for an integrator."""
        return None

    def differentiable(self) -> DifferentiableStepper:
        """This stepper, for derivatives of a run of it.

        Raises `EnergyError` naming the kind and the cure, if its runs have no derivatives.
        """
        reason = "has no adjoint" if self.motions else "searches for a minimum"
        raise EnergyError(
            f"stepper '{self.name}': {reason}, so a run of it has no derivative; use a splitting scheme,"
            " such as leapfrog"
        )

    @property
    def name(self) -> str:
        """Its kind in a scene file; else the name of its class."""
        return self.kind or type(self).__name__

    def advance(self, n: int) -> None:
        """Move the fields by n steps, or fewer if the stepper finishes before."""
        raise NotImplementedError

    def evaluate(self) -> None:
        """Recompute the gradient; needed only if something other than a step changed fields or parameters."""
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a step reads before it writes, except the fields; here the gradient."""
        return {f"gradient/{n}": storage.host(g).copy() for n, g in self.gradient.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set what `state` returned. Raises `CheckpointError` if anything is missing or does not fit."""
        for name, present in self.state().items():
            if name not in state or state[name].shape != present.shape:
                raise CheckpointError(
                    f"the checkpoint's 'stepper/{name}' is missing or does not fit this stepper"
                )
        for name, array in self.gradient.items():
            storage.store(array, state[f"gradient/{name}"])
