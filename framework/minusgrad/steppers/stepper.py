"""What the scheduler turns and observers look at: an integrator or a minimiser."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..energies.fields import Field, Motion
from ..potential.potential import Potential
from .holds import Holds


class Stepper:
    """Moves the fields of a potential, in place.

    `step` counts; `gradient` holds dU/d(field) at the present fields, by field, held components included. Of
    what moves in time, `motions` say how.
    """

    potential: Potential
    motions: tuple[Motion, ...] = ()
    inertia: Mapping[str, Any] = {}
    gradient: Mapping[str, Any]
    holds: Holds
    dissipation: Potential | None = None
    step: int
    dt: float = 0.0

    @property
    def outcome(self) -> str | None:
        """None while there is something to do, then one word."""
        return None

    @property
    def verdict(self) -> str:
        """How it stands, in a sentence; empty where there is nothing to say."""
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
        """Whether something was asked for and not reached."""
        return False

    @property
    def balance(self) -> dict[str, float]:
        """What has gone in and out of the energy so far, by name: work (in), dissipated (out)."""
        return {}

    @property
    def residual(self) -> float | None:
        """How far a minimiser is from its end; None for what moves in time."""
        return None

    def advance(self, n: int) -> None:
        """Move the fields by n steps, or fewer if there is nothing more to do."""
        raise NotImplementedError

    def evaluate(self) -> None:
        """The gradient anew; needed only if something other than a step has changed what it depends on."""
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        """Everything a step reads before it writes, the fields apart."""
        raise NotImplementedError

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Give back what `state` took. Raises `CheckpointError` if anything is missing or does not fit."""
        raise NotImplementedError
