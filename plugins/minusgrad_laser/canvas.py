"""The canvas: rows and columns of cells, in which dose and target are numbers.

Cell (row, column) is centred at y = row pixel, x = column pixel; y points up, row 0 is the bottom row. In
flat arrays it is cell row columns + column. The field, where a path may lie, is spanned by those centres:

    0 <= x <= (columns - 1) pixel        0 <= y <= (rows - 1) pixel
"""

from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from minusgrad.plugin import Quantity, Record, UserError, memory

Length = Annotated[float | str, Quantity("m", "positive")]
Count = Annotated[int, Field(ge=1)]
CELL_BYTES = 200
"""Bytes for a cell: target, share, dose and adjoints, maps and their copies for a checkpoint."""


def _require_fitting(columns_and_rows: tuple[int, int]) -> tuple[int, int]:
    cells = prod(columns_and_rows)
    memory.require(CELL_BYTES * cells, f"{cells} cells", error=ValueError)
    return columns_and_rows


class CanvasTable(Record):
    """`canvas`: `size` as columns and rows (an image brings its own), and the side of a cell."""

    size: Annotated[tuple[Count, Count], AfterValidator(_require_fitting)] | None = None
    """Number of columns and rows of cells (default: those of the target's image)."""
    pixel: Length = 1.0
    """Side of a cell."""


@dataclass(frozen=True)
class Canvas:
    """Cells in the run's units; `unit` is the name of its unit of length, "1" where it has none."""

    rows: int
    columns: int
    pixel: float = 1.0
    unit: str = "1"

    @property
    def size(self) -> np.ndarray:
        """Of the field along x and y: (2,)."""
        return np.array([self.columns - 1, self.rows - 1]) * self.pixel

    def holding(self, points: np.ndarray, source: str) -> np.ndarray:
        """The points (n, 2) [length] of a path, put onto the rim where rounding left them beside it.

        Raises `UserError` with the first of those that lie outside the field.
        """
        slack = 1e-9 * self.pixel
        outside = ~((points >= -slack) & (points <= self.size + slack)).all(axis=1)
        if outside.any():
            k = int(np.flatnonzero(outside)[0])
            (x, y), (width, height) = points[k], self.size
            unit = "" if self.unit == "1" else f" {self.unit}"
            raise UserError(
                f"{source}: path outside the field: point {k} of {len(points)} lies at x = {x:.6g}{unit},"
                f" y = {y:.6g}{unit}; the field goes from 0 to {width:.6g}{unit} along x and to"
                f" {height:.6g}{unit} along y ({outside.sum()} points are outside)"
            )
        return np.clip(points, 0.0, self.size)
