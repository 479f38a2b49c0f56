"""A picture as a target: PNG, TIFF, BMP or JPEG."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import StateContext, UserError, images, quantities

from ..canvas import CanvasTable, Length
from .placement import average_pixels, place_drawing
from .target import FEWEST_DPI, MOST_DPI, Margin, Target


class FromImage(Target):
    """A picture: dark is drawn, as engravers have it; with `invert`, light is. Transparent pixels are not.

    Without a scale each pixel is a cell, and a canvas without a size takes the picture's. With one (one of
    `scale = "file"`, `pixel`, `width`, `dpi`) the picture keeps its size in metres: a cell gets the average
    of the pixels over its area.
    """

    kind: Literal["image"] = "image"
    file: str
    """Picture: PNG, TIFF, BMP or JPEG."""
    invert: bool = False
    """Draw what is light; false: what is dark."""
    scale: Literal["cells", "file"] = "cells"
    """Size of a pixel: "cells", a cell for each, or "file", as the resolution in the file says."""
    pixel: Length | None = None
    """Side of a pixel of the picture (default: as `scale` says)."""
    width: Length | None = None
    """Width of the picture (default: as `scale` says)."""
    dpi: Annotated[float, Field(ge=FEWEST_DPI, le=MOST_DPI)] | None = None
    """Pixels of the picture to an inch (default: as `scale` says)."""
    margin: Margin = 0.0
    """Empty margin of the canvas around a picture with a scale."""

    @property
    def source(self) -> str:
        return f"'{self.file}'"

    def draw(self, canvas: CanvasTable, context: StateContext) -> np.ndarray:
        data = context.read(self.file)
        light, opaque = images.read(self.file, data)
        dark = opaque * (light if self.invert else 1.0 - light)
        side = self._pixel_size(light.shape, data, context)
        if side is not None:
            size = light.shape[1] * side[0], light.shape[0] * side[1]
            margin, unit = quantities(self, context.units)["margin"], context.units.symbol("m")
            pixel = context.units.convert(canvas.pixel, "m")
            return average_pixels(dark, place_drawing(size, margin, canvas, pixel, self.source, unit))
        rows, columns = light.shape
        if canvas.size not in (None, (columns, rows)):
            theirs = " x ".join(map(str, canvas.size or ()))
            raise UserError(
                f"'{self.file}' has {columns} x {rows} pixels, and the canvas {theirs} cells;"
                " scale the image, or leave canvas.size out"
            )
        return dark

    def _pixel_size(
        self, shape: tuple[int, ...], data: bytes, context: StateContext
    ) -> tuple[float, float] | None:
        """Width and height of a pixel [length]; None if each is a cell."""
        own = quantities(self, context.units)
        given = [key for key in ("pixel", "width", "dpi") if own[key] is not None]
        given += ["scale"] if self.scale == "file" else []
        if len(given) > 1:
            raise UserError(f"target: {' and '.join(given)} are scales of {self.source}; give one of them")
        if not given:
            return None
        if own["pixel"] is not None:
            return own["pixel"], own["pixel"]
        if own["width"] is not None:
            return own["width"] / shape[1], own["width"] / shape[1]
        found = images.resolution(self.file, data) if self.dpi is None else (self.dpi / 0.0254,) * 2
        if found is None:
            raise UserError(
                f"{self.source} has no resolution in its file, so its size is unknown;"
                " give pixel, width or dpi"
            )
        if not all(FEWEST_DPI <= 0.0254 * one <= MOST_DPI for one in found):
            raise UserError(
                f"{self.source}: a resolution is {FEWEST_DPI:g} to {MOST_DPI:g} pixels an inch, got"
                f" {0.0254 * found[0]:g} x {0.0254 * found[1]:g} in its file; give pixel, width or dpi"
            )
        metre = metres(context, self.source)
        return metre / found[0], metre / found[1]


def metres(context: StateContext, source: str) -> float:
    """A metre in the run's unit of length. Raises `UserError` where the run has no units."""
    if context.units.symbol("m") == "1":
        raise UserError(f"{source}: a resolution needs a unit of length, got none; give units, or pixel")
    return context.units.convert("1 m", "m")
