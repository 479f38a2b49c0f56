"""A target of a deposition: target (rows, columns) in [0, 1], 1 where the full dose belongs."""

from typing import Annotated

import numpy as np

from minusgrad.plugin import Quantity, Record, StateContext, UserError

from ..canvas import CanvasTable

Margin = Annotated[float | str, Quantity("m", "nonnegative")]

FEWEST_DPI, MOST_DPI = 0.01, 1e7
"""Pixels an inch of a picture that can be meant: from metres to nanometres."""


class Target(Record):
    """A target that takes any size of canvas."""

    def draw(self, canvas: CanvasTable, context: StateContext) -> np.ndarray:
        """The target (rows, columns). Raises `UserError` where the canvas has no size."""
        if canvas.size is None:
            raise UserError(f"canvas: size = [columns, rows] is missing; {self.source} has none of its own")
        columns, rows = canvas.size
        return self.values(rows, columns, context.units.convert(canvas.pixel, "m"), context)

    @property
    def source(self) -> str:
        """Its name in messages."""
        raise NotImplementedError

    def values(self, rows: int, columns: int, pixel: float, context: StateContext) -> np.ndarray:
        raise NotImplementedError
