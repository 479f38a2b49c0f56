"""A disc."""

from typing import Annotated, Literal

import numpy as np

from minusgrad.plugin import Quantity, StateContext, quantities

from ..canvas import Length
from .target import Target

Place = Annotated[float | str, Quantity("m")]


class Disc(Target):
    """1 in the cells whose centres lie within `radius` of `centre` (default: the middle of the field)."""

    kind: Literal["disc"] = "disc"
    radius: Length
    """Radius of the disc."""
    centre: tuple[Place, Place] | None = None
    """Centre of the disc, as x and y (default: the middle of the field)."""

    @property
    def source(self) -> str:
        return "the disc"

    def values(self, rows: int, columns: int, pixel: float, context: StateContext) -> np.ndarray:
        own = quantities(self, context.units)
        x, y = own["centre"] or ((columns - 1) * pixel / 2.0, (rows - 1) * pixel / 2.0)
        dy, dx = np.arange(rows)[:, None] * pixel - y, np.arange(columns)[None, :] * pixel - x
        return (np.hypot(dx, dy) <= own["radius"] + 1e-9 * pixel).astype(float)
