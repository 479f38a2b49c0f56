"""A hatch: parallel lines over the whole field, to and fro, in one stroke or with gaps."""

from typing import Literal

import numpy as np

from minusgrad.plugin import Record, StateContext, memory, quantities

from ..canvas import Canvas, Length
from .curve import COARSER, POINT_BYTES, Curve, Margin, drawn_within, room


class Hatch(Record):
    """Lines along x, to and fro from the bottom up, `pitch` apart and centred in the field less a `margin`.

    Points are at most `spacing` (default: the pitch) apart along a line.
    """

    kind: Literal["hatch"] = "hatch"
    pitch: Length
    """Distance of the lines."""
    spacing: Length | None = None
    """Largest distance of points along a line (default: the pitch)."""
    margin: Margin = 0.0
    """Margin of the field that is left free."""

    gaps: bool = False
    """Travel, with the laser off, where the target is at most 1/2; false: draw all along."""

    def curve(self, canvas: Canvas, target: np.ndarray, context: StateContext) -> Curve:
        own = quantities(self, context.units)
        pitch, spacing, margin = own["pitch"], own["spacing"] or own["pitch"], own["margin"]
        width, height = room(canvas, margin)
        lines, each = int(height / pitch + 1e-9) + 1, int(np.ceil(width / spacing - 1e-9)) + 1
        memory.require(POINT_BYTES * lines * each, f"path: {lines * each} points", COARSER)
        x = np.tile(margin + np.linspace(0.0, width, each), (lines, 1))
        x[1::2] = x[1::2, ::-1]
        y = margin + (height - (lines - 1) * pitch) / 2.0 + np.arange(lines) * pitch
        points = np.stack([x.ravel(), np.repeat(y, each)], axis=1)
        return drawn_within(points, target, canvas.pixel) if self.gaps else Curve(points)
