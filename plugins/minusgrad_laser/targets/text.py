"""Text as a target, by the outlines of a font's glyphs.

Decisions 0175.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import Quantity, StateContext, quantities

from ..canvas import CanvasTable, Length
from ..drawings.text.drawing import Align, Measure, text_drawing
from .drawn import paint_insides
from .image import metres
from .placement import place_drawing
from .target import Margin, Target

TOLERANCE = 0.02
"""Distance of a curve from its chords, in cells."""


class FromText(Target):
    """Letters of a font, filled. The page is the box around them.

    `size` is the em of the font, as word processors count it, or the height of capitals. A cell gets the part
    of its area that is covered.
    """

    kind: Literal["text"] = "text"
    text: str
    """The text; lines are divided by a line break."""
    font: str
    """Font: a file in TTF or OTF."""
    size: Length
    """Height of the em, or of capitals: see `measure`."""
    measure: Measure = "em"
    """What `size` measures: "em", or "capitals", the height of an H."""
    align: Align = "left"
    """Side at which lines of different length meet: "left", "centre" or "right"."""
    line_spacing: Annotated[float, Field(gt=0.0, le=100.0)] = 1.2
    """Distance of the baselines of two lines, in ems."""
    letter_spacing: Annotated[float | str, Quantity("m")] = 0.0
    """More space between letters; below 0 less."""
    axes: dict[str, float] = Field(default_factory=dict)
    """Axes of a variable font, such as { wght = 700 } (default: as the font has them)."""
    kerning: bool = True
    """Place letters by HarfBuzz, with kerning and ligatures; false: side by side."""
    margin: Margin = 0.0
    """Empty margin of the canvas around the text."""

    @property
    def source(self) -> str:
        return f"text in '{self.font}'"

    def draw(self, canvas: CanvasTable, context: StateContext) -> np.ndarray:
        own, unit = quantities(self, context.units), context.units.symbol("m")
        pixel = context.units.convert(canvas.pixel, "m")
        metre = 1.0 if unit == "1" else metres(context, self.source)
        drawing = text_drawing(
            self.text,
            self.font,
            context.read(self.font),
            size=own["size"] / metre,
            tolerance=TOLERANCE * pixel / metre,
            measure=self.measure,
            align=self.align,
            line_spacing=self.line_spacing,
            letter_spacing=own["letter_spacing"] / metre,
            axes=self.axes,
            kerning=self.kerning,
        )
        context.remarks.extend(f"{self.source}: {one}" for one in drawing.remarks)
        size = drawing.size[0] * metre, drawing.size[1] * metre
        place = place_drawing(size, own["margin"], canvas, pixel, self.source, unit)
        return paint_insides(drawing, pixel / metre, place)
