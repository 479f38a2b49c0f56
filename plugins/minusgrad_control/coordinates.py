"""Generalised coordinates as an initial state: numbers of any unit for each system, and their rates.

    [state]
    kind = "coordinates"
    copies = 1024                          systems with the same start; default 1

    [state.coordinates.q]
    unit = "rad"
    start = [2.0, 1.5]                     a number or a row for all systems, or rows, one for each
    rate = [0.0, 0.0]                      the same of dq/dt; default 0
    scatter = 1e-3                         deviation of normal numbers added to the start of each system

A coordinate has a field of its name, and one of its rate, called `velocity`: by default "v", or of several
coordinates "v_" before the name. Every system is a node and a body, called by its number.
"""

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import Body, Motion, Record, State, StateContext, UserError, memory, rate_unit

Numbers = float | str | list[Any]


class Coordinate(Record):
    """A coordinate of every system: its unit, its start and its rate there, as numbers or quantities."""

    unit: str = "1"
    """Unit of the coordinate."""
    start: Any
    """Start: a number or a row for all systems, or rows, one for each, in the unit."""
    rate: Any = 0.0
    """Rate at the start, in the unit per time: a number, a row, or rows, one for each system."""
    scatter: float | str = 0.0
    """Standard deviation of normal numbers added to each start, in the unit."""
    velocity: str | None = None
    """Name of the field of the rate (default: "v", or "v_NAME" of several coordinates)."""


class Coordinates(Record):
    """Systems in generalised coordinates, which a Lagrangian moves: a node for each of `copies` systems."""

    copies: Annotated[int, Field(ge=1), memory.fits(400)] = 1
    """Number of systems with the same start."""
    coordinates: Annotated[dict[str, Coordinate], Field(min_length=1)]
    """The coordinates by name."""

    def make(self, context: StateContext) -> State:
        fields, units, motions, rng = {}, {}, [], context.random("coordinates")
        for name, one in self.coordinates.items():
            velocity = one.velocity or ("v" if len(self.coordinates) == 1 else f"v_{name}")
            rate = rate_unit(one.unit)
            start = _numbers_in_units(f"coordinates.{name}.start", one.start, one.unit, context)
            speed = _numbers_in_units(f"coordinates.{name}.rate", one.rate, rate, context)
            q = self._rows_by_system(f"coordinates.{name}.start", start)
            v = np.broadcast_to(self._rows_by_system(f"coordinates.{name}.rate", speed), q.shape)
            if speed.ndim == 0:
                v = np.full(q.shape, float(speed))
            width = context.units.convert(one.scatter, one.unit)
            fields[name] = q + width * rng.normal(size=q.shape) if width else q
            fields[velocity], units[name], units[velocity] = np.array(v), one.unit, rate
            motions.append(Motion(name, velocity))
        count = {n: len(values) for n, values in fields.items()}
        if len(set(count.values())) > 1:
            raise UserError(f"coordinates: need as many systems each, got {count}; give all as many rows")
        systems = len(next(iter(fields.values())))
        names = tuple(map(str, range(systems)))
        bodies = tuple(Body(name, [k]) for k, name in enumerate(names))
        return State(fields=fields, units=units, motions=tuple(motions), bodies=bodies, names=names)

    def _rows_by_system(self, what: str, values: np.ndarray) -> np.ndarray:
        """Values by system; a number or one row is that of all copies."""
        if values.ndim < 2:
            return np.tile(values, (self.copies, *[1] * values.ndim)).reshape(self.copies, *values.shape)
        if self.copies not in (1, len(values)):
            raise UserError(f"{what}: has {len(values)} rows, got copies = {self.copies}; leave `copies` out")
        return values


def _numbers_in_units(what: str, given: Any, unit: str, context: StateContext) -> np.ndarray:
    """A number, a row or rows in the run's units. Raises `UserError` for anything else."""

    def converted(one: Any) -> Any:
        if isinstance(one, (list, tuple)):
            return [converted(part) for part in one]
        if isinstance(one, bool) or not isinstance(one, (int, float, str)):
            raise UserError(f"{what}: needs numbers or quantities, got {one!r}; correct it")
        return context.units.convert(one, unit)

    found = converted(given)
    try:
        values = np.array(found, np.float64)
    except ValueError:
        raise UserError(f"{what}: has rows of different lengths; give each system as many numbers") from None
    if values.ndim > 2 or not values.size:
        raise UserError(f"{what}: needs a number, a row, or rows of numbers, got {given!r}; correct it")
    return values


STATES = {"coordinates": Coordinates}
