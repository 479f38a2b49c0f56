"""Initial state of programs on a grid: named fields with a value for each cell.

    field       shape                       unit
    NAME        (cells,) or (cells, d)      as declared
    share       (cells,)                    1: 1 / cells everywhere; a sum of cells times share is a mean

Cell (row, column) is number row columns + column, centred at y = row spacing, x = column spacing; row 0 is
the bottom row. The grid is called `cells`.
"""

from math import prod
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from minusgrad.plugin import (
    Grid,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    memory,
    quantities,
)

from .initial_fields import AnyField, Cells

Count = Annotated[int, Field(ge=1)]
CELL_BYTES = 200
"""Bytes for a cell: some fields, their adjoints, and copies for a checkpoint."""


def _require_fitting(columns_and_rows: tuple[int, int]) -> tuple[int, int]:
    cells = prod(columns_and_rows)
    memory.require(CELL_BYTES * cells, f"{cells} cells", error=ValueError)
    return columns_and_rows


class Move(Record):
    """A field that moves by Newton's law: the name of its velocity, and the mass of a cell."""

    velocity: str
    """Name of the field that is the velocity."""
    mass: Annotated[float | str, Quantity("kg", "positive")] = 1.0
    """Mass of a cell."""


class GridOfCells(Record):
    """Fields over the cells of a grid, each one value for all, a Gaussian or a picture.

    size: columns and rows. fields: by name. tables: constants over the cells, by the argument of a map.
    moves: for integrators, the velocity of each field that moves.
    """

    size: Annotated[tuple[Count, Count], AfterValidator(_require_fitting)]
    """Number of columns and rows."""
    spacing: Annotated[float | str, Quantity("m", "positive")] = 1.0
    """Side of a cell."""
    fields: Annotated[dict[str, AnyField], Field(min_length=1)]
    """Initial fields by name."""
    tables: dict[str, AnyField] = {}  # noqa: RUF012  (pydantic copies it)
    """Constants over the cells, by the argument of a map."""
    moves: dict[str, Move] = {}  # noqa: RUF012  (pydantic copies it)
    """For each field that an integrator moves, its velocity and mass."""

    def make(self, context: StateContext) -> State:
        (columns, rows), spacing = self.size, context.units.convert(self.spacing, "m")
        cells, n = Cells(rows, columns, spacing), rows * columns
        if "share" in self.fields:
            raise UserError("fields: 'share' is the share of a cell in a mean; give the field another name")
        drawn = {name: field.values(cells, context) for name, field in self.fields.items()}
        fields = {name: values.reshape(n, *values.shape[2:]) for name, values in drawn.items()}
        return State(
            fields={**fields, "share": np.full(n, 1.0 / n)},
            units={name: field.unit for name, field in self.fields.items()} | {"share": "1"},
            motions=tuple(self._motion_of_move(x, move, context) for x, move in self.moves.items()),
            tables={name: table.values(cells, context) for name, table in self.tables.items()},
            grids={"cells": Grid((rows, columns), spacing, (*fields, "share"))},
        )

    def _motion_of_move(self, x: str, move: Move, context: StateContext) -> Motion:
        if strange := [name for name in (x, move.velocity) if name not in self.fields]:
            known = ", ".join(self.fields)
            raise UserError(f"moves: no field named '{strange[0]}' (there are: {known}); name one of them")
        return Motion(x, move.velocity, quantities(move, context.units)["mass"])


STATES = {"cells": GridOfCells}
