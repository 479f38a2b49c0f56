"""Targets of a laser deposition: target (rows, columns) in [0, 1], 1 where the full dose belongs."""

from typing import Annotated, Literal

import numpy as np

from minusgrad.plugin import ByKind, Quantity, Record, StateContext, UserError, images, quantities

from ..canvas import CanvasTable, Length

Place = Annotated[float | str, Quantity("m")]


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


class Butterfly(Target):
    """Fay's butterfly in the form of the forum post, filled.

        exp(sin t) - 2 cos 4t + sin^5((2t - pi) / 24) > r / 20000

    r is the squared distance from cell (rows // 2, columns // 2) and t the angle there, in cells of a canvas
    of 512 x 512; on others all lengths go with the shorter side. T. H. Fay (1989), Am. Math. Monthly 96, 442.
    """

    kind: Literal["butterfly"] = "butterfly"

    @property
    def source(self) -> str:
        return "the butterfly"

    def values(self, rows: int, columns: int, pixel: float, context: StateContext) -> np.ndarray:
        dy, dx = np.arange(rows)[:, None] - rows // 2, np.arange(columns)[None, :] - columns // 2
        r, t = dx**2 + dy**2, np.arctan2(dy, dx)
        rim = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24.0) ** 5
        return (rim > r / (20000 * (min(rows, columns) / 512) ** 2)).astype(float)


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


class FromImage(Target):
    """A picture, a cell for each pixel: dark is drawn, as engravers have it; with `invert`, light is.

    Transparent pixels are not drawn. A canvas without a size takes the picture's.
    """

    kind: Literal["image"] = "image"
    file: str
    """Picture with a pixel for each cell."""
    invert: bool = False
    """Draw what is light; false: what is dark."""

    @property
    def source(self) -> str:
        return f"'{self.file}'"

    def draw(self, canvas: CanvasTable, context: StateContext) -> np.ndarray:
        light, opaque = images.read(self.file, context.read(self.file))
        rows, columns = light.shape
        if canvas.size not in (None, (columns, rows)):
            theirs = " x ".join(map(str, canvas.size or ()))
            raise UserError(
                f"'{self.file}' has {columns} x {rows} pixels, and the canvas {theirs} cells;"
                " scale the image, or leave canvas.size out"
            )
        return opaque * (light if self.invert else 1.0 - light)


AnyTarget = Annotated[Butterfly | Disc | FromImage, ByKind()]
