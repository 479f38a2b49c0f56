"""A drawing of lines as a target: closed outlines are filled, open ones have a width.

Outlines without a fill of their own are one shape by even-odd: what an odd number of them surrounds is dark,
so holes stay empty. One that is drawn twice counts once.

Decisions 0176.
"""

from collections.abc import Sequence
from math import ceil
from typing import Literal

import numpy as np

from minusgrad.plugin import StateContext, UserError, printable, quantities

from ..canvas import CanvasTable, Length
from ..drawings.drawing import Drawing, Outline
from ..drawings.read import read_drawing
from ..drawings.selection import select_outlines
from .coverage import Painted, paint_shapes
from .image import metres
from .placement import place_drawing
from .stroke_outlines import outline
from .target import Margin, Target

TOLERANCE = 0.02
"""Distance [cells] of a curve from the chords that stand for it."""


class FromDrawing(Target):
    """The areas that the closed outlines of a drawing surround, and its open lines with a width.

    The drawing has the size of the box around its lines (of an SVG, of its page). A cell gets the part of its
    area that is covered.
    """

    kind: Literal["drawing"] = "drawing"
    file: str
    """Drawing: DXF, a LightBurn project or SVG."""
    length: str | None = None
    """Unit of the file's lengths, such as "mm" (default: as the file says)."""
    layers: list[str] | None = None
    """Layers that are read (default: all that are plotted)."""
    colours: list[str] | None = None
    """Colours of strokes or insides of the outlines that are taken (default: all)."""
    stroke: Length | None = None
    """Width of open lines (default: none, and open lines are refused)."""
    width: Length | None = None
    """Width of the drawing (default: as the file says)."""
    margin: Margin = 0.0
    """Empty margin of the canvas around the drawing."""

    @property
    def source(self) -> str:
        return f"'{self.file}'"

    def draw(self, canvas: CanvasTable, context: StateContext) -> np.ndarray:
        own, unit = quantities(self, context.units), context.units.symbol("m")
        metre = 1.0 if unit == "1" and own["width"] is not None else metres(context, self.source)
        pixel = context.units.convert(canvas.pixel, "m")
        drawing = read_drawing(
            self.file,
            context.read(self.file),
            tolerance=TOLERANCE * pixel / metre,
            length=self.length,
            width=None if own["width"] is None else own["width"] / metre,
            layers=self.layers,
        )
        drawing = select_outlines(drawing, None, self.colours, self.source)
        context.remarks.extend(f"{self.source}: {text}" for text in drawing.remarks)
        closed, lines = _split_outlines(self.file, drawing, own["stroke"] is not None)
        rim = pixel * ceil(own["stroke"] / 2.0 / pixel) if lines else 0.0  # whole cells: paths lie the same
        extent = drawing.size[0] * metre + 2.0 * rim, drawing.size[1] * metre + 2.0 * rim
        place = place_drawing(extent, own["margin"], canvas, pixel, self.source, unit)
        height = extent[1] / pixel

        def cells(one: Outline) -> np.ndarray:
            points = (one.points * metre + rim) / pixel
            return np.stack([points[:, 0], height - points[:, 1]], axis=1)

        shapes = [
            Painted([cells(one) for one in piece], 1.0, 1.0, piece[0].rule) for piece in _group_pieces(closed)
        ]
        if lines:
            width = own["stroke"] / pixel
            strokes = outline([cells(one) for one in lines], width, "round", "round", 4.0, TOLERANCE)
            shapes.append(Painted(strokes, 1.0, 1.0))
        return paint_shapes(shapes, (extent[0] / pixel, height), 1.0, place)


def _split_outlines(file: str, drawing: Drawing, has_width: bool) -> tuple[list[Outline], list[Outline]]:
    """Closed outlines and open lines. Raises `UserError` for open lines without a width."""
    closed = [one for one in drawing.outlines if one.closed or one.fill is not None]
    lines = [one for one in drawing.outlines if not (one.closed or one.fill is not None)]
    if lines and not has_width:
        first = lines[0]
        ends = " to ".join(f"({x * 1e3:.4g}, {y * 1e3:.4g})" for x, y in first.points[[0, -1]])
        gap = float(np.hypot(*(first.points[0] - first.points[-1]))) * 1e3
        on = f" on layer '{printable(first.layer)}'" if first.layer else ""
        raise UserError(
            f"'{printable(file)}': {len(lines)} lines are open, so they surround nothing, the first{on} from"
            f" {ends} mm, its ends {gap:.3g} mm apart; close them, choose other layers, or give a stroke"
        )
    return closed, lines


def _group_pieces(outlines: Sequence[Outline]) -> list[list[Outline]]:
    """Outlines that are one shape: those without a fill, each once, and those of one piece."""
    rims: dict[bytes, Outline] = {}
    pieces: dict[int, list[Outline]] = {}
    for one in outlines:
        if one.fill is None:
            rims.setdefault(_rim_key(one), one)
        else:
            pieces.setdefault(one.piece, []).append(one)
    return [*([list(rims.values())] if rims else []), *pieces.values()]


def _rim_key(one: Outline) -> bytes:
    """The same for outlines with the same points in their order, from any one on, in both directions."""
    places = np.round(one.points * 1e9).astype(np.int64)
    places = np.roll(places, -np.lexsort(places.T)[0], axis=0)
    if tuple(places[-1]) < tuple(places[1]):
        places = np.roll(places[::-1], 1, axis=0)
    return places.tobytes()
