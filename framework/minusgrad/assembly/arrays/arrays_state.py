"""The state `arrays`: fields, lists, data and bodies from an HDF5 file beside the scene.

    [state]
    kind = "arrays"
    file = "start.h5"                           its groups: `arrays_file`
    units = { charge = "C" }                    what a field is, if not x, v or m: an SI unit
    motions = [{ position = "x", velocity = "v", inertia = "m" }]

Without `motions` the field x moves, with velocity v and inertia m, or 1 where there is no m.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field as Limits

from ...energies.fields import Body, Grid, Motion, State
from ...errors import UserError, choices, unknown
from ...scene.records import Quantity, Record, quantities
from ...scene.units import UnitSystem, parse_unit
from ..contexts import StateContext
from .arrays_file import Stored, read

USUAL = {"x": "m", "v": "m s^-1", "m": "kg", "box": "m", "rest": "m", "charge": "C"}
"""What fields are that the scene says nothing about, by name."""
LABELS = {"x": "position", "v": "velocity", "m": "mass"}


class MotionTable(Record):
    """A field that moves: its velocity, and its inertia, a field or one number in the run's units."""

    position: str
    """Field that moves."""
    velocity: str
    """Field with its velocity, of the same shape."""
    inertia: str | float = 1.0
    """Field with the inertia of each node, or one number in the run's units."""


class GridTable(Record):
    """A grid of cells, and the fields over it; `spacing` is that of its cells."""

    shape: Annotated[tuple[int, ...], Limits(min_length=1, max_length=3)]
    """Numbers of cells along each axis."""
    spacing: Annotated[float | str, Quantity("m", "positive")] = 1.0
    """Length of the edge of a cell."""
    fields: tuple[str, ...] = ()
    """Fields over the cells."""


class ArraysBlock(Record):
    """Fields, lists of elements and bodies from an HDF5 file beside the scene."""

    file: str
    """HDF5 file with the arrays, beside the scene."""
    units: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """SI unit of each field, by name (default: that of x, v, m, box, rest and charge)."""
    motions: tuple[MotionTable, ...] | None = None
    """Fields that move (default: x with velocity v, and inertia m if there is one)."""
    labels: dict[str, str] = {}  # noqa: RUF012
    """Names of fields in the trajectory, by field."""
    names: tuple[str, ...] = ()
    """Names of the nodes; each is a body, too."""
    shown: tuple[str, ...] = ()
    """Lists of tuples that a picture is drawn with (default: all)."""
    grids: dict[str, GridTable] = {}  # noqa: RUF012
    """Grids of cells, by name."""

    def make(self, context: StateContext) -> State:
        return ArraysState(self, read(self.file, context.read(self.file)), context.units).state()


