"""A path along the lines of a drawing.

    x = X + (left - 1/2) pixel        y = Y + (below - 1/2) pixel

(X, Y) is a place on the page, whose lower left corner lies on the corner of the cell (below, left), as that
of a target of the same file does (`targets.placement`).

Decisions 0175.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import Record, StateContext, UserError, quantities

from ..canvas import Canvas, CanvasTable, Length
from ..drawings.drawing import Outline
from ..drawings.read import read_drawing
from ..drawings.selection import select_outlines
from ..targets.image import metres
from ..targets.placement import place_drawing
from ..targets.target import FEWEST_DPI, MOST_DPI
from .curve import Curve, Order, join_strokes
from .stroke import Stroke

TOLERANCE = 0.05
"""Distance of a curve from its chords, in cells."""


class Outlines(Record):
    """The lines of a drawing, each followed once, where the drawing lies as a target of the same file.

    A file as a target and as a path needs the same `width` and `dpi` in both, and the same `layers` of a DXF
    or a LightBurn project, which have no page. Corners are points of the path.
    """

    kind: Literal["outlines"] = "outlines"
    file: str
    """Drawing, such as SVG."""
    spacing: Length
    """Largest distance of points along a line."""
    layers: list[str] | None = None
    """Layers whose lines are followed (default: all)."""
    colours: list[str] | None = None
    """Colours of strokes or insides whose lines are followed (default: all)."""
    without: list[Literal["text", "image"]] = Field(default_factory=list)
    """Elements of an SVG that are left out: "text", "image" (default: none, and they are refused)."""
    dpi: Annotated[float, Field(ge=FEWEST_DPI, le=MOST_DPI)] = 96.0
    """Units "px" of an SVG to an inch."""
    length: str | None = None
    """Unit of length of a file that states none, such as "mm" (default: as the file says)."""
    width: Length | None = None
    """Width of the page (default: as the file says)."""
    order: Order = "nearest"
    """Order of the lines: "nearest", with short travels, or "given", as in the file."""

    def curve(self, canvas: Canvas, target: np.ndarray, context: StateContext) -> Curve:
        own, source = quantities(self, context.units), f"path: '{self.file}'"
        has_units = canvas.unit != "1"
        metre = metres(context, source) if has_units or own["width"] is None else 1.0
        drawing = read_drawing(
            self.file,
            context.read(self.file),
            tolerance=TOLERANCE * canvas.pixel / metre,
            dpi=self.dpi,
            length=self.length,
            width=None if own["width"] is None else own["width"] / metre,
            layers=self.layers,
            without=self.without,
        )
        context.remarks.extend(f"'{self.file}': {one}" for one in drawing.remarks)
        drawing = select_outlines(drawing, None, self.colours, source)
        size = drawing.size[0] * metre, drawing.size[1] * metre
        place = place_drawing(
            size, 0.0, CanvasTable(size=(canvas.columns, canvas.rows)), canvas.pixel, source, canvas.unit
        )
        corner = (np.array([place.left, place.below]) - 0.5) * canvas.pixel
        strokes = [_outline_stroke(one, metre, corner, own["spacing"]) for one in drawing.outlines]
        _refuse_beyond(strokes, canvas, source)
        return join_strokes(strokes, self.order, source)


def _outline_stroke(outline: Outline, metre: float, corner: np.ndarray, spacing: float) -> Stroke:
    """The stroke of a line: all its corners, and points between them where they are farther apart."""
    points = outline.points * metre + corner
    if outline.closed:
        points = np.concatenate([points, points[:1]])
    steps = np.maximum(1, np.ceil(np.hypot(*np.diff(points, axis=0).T) / spacing - 1e-9)).astype(int)
    if outline.closed and steps.sum() < 3:
        steps[0] += 1  # there and back: a closed stroke has three moves at least
    begin = np.repeat(np.cumsum(steps) - steps, steps)
    part = ((np.arange(steps.sum()) - begin) / np.repeat(steps, steps))[:, None]
    found = (1.0 - part) * np.repeat(points[:-1], steps, axis=0) + part * np.repeat(points[1:], steps, axis=0)
    return Stroke.gapless_stroke(np.concatenate([found, points[-1:]]))


def _refuse_beyond(strokes: list[Stroke], canvas: Canvas, source: str) -> None:
    points = np.concatenate([stroke.points for stroke in strokes])
    over = float(max((-points).max(), (points - canvas.size).max()))
    if over > 1e-9 * canvas.pixel:
        unit = "" if canvas.unit == "1" else f" {canvas.unit}"
        raise UserError(
            f"{source}: its lines reach {over:.4g}{unit} beyond the centres of the outermost cells; give the"
            " target a margin, or a larger canvas.size"
        )
