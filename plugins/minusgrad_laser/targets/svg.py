"""A drawing in SVG as a target.

Decisions 0227.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import StateContext, UserError, quantities

from ..canvas import CanvasTable, Length
from .coverage import paint_shapes
from .image import metres
from .placement import place_drawing
from .svg_document import examine_svg
from .svg_shapes import drawing, polygons
from .target import FEWEST_DPI, MOST_DPI, Margin, Target


class FromSvg(Target):
    """Filled regions and strokes of an SVG file, painted in their order on white: dark is drawn.

    The drawing has the size of its page, in the units of its width and height (mm, in, pt, ...; px are 1/96
    inch). A cell gets the part of its area that is covered, times the darkness.
    """

    kind: Literal["svg"] = "svg"
    file: str
    """Drawing: SVG, text converted to paths, nothing external."""
    dpi: Annotated[float, Field(ge=FEWEST_DPI, le=MOST_DPI)] = 96.0
    """Units "px" of the drawing to an inch."""
    width: Length | None = None
    """Width of the page (default: as the file says)."""
    crop: bool = False
    """Take the box around the shapes in place of the page."""
    margin: Margin = 0.0
    """Empty margin of the canvas around the drawing."""

    @property
    def source(self) -> str:
        return f"'{self.file}'"

    def draw(self, canvas: CanvasTable, context: StateContext) -> np.ndarray:
        own, unit = quantities(self, context.units), context.units.symbol("m")
        data = context.read(self.file)
        page = examine_svg(self.file, data)
        found = drawing(self.file, data, page.shapes)
        if own["width"] is not None:
            px = own["width"] / found.size[0]
        elif page.is_sized:
            px = metres(context, self.source) * 0.0254 / self.dpi
        else:
            raise UserError(f"{self.source}: its width and height have no unit of length; give width")
        if self.crop:
            found = found.crop_page()
        pixel, size = context.units.convert(canvas.pixel, "m"), (found.size[0] * px, found.size[1] * px)
        place = place_drawing(size, own["margin"], canvas, pixel, self.source, unit)
        scale = px / pixel
        return paint_shapes(polygons(self.file, found.shapes, scale), found.size, scale, place)