class ArraysState:
    """A block, the arrays of its file, and the units of the run."""

    def __init__(self, block: ArraysBlock, arrays: Mapping[str, Stored], units: UnitSystem):
        self.block, self.units, self._arrays = block, units, arrays

    def state(self) -> State:
        """The state. Raises `UserError` that names the array and the cure."""
        fields, units = self._fields()
        motions = self._motions(fields)
        shapes = {name: np.shape(values) for name, values in fields.items()}
        for motion in motions:
            _check(motion, shapes)
        nodes = max((len(values) for values in fields.values()), default=0)
        tuples = {name: _numbers(f"tuples/{name}", one.values, 2) for name, one in self._of("tuples").items()}
        return State(
            fields=fields,
            units=units,
            motions=motions,
            bodies=tuple(self._bodies(nodes)),
            tuples={name: rows.astype(np.int32) for name, rows in tuples.items()},
            data=self._data(tuples),
            images=self._images(tuples),
            labels={n: label for n, label in (LABELS | self.block.labels).items() if n in fields},
            names=self.block.names,
            shown=self.block.shown or tuple(tuples),
            grids=self._grids(),
            tables={name: _reals(f"tables/{name}", one) for name, one in self._of("tables").items()},
        )

    def _of(self, group: str) -> dict[str, Stored]:
        """The arrays of a group, by their names in it."""
        start = f"{group}/"
        return {path.removeprefix(start): a for path, a in self._arrays.items() if path.startswith(start)}

    def _fields(self) -> tuple[dict[str, np.ndarray], dict[str, str]]:
        stored = self._of("fields")
        if not stored:
            raise UserError(f"'{self.block.file}': has no fields, got {_listed(self._arrays)}; add fields/x")
        if strange := [name for name in self.block.units if name not in stored]:
            raise UserError(f"units: {unknown('field', strange[0], stored)}")
        fields, units = dict[str, np.ndarray](), dict[str, str]()
        for name, one in stored.items():
            values = _reals(f"fields/{name}", one)
            if values.ndim < 1 or not values.size:
                raise UserError(f"fields/{name}: needs a value for each node, got shape {values.shape}")
            units[name] = self._dimension(name, one.unit)
            fields[name] = values * self._factor(f"fields/{name}", one.unit, units[name])
        return fields, units

    def _dimension(self, name: str, unit: str) -> str:
        """The SI unit of a field: as the scene says, or of its usual name, or of the unit in the file."""
        found = self.block.units.get(name) or USUAL.get(name)
        if found is None:
            known = unit and unit != "1"
            return UnitSystem.si().symbol(unit) if known else "1"
        parse_unit(found)
        return found

    def _factor(self, path: str, unit: str, dimension: str) -> float:
        """One unit of the file in those of the run; exactly 1 where they are the same."""
        if not unit or unit == self.units.symbol(dimension):
            return 1.0
        try:
            return self.units.of_numbers(unit, dimension)[0]
        except UserError as error:
            raise UserError(f"{path}: attribute `unit`: {error}") from None

    def _motions(self, fields: Mapping[str, np.ndarray]) -> tuple[Motion, ...]:
        if self.block.motions is None:
            moves = {"x", "v"} <= fields.keys()
            return (Motion("x", "v", "m" if "m" in fields else 1.0),) if moves else ()
        for table in self.block.motions:
            named = [table.position, table.velocity]
            named += [table.inertia] if isinstance(table.inertia, str) else []
            if missing := [name for name in named if name not in fields]:
                raise UserError(f"motions: {unknown('field', missing[0], fields)}")
        return tuple(Motion(m.position, m.velocity, m.inertia) for m in self.block.motions)

    def _bodies(self, nodes: int) -> list[Body]:
        rows = {n: _numbers(f"bodies/{n}", one.values, 1) for n, one in self._of("bodies").items()}
        named = [Body(name, [k]) for k, name in enumerate(self.block.names)]
        return named + [Body(n, _within(f"bodies/{n}", one, nodes)) for n, one in rows.items()]

    def _data(self, tuples: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
        data: dict[str, dict[str, np.ndarray]] = {}
        for path, one in self._of("data").items():
            name, _, argument = path.partition("/")
            if name not in tuples or not argument:
                raise UserError(f"data/{path}: {unknown('list', name, tuples)}")
            values = _reals(f"data/{path}", one)
            if np.shape(values)[:1] != (count := len(tuples[name]),):
                raise UserError(
                    f"data/{path}: needs a value for each of the {count} elements of tuples/{name}, got shape"
                    f" {values.shape}; correct it"
                )
            dimension = UnitSystem.si().symbol(one.unit) if one.unit and one.unit != "1" else "1"
            data.setdefault(name, {})[argument] = values * self._factor(f"data/{path}", one.unit, dimension)
        return data

    def _images(self, tuples: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The copies of nodes of lists. Raises `UserError` for those of no list, and for real numbers."""
        found = self._of("images")
        for name, one in found.items():
            if name not in tuples:
                raise UserError(f"images/{name}: {unknown('list', name, tuples)}")
            _numbers(f"images/{name}", one.values, one.values.ndim)
        return {name: one.values.astype(np.int32) for name, one in found.items()}

    def _grids(self) -> dict[str, Grid]:
        return {
            name: Grid(table.shape, quantities(table, self.units)["spacing"], table.fields)
            for name, table in self.block.grids.items()
        }


def _check(motion: Motion, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise `UserError` for a velocity or an inertia that does not fit the positions."""
    x, v = shapes[motion.position], shapes[motion.velocity]
    if x != v:
        raise UserError(
            f"fields/{motion.velocity}: needs the shape of '{motion.position}', {x}, got {v}; give a velocity"
            " for each node"
        )
    if isinstance(motion.inertia, str) and shapes[motion.inertia] != x[:1]:
        raise UserError(
            f"fields/{motion.inertia}: needs a number for each node, shape {x[:1]}, got"
            f" {shapes[motion.inertia]}; correct it"
        )


def _numbers(path: str, values: np.ndarray, axes: int) -> np.ndarray:
    """Numbers of nodes. Raises `UserError` for another number of axes, and for real numbers."""
    if values.ndim != axes or values.dtype.kind not in "iu":
        shape = "(elements, nodes)" if axes == 2 else "(nodes,)"
        raise UserError(
            f"{path}: needs whole numbers of nodes, shape {shape}, got {values.dtype} of shape {values.shape}"
        )
    return values


def _within(path: str, rows: np.ndarray, nodes: int) -> np.ndarray:
    if rows.size and not (rows.min() >= 0 and rows.max() < nodes):
        wrong = rows.min() if rows.min() < 0 else rows.max()
        raise UserError(f"{path}: needs numbers of nodes from 0 to {nodes - 1}, got {wrong}; correct it")
    return rows.astype(np.int32)


def _reals(path: str, one: Stored) -> np.ndarray:
    """The numbers as reals; whole numbers are exact."""
    if one.values.dtype.kind not in "iuf":
        raise UserError(f"{path}: needs numbers, got {one.values.dtype}; convert them")
    return np.asarray(one.values, np.float64)


def _listed(arrays: Mapping[str, Any]) -> str:
    return choices("", [*arrays]).strip(" ()") or "nothing"
