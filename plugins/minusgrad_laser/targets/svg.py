"""A drawing in SVG as a target.

Decisions 0172, 0173.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import StateContext, UserError, quantities

from ..canvas import CanvasTable, Length
from ..pictures.fonts import split_font
from ..pictures.picture import examine_picture
from .image import metres
from .placement import place_drawing
from .target import FEWEST_DPI, MOST_DPI, Margin, Target


class FromSvg(Target):
    """The picture of an SVG file on white: dark is drawn.

    The drawing has the size of its page, in the units of its width and height (mm, in, pt, ...; px are 1/96
    inch). A cell gets the part of its area that is covered, times the darkness.
    """

    kind: Literal["svg"] = "svg"
    file: str
    """Drawing: SVG, with all that it needs within."""
    fonts: list[str] = Field(default_factory=list)
    """Fonts of its text: files, or FAMILY=FILE for a generic family (default: none, text is refused)."""
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
        fonts = {name: context.read(split_font(name)[1]) for name in self.fonts}
        picture = examine_picture(self.file, context.read(self.file), self.dpi, fonts)
        if own["width"] is None and not picture.facts["is_sized"]:
            raise UserError(f"{self.source}: its width and height have no unit of length; give width")
        picture = picture.with_page()
        if own["width"] is None:
            px = metres(context, self.source) * 0.0254 / self.dpi
        else:
            px = own["width"] / picture.size[0]
        window = picture.find_box() if self.crop else (0.0, 0.0, *picture.size)
        pixel, extent = context.units.convert(canvas.pixel, "m"), (window[2] * px, window[3] * px)
        place = place_drawing(extent, own["margin"], canvas, pixel, self.source, unit)
        dark, remarks = picture.draw_cells(window, px / pixel, place)
        context.remarks.extend(remarks)
        return dark
