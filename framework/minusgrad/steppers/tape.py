"""Tape: the positions and velocities of some steps of an integrator, recorded for its adjoint.

positions    after every drift, and before the first step    (steps moves + 1, *shape of the field)
velocities   before either half step of friction             (2 steps, *shape of the field), with friction
turned       velocities before every drift                   (steps moves, *shape), in a magnetic field

Decisions 0249.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..energies.fields import Field, Fields, Motion
from ..engine import storage
from ..engine.kernels import Code, at_each

MOST_NUMBERS = 2**31 - 1
"""The most numbers in an array: Taichi counts them in 32 bits."""


@dataclass
class Tape:
    """The record of at most `steps` steps from number `first` on; arrays by field."""

    fields: Fields
    positions: Mapping[str, Any]
    velocities: Mapping[str, Any]
    steps: int
    turned: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0

    @classmethod
    def of(
        cls,
        fields: Fields,
        motions: Sequence[Motion],
        steps: int,
        moves: int,
        friction: bool,
        turned: Sequence[str] = (),
    ) -> "Tape":
        """An empty tape for steps of so many drifts; `turned`: the velocities that magnetic fields turn."""

        def room(field: Field, rows: int) -> Any:
            return storage.allocate(np.zeros((rows, *field.shape), field.dtype))

        positions = {m.position: room(fields[m.position], steps * moves + 1) for m in motions}
        slowed = motions if friction else ()
        velocities = {m.velocity: room(fields[m.velocity], 2 * steps) for m in slowed}
        rotated = {name: room(fields[name], steps * moves) for name in turned}
        return cls(fields, positions, velocities, steps, rotated)

    @staticmethod
    def size(
        fields: Fields,
        motions: Sequence[Motion],
        steps: int,
        moves: int,
        friction: bool,
        turned: Sequence[str] = (),
    ) -> int:
        """Bytes of a tape."""
        each = sum(fields[m.position].values.nbytes for m in motions)
        rotated = sum(fields[name].values.nbytes for name in turned)
        return each * (steps * moves + 1 + 2 * steps * friction) + rotated * steps * moves

    @staticmethod
    def longest(fields: Fields, motions: Sequence[Motion], moves: int) -> int:
        """The most steps whose rows a kernel can address."""
        most = max(fields[m.position].values.size for m in motions)
        return max(1, (MOST_NUMBERS // most - 1) // max(moves, 2))

    def record_positions(self, place: str) -> Code:
        """Copies the positions to row `place`."""
        return Code.joined(self._copied(n, array, place) for n, array in self.positions.items())

    def record_velocities(self, place: str) -> Code:
        """Copies the velocities to row `place`; no code without friction."""
        return Code.joined(self._copied(n, array, place) for n, array in self.velocities.items())

    def read_positions(self, place: str) -> Code:
        """Copies the positions of row `place` to the fields."""
        return Code.joined(self._copied(n, array, place, back=True) for n, array in self.positions.items())

    def read_velocities(self, place: str) -> Code:
        """Copies the velocities of row `place` to the fields."""
        return Code.joined(self._copied(n, array, place, back=True) for n, array in self.velocities.items())

    def record_turned(self, place: str) -> Code:
        """Copies the velocities before a drift to row `place`; no code without a magnetic field."""
        return Code.joined(self._copied(n, array, place, kind="turned") for n, array in self.turned.items())

    def read_turned(self, place: str) -> Code:
        """Copies the velocities before a drift, of row `place`, to the fields."""
        rows = self.turned.items()
        return Code.joined(self._copied(n, array, place, back=True, kind="turned") for n, array in rows)

    def _copied(self, name: str, array: Any, place: str, back: bool = False, kind: str = "tape") -> Code:
        field = self.fields[name]
        here, there = f"f_{name}[{{at}}]", f"{kind}_{name}[row, {{at}}]"
        line = f"{here} = {there}" if back else f"{there} = {here}"
        text = f"row = {place}\n" + at_each(f"f_{name}", field.array, line)
        return Code(text, {f"f_{name}": field.array, f"{kind}_{name}": array})
