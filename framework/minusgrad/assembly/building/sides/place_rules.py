"""Rules about places: how far each node misses them.

    x = a                           | x_i - a |
    near c, radius r                | |x_i - c| - r |,  with an axis e  | |(1 - e e^T)(x_i - c)| - r |
    within a box, sphere, cylinder  how far x_i lies outside: of a box the largest of its axes

All in the run's unit of length; a node meets a rule whose miss is no more than the tolerance.

Decisions 0159.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import UserError, at_key
from ....scene.records import Record
from ....scene.state_tables.sides_table import SideTable
from ....scene.units import UnitSystem, split_quantity

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class PlaceRule:
    """A rule: its `words` in messages, the miss of each node (n,), and of the `nearest` node in words."""

    key: str
    words: str
    miss: np.ndarray
    nearest: str


class PlaceRules:
    """The rules of one table about places; `x` (n, d), `values` the table in the run's units.

    Raises `UserError` with its key for numbers that do not fit d.
    """

    def __init__(self, table: SideTable, values: Mapping[str, Any], x: np.ndarray, units: UnitSystem):
        self._table, self._values, self._x, self._units = table, values, x, units
        self.rules = [*self._coordinates(), *self._near(), *self._within()]

    @property
    def points(self) -> bool:
        """True if the rules are about points, in space also lines, which no facet lies on."""
        axes = [rule for rule in self.rules if rule.key in AXES]
        lone = self._values["near"] is not None and self._values["radius"] is None
        return lone or len(axes) > 1

    def _coordinates(self) -> Iterator[PlaceRule]:
        for k, name in enumerate(AXES):
            given, value = getattr(self._table, name), self._values[name]
            if given is None:
                continue
            if k >= self._x.shape[1]:
                with at_key(name):
                    raise UserError(f"{name}: nodes have {self._x.shape[1]} axes, got {name}; leave it out")
            miss = np.abs(self._x[:, k] - value)
            least, most = self._x[:, k].min(), self._x[:, k].max()
            at = self._x[np.argmin(miss), k]
            there = f"the nearest is {self._length(at, given)}, of {self._length(least, given)} to"
            yield PlaceRule(
                name,
                f"at {name} = {self._length(value, given)}",
                miss,
                f"{there} {self._length(most, given)}",
            )

    def _near(self) -> Iterator[PlaceRule]:
        centre, radius = self._values["near"], self._values["radius"]
        if centre is None:
            return
        away = self._x - self._point("near", centre)
        if (axis := self._values["axis"]) is not None:
            away = _across(away, self._direction("axis", axis))
        distance = np.linalg.norm(away, axis=1)
        miss = np.abs(distance - (radius or 0.0))
        given = next((one for one in (self._table.radius, *(self._table.near or ())) if one is not None), 0)
        far = "" if radius is None else f"{self._length(radius, given)} from "
        what = "the axis through " if axis is not None else ""
        nearest = f"the nearest is {self._length(distance[np.argmin(miss)], given)} away"
        yield PlaceRule("near", f"at {far}{what}{self._words(centre, given)}", miss, nearest)

    def _within(self) -> Iterator[PlaceRule]:
        values, given = self._values["within"], _first_text(self._table.within)
        if values is None:
            return
        with at_key("within"):
            if values["box"] is not None:
                kind = "box"
                low, high = np.sort([self._point("box", one) for one in values["box"]], axis=0)
                miss = np.maximum(low - self._x, self._x - high).max(axis=1)
            elif values["sphere"] is not None:
                kind, sphere = "sphere", values["sphere"]
                away = self._x - self._point("sphere", sphere["centre"])
                miss = np.linalg.norm(away, axis=1) - sphere["radius"]
            else:
                kind, cylinder = "cylinder", values["cylinder"]
                away = self._x - self._point("cylinder", cylinder["centre"])
                axis = self._direction("cylinder", cylinder["axis"])
                miss = np.linalg.norm(_across(away, axis), axis=1) - cylinder["radius"]
                if cylinder["length"] is not None:
                    along = away @ axis
                    miss = np.maximum.reduce([miss, -along, along - cylinder["length"]])
        miss = np.maximum(miss, 0.0)
        nearest = f"the nearest is {self._length(miss.min(), given)} outside"
        yield PlaceRule("within", f"within the {kind}", miss, nearest)

    def _point(self, key: str, given: tuple[float, ...]) -> np.ndarray:
        d = self._x.shape[1]
        if len(given) != d:
            with at_key(key):
                raise UserError(f"{key}: needs {d} numbers, one for each axis, got {len(given)}; correct it")
        return np.array(given)

    def _direction(self, key: str, given: tuple[float, ...]) -> np.ndarray:
        if self._x.shape[1] != 3:
            with at_key(key):
                raise UserError(
                    f"{key}: is for bodies in space, got {self._x.shape[1]} axes; give `near` and a radius,"
                    " or a sphere"
                )
        made = self._point(key, given)
        if not made.any():
            with at_key(key):
                raise UserError(f"{key}: needs an axis that is not zero, got {list(given)}; correct it")
        return made / np.linalg.norm(made)

    def _words(self, point: tuple[float, ...], like: Any) -> str:
        return f"({', '.join(self._length(one, like) for one in point)})"

    def _length(self, value: float, like: Any) -> str:
        return length_words(value, like, self._units)


def length_words(value: float, like: Any, units: UnitSystem, digits: int = 7) -> str:
    """A length in the unit that a user wrote another one in, `like` "3 mm"; else in the run's unit."""
    unit = split_quantity(like)[1] if isinstance(like, str) else units.symbol("m")
    size = units.convert(f"1 {unit}", "m") if isinstance(like, str) else 1.0
    return f"{value / size:.{digits}g}" + ("" if unit == "1" else f" {unit}")


def _across(away: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The parts (n, d) of vectors across a unit vector."""
    return away - np.outer(away @ axis, axis)


def _first_text(given: Any) -> Any:
    """The first length with a unit inside of a table, whose unit messages have; else 0."""
    if isinstance(given, Record):
        given = [getattr(given, key) for key in type(given).model_fields]
    if isinstance(given, (list, tuple)):
        return next((found for one in given if (found := _first_text(one))), 0)
    return given if isinstance(given, str) else 0
