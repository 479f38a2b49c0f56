"""Initial fields over the cells of a grid: one value for all, a Gaussian, a picture, or an array of a file.

Row 0 is the bottom row.

constant    q = value;  vector: one with components
gaussian    q = value exp(-r^2 / (2 width^2)),  r the distance from `centre`
stripes     q = value (1 + sin(2 pi x / period)) / 2
picture     q = dark + (light - dark) L,        L in [0, 1] the light of a picture
array       q = size times the numbers of a file
"""

from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator

from minusgrad.plugin import ByKind, Quantity, Record, StateContext, UserError, images, numpy_files, printable

Length = Annotated[float | str, Quantity("m")]
Number = float | str


class Cells(NamedTuple):
    """Rows and columns of cells with the side `spacing`."""

    rows: int
    columns: int
    spacing: float


def _known_unit(unit: str) -> str:
    Quantity(unit)
    if "/" in unit:
        raise ValueError(f"needs powers, as in 'm s^-1', got '{unit}'")
    return unit


class InitialField(Record):
    """A field over cells; `unit` is an SI unit, a product of powers."""

    unit: Annotated[str, AfterValidator(_known_unit)] = "1"
    """SI unit of the field, a product of powers."""

    def values(self, cells: Cells, context: StateContext) -> np.ndarray:
        """Values (rows, columns) or (rows, columns, components) in the run's units. Raises `UserError`."""
        raise NotImplementedError


class Constant(InitialField):
    """One value in all cells."""

    kind: Literal["constant"] = "constant"
    value: Number = 0.0
    """The value, in the unit of the field."""

    def values(self, cells: Cells, context: StateContext) -> np.ndarray:
        return np.full((cells.rows, cells.columns), context.units.convert(self.value, self.unit))


class Vector(InitialField):
    """One vector in all cells."""

    kind: Literal["vector"] = "vector"
    value: tuple[Number, ...]
    """The components, in the unit of the field."""

    def values(self, cells: Cells, context: StateContext) -> np.ndarray:
        value = [context.units.convert(one, self.unit) for one in self.value]
        return np.broadcast_to(value, (cells.rows, cells.columns, len(value)))


class Gaussian(InitialField):
    """A bump of height `value` and standard deviation `width`, around `centre` (default: the middle)."""

    kind: Literal["gaussian"] = "gaussian"
    value: Number
    """Height of the bump, in the unit of the field."""
    width: Annotated[float | str, Quantity("m", "positive")]
    """Standard deviation of the bump."""
    centre: tuple[Length, Length] | None = None
    """Centre of the bump, as x and y (default: the middle)."""

    def values(self, cells: Cells, context: StateContext) -> np.ndarray:
        last = np.array([cells.columns - 1, cells.rows - 1]) * cells.spacing
        x, y = [context.units.convert(c, "m") for c in self.centre] if self.centre else 0.5 * last
        dx, dy = (
            np.arange(cells.columns) * cells.spacing - x,
            np.arange(cells.rows)[:, None] * cells.spacing - y,
        )
        width = context.units.convert(self.width, "m")
        return context.units.convert(self.value, self.unit) * np.exp(-0.5 * (dx**2 + dy**2) / width**2)


class Stripes(InitialField):
    """Stripes along the columns, from 0 to `value` and back once in each `period`."""

    kind: Literal["stripes"] = "stripes"
    period: Annotated[float | str, Quantity("m", "positive")]
    """Period of the stripes, along the columns."""
    value: Number = 1.0
    """Largest value, in the unit of the field."""

    def values(self, cells: Cells, context: StateContext) -> np.ndarray:
        x = np.arange(cells.columns) * cells.spacing / context.units.convert(self.period, "m")
        row = context.units.convert(self.value, self.unit) * 0.5 * (1.0 + np.sin(2.0 * np.pi * x))
        return np.broadcast_to(row, (cells.rows, cells.columns))


class Picture(InitialField):
    """The light of a picture, from `dark` to `light`; opaque where it has transparency.

    A picture with several pixels to a cell is averaged over them.
    """

    kind: Literal["picture"] = "picture"
    file: str
    """Picture with a whole number of pixels for each cell."""
    dark: Number = 0.0
    """Value of dark pixels, in the unit of the field."""
    light: Number = 1.0
    """Value of light pixels, in the unit of the field."""
    mean: Number | None = None
    """Mean over the cells, to which all values are shifted, in the unit of the field (default: no shift)."""

    def values(self, cells: Cells, context: StateContext) -> np.ndarray:
        light, opaque = images.read(self.file, context.read(self.file))
        dark, full = (context.units.convert(one, self.unit) for one in (self.dark, self.light))
        found = dark + (full - dark) * self._averaged_cells(light * opaque + 1.0 - opaque, cells)
        if self.mean is None:
            return found
        return found + (context.units.convert(self.mean, self.unit) - found.mean())

    def _averaged_cells(self, light: np.ndarray, cells: Cells) -> np.ndarray:
        (height, width), (rows, columns) = light.shape, (cells.rows, cells.columns)
        if height % rows or width % columns:
            raise UserError(
                f"'{self.file}': {width} x {height} pixels are no whole number for each of {columns} x {rows}"
                " cells; scale the picture"
            )
        return light.reshape(rows, height // rows, columns, width // columns).mean(axis=(1, 3))


class Array(InitialField):
    """Numbers of a file in NumPy's format .npy, (rows, columns) or (rows, columns, components).

    The values are the numbers times `size`.
    """

    kind: Literal["array"] = "array"
    file: str
    """File in NumPy's format .npy, with rows and columns of numbers."""
    size: Number = 1.0
    """Factor of the numbers, in the unit of the field."""

    def values(self, cells: Cells, context: StateContext) -> np.ndarray:
        data = context.read(self.file)
        try:
            array = numpy_files.array(data)
        except ValueError as error:
            raise UserError(
                f"'{self.file}' is no array in NumPy's format .npy ({printable(str(error), 400)});"
                " save it with numpy.save"
            ) from None
        if array.shape[:2] != (cells.rows, cells.columns) or array.ndim > 3 or array.dtype.kind not in "fiu":
            raise UserError(
                f"'{self.file}' holds an array of shape {array.shape} of {array.dtype}; needs numbers for"
                f" ({cells.rows}, {cells.columns}) cells"
            )
        return context.units.convert(self.size, self.unit) * array.astype(np.float64)


AnyField = Annotated[Constant | Vector | Gaussian | Stripes | Picture | Array, ByKind()]
