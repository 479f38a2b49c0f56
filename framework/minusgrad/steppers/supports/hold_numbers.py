"""The numbers of holds by name, such as "grip.angle": values that can be overwritten and differentiated by.

    displacement, velocity    one number for each axis of the hold [the field's unit; / s]
    angle, rate               of its rotation [rad; rad / s]

A hold has those that it was given; centre, axis and duration are fixed, because they shape the path itself.

Decisions 0373, 0387.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...energies.fields import Hold
from ...errors import EnergyError, choices
from ...scene.units import rate_unit
from .held_components import HeldComponents

FIXED = ("centre", "axis", "duration")
"""The numbers of a hold without derivatives."""


class HoldNumbers:
    """The numbers of some holds; `writes`: how often they were overwritten."""

    def __init__(self, held: Mapping[str, HeldComponents], holds: Sequence[Hold]):
        self._held, self._holds, self.writes = held, holds, 0
        self._shapes: dict[str, tuple[Hold, tuple[int, ...]]] = {}
        for hold in holds:
            for number, shape in _shapes(hold).items():
                self._shapes.setdefault(f"{hold.name}.{number}", (hold, shape))

    def __contains__(self, name: object) -> bool:
        return name in self._shapes

    @property
    def names(self) -> list[str]:
        """ "hold.number", in the order of the holds."""
        return list(self._shapes)

    def place(self, name: str) -> tuple[HeldComponents, slice, str]:
        """The components that a number moves: those of their field, which of them, and the row of `given`.

        Raises `EnergyError` for a name that no hold has, or two have.
        """
        if name not in self:
            self.refuse(name)
            raise EnergyError(f"no hold has the number '{name}'{choices(name, self.names)}")
        hold, _ = self._shapes[name]
        if sum(one.name == hold.name for one in self._holds) > 1:
            raise EnergyError(f"'{name}': two holds are named '{hold.name}'; rename one")
        held = self._held[hold.field]
        return held, held.columns(hold.name), name.rpartition(".")[2]

    def refuse(self, name: str) -> None:
        """Raise `EnergyError` for a number that a hold of this name was not given, or that is fixed."""
        of, _, number = name.rpartition(".")
        if (hold := next((one for one in self._holds if one.name == of), None)) is None:
            return
        if number in FIXED:
            trouble = f"has no derivative by its {number}"
        else:
            trouble = f"has no {number}, or none that acts in time"
        given = ", ".join(_shapes(hold)) or "none; give it a displacement, a velocity or a rotation"
        raise EnergyError(f"hold '{of}': {trouble}, got '{name}'; its numbers are: {given}")

    def shape(self, name: str) -> tuple[int, ...]:
        """() of an angle or a rate, else (axes,)."""
        self.place(name)
        return self._shapes[name][1]

    def unit(self, name: str) -> str:
        """The unit of a number, as of a field."""
        held, _, row = self.place(name)
        of = {"displacement": held.field.unit, "velocity": rate_unit(held.field.unit)}
        return of.get(row, {"angle": "rad", "rate": "rad s^-1"}.get(row, "1"))

    def parameter(self, name: str) -> np.ndarray:
        """The present values of a number."""
        held, _, row = self.place(name)
        shape = self._shapes[name][1]
        return held.stated(name.rpartition(".")[0], row, int(np.prod(shape))).reshape(shape).copy()

    def set_parameter(self, name: str, values: np.ndarray) -> None:
        """Overwrite a number; `Holds.place` moves the components. Raises `EnergyError` for another shape, and
        for numbers that are not finite."""
        held, _, row = self.place(name)
        given, shape = np.asarray(values, np.float64), self._shapes[name][1]
        if given.shape != shape:
            raise EnergyError(f"'{name}': needs shape {list(shape)}, got {list(given.shape)}; reshape it")
        if not np.isfinite(given).all():
            raise EnergyError(f"'{name}': needs finite numbers, got infinity or NaN; correct it")
        held.set(name.rpartition(".")[0], row, given)
        self.writes += 1


def _shapes(hold: Hold) -> dict[str, tuple[int, ...]]:
    """The shapes of the numbers that a hold was given."""
    found: dict[str, tuple[int, ...]] = {}
    if hold.displacement:
        found["displacement"] = (len(hold.displacement),)
    if hold.velocity:
        found["velocity"] = (len(hold.velocity),)
    if hold.rotation is not None:
        found["angle"] = ()
        if hold.duration > 0.0 or hold.rotation.rate != 0.0:
            found["rate"] = ()
    return found
