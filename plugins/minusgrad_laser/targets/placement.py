"""The place of a drawing of a given size on a canvas: which cells it covers.

A drawing of width x height lies with its lower left corner on the corner of a cell. A canvas without a size
gets as many cells as cover the drawing and a margin around it; on a larger canvas it lies in the middle.

Decisions 0227.
"""

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from minusgrad.plugin import UserError, memory

from ..canvas import CELL_BYTES, CanvasTable

ROUNDING = 1e-3
"""Part of a cell by which a drawing may exceed the cells: resolutions in files are rounded."""


@dataclass(frozen=True)
class Placement:
    """Rows, columns of the canvas; cells left of the drawing and below; its width and height in cells."""

    rows: int
    columns: int
    left: int
    below: int
    width: float
    height: float


def place_drawing(
    size: tuple[float, float], margin: float, canvas: CanvasTable, pixel: float, source: str, unit: str
) -> Placement:
    """Where a drawing of some size [length] lies on a canvas with cells of side `pixel`.

    Raises `UserError` for a drawing that is larger than the canvas or smaller than two cells, and for more
    cells than the memory has room for.
    """
    width, height = (side / pixel for side in size)
    shown = " x ".join(f"{side:.6g}" for side in size) + ("" if unit == "1" else f" {unit}")
    if max(width, height) < 2.0:
        raise UserError(f"{source}: the drawing is {shown}, less than two cells; decrease canvas.pixel")
    border = ceil(margin / pixel - ROUNDING)
    if canvas.size is None:
        columns, rows = (max(1, ceil(side - ROUNDING)) + 2 * border for side in (width, height))
        cells = f"{source}: {columns} x {rows} cells"
        memory.require(CELL_BYTES * rows * columns, cells, "increase canvas.pixel, or scale the drawing down")
        return Placement(rows, columns, border, border, width, height)
    columns, rows = canvas.size
    if width + 2 * border > columns + ROUNDING or height + 2 * border > rows + ROUNDING:
        field = " x ".join(f"{side * pixel:.6g}" for side in canvas.size)
        raise UserError(
            f"{source}: the drawing is {shown} and its margin {margin:.6g}, larger than the canvas of"
            f" {field}; scale the drawing down, or leave canvas.size out"
        )
    left, below = (floor((whole - side) / 2 + ROUNDING) for whole, side in ((columns, width), (rows, height)))
    return Placement(rows, columns, left, below, width, height)


def average_pixels(values: np.ndarray, place: Placement) -> np.ndarray:
    """A picture's pixels (r, c), row 0 at the bottom, averaged over the area of each cell: (rows, columns).

    Beyond the picture it is 0.
    """
    along_y = _average_along(values, place.rows, place.below, place.height)
    return np.clip(_average_along(along_y.T, place.columns, place.left, place.width).T, 0.0, 1.0)


def _average_along(values: np.ndarray, cells: int, before: int, extent: float) -> np.ndarray:
    """Along the first axis: n pixels over `extent` cells, `before` cells from the start."""
    n = len(values)
    if abs(extent - n) < 10 * ROUNDING:  # pixel for pixel
        found = np.zeros((cells, values.shape[1]))
        found[before : before + n] = values
        return found
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    edges = np.clip((np.arange(cells + 1) - before) * n / extent, 0.0, n)
    whole = np.minimum(edges.astype(int), n - 1)
    upto = total[whole] + (edges - whole)[:, None] * values[whole]
    return np.diff(upto, axis=0) * extent / n
