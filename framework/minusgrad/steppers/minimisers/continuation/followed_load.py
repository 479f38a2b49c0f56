"""Steppers that follow equilibria along a load: what grows, and the interface that all of them share.

    dU/dx(x; s) = 0        s scales the parameters named as loads, displacements of supports, and the time

Decisions 0364.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....energies.fields import Field
from ....errors import EnergyError
from ....potential.potential import Potential
from ...holds import Holds
from ...stepper import PARTS, Stepper
from ..newton import Newton


class FollowedLoad(Stepper):
    """The base of steppers whose steps are equilibria under a growing load.

    search: over what is free, without holds of its own. loads: names of parameters, "term.argument". Raises
    `EnergyError` where nothing grows with the load, or a load cannot be zero.
    """

    slow_on_devices = "each step copies the fields, for a search on the host"
    fixed = PARTS | {"search"}

    def __init__(self, search: Newton, holds: Holds, loads: Sequence[str] = (), duration: float = 1.0):
        self.search, self.duration = search, duration
        super().__init__(replace(search.system, holds=holds))
        self.gradient = search.gradient
        self._full = {name: self._owner(name).parameter(name).astype(np.float64) for name in loads}
        self._refuse(loads)
        self.step = 0

    @property
    def load(self) -> float:
        """s: the part of the full load that was reached."""
        raise NotImplementedError

    @property
    def moving(self) -> list[Field]:
        """The unknown fields."""
        return self.search.moving

    @property
    def energy(self) -> float:
        """U at the present fields."""
        return self.search.energy

    @property
    def outside(self):  # type: ignore[override]
        """The fields that began outside their bounds."""
        return self.search.outside

    @property
    def inputs(self) -> tuple[float, ...]:
        return self.search.inputs

    def place(self) -> None:
        """Set held components and loads to those of the present level."""
        self._apply(self.load)

    def begin(self) -> None:
        self.place()
        self.search.begin()
        self.mark()

    def take_parameters(self, names: Sequence[str]) -> None:
        """The values of those that are loads are the full ones."""
        for name in self._full.keys() & set(names):
            self._full[name] = self._owner(name).parameter(name).astype(np.float64)

    def update(self) -> None:
        """Evaluate again where fields or parameters were written since the last step."""
        if self.stale:
            self.evaluate()

    def evaluate(self) -> None:
        """Recompute U and its gradient at the present level."""
        self.place()
        self.search.evaluate()
        self.mark()

    def state(self) -> dict[str, np.ndarray]:
        self.update()
        return self._state()

    def _state(self) -> dict[str, np.ndarray]:
        """`state`, with the gradient as it is."""
        return {n: a for n, a in self.search._state().items() if n not in ("step", "t")}

    @property
    def full_loads(self) -> dict[str, np.ndarray]:
        """The parameters that are loads, at the full load."""
        return {name: full.copy() for name, full in self._full.items()}

    @property
    def _uses_time(self) -> bool:
        """True if an energy or a constraint depends on the time."""
        return self.potential.uses_time or (self.constraints is not None and self.constraints.uses_time)

    def _apply(self, load: float) -> None:
        """Set held components, and the parameters that are loads, to those of a level."""
        t = load * self.duration
        self.holds.take_part(load)
        self.holds.place(t)
        for name, full in self._full.items():
            self._owner(name).set_parameter(name, load * full)
        self.search.t = t

    def _owner(self, name: str) -> Potential:
        """The energies or the constraints, whichever have this parameter."""
        kept = self.constraints
        return kept.potential if kept and name.partition(".")[0] in kept.terms else self.potential

    def _refuse(self, loads: Sequence[str]) -> None:
        for name in loads:
            role = self._owner(name).roles_of(name)[0][1]
            if not role.admits(np.zeros(())):
                raise EnergyError(
                    f"loads: '{name}' begins at zero, and must be {role.limits()}; leave it out"
                )
        if not (self._full or self.holds.sudden or self.holds.moving or self._uses_time):
            raise EnergyError(
                "load_steps: nothing grows with the load: no hold moves, no energy depends on the time; name"
                ' parameters, such as loads = ["traction.traction"]'
            )

    def _remark(self, text: str) -> dict[str, Any]:
        """An entry of the journal that a run shows."""
        return {"event": "remarked", "step": self.step, "text": text}
