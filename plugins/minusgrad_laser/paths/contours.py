"""Contour-parallel strokes: rings inside the target's outline, and lines in the middle of thin parts.

Decisions 0229.
"""

from typing import Literal

import numpy as np
from scipy import ndimage

from minusgrad.plugin import Record, StateContext, quantities

from ..canvas import Canvas, Length
from .curve import Curve, Order, join_strokes
from .medial import extend_ends, medial_lines
from .offsets import distance, rings
from .stroke import Stroke, resample_line

NARROW = 0.25
"""A ring goes only where its sides are twice this part of the pitch apart: else one line is enough."""
BEYOND = 0.4
"""Lines end so far past the rim, in pitches: at its end a line has half of its dose."""
ROUND = 8
"""Points of a small ring, at least, where they are a pitch apart."""
MISSED = 0.75
"""Cells farther from all rings than this part of the pitch need a line; a square corner is 0.71 away."""


class Contours(Record):
    """Closed rings inside the outline of target > 1/2, at a distance of pitch / 2, 3 pitch / 2, ... from it.

    Where rings leave out a part, because it is thinner than 1.5 pitches or is the last one in the middle, a
    line follows its middle. No cell of the target is farther than about 3/4 of the pitch from a stroke.
    """

    kind: Literal["contours"] = "contours"
    pitch: Length
    """Distance of the rings."""
    spacing: Length | None = None
    """Largest distance of points along a stroke (default: the pitch)."""
    order: Order = "nearest"
    """Order of the strokes: "nearest", with short travels, or "given", from the rim inwards."""

    def curve(self, canvas: Canvas, target: np.ndarray, context: StateContext) -> Curve:
        own = quantities(self, context.units)
        spacing, pitch = own["spacing"] or own["pitch"], own["pitch"] / canvas.pixel
        around = rings(target, pitch / 2.0, pitch, NARROW * pitch)
        middle = medial_lines(_left_out(target, around, pitch), pitch / 2.0)
        lines = around + extend_ends(middle, target > 0.5, BEYOND * pitch)
        placed = [np.clip(line * canvas.pixel, 0.0, canvas.size) for line in lines]
        strokes = [
            Stroke.gapless_stroke(resample_line(line, _spacing_of(line, spacing, own["pitch"])))
            for line in placed
        ]
        return join_strokes(strokes, self.order, "path")


def _spacing_of(line: np.ndarray, most: float, pitch: float) -> float:
    """The distance of points on a line (k, 2): small rings have `ROUND` points, a pitch apart at least."""
    if not (line[0] == line[-1]).all():
        return most
    return min(most, max(pitch, float(np.hypot(*np.diff(line, axis=0).T).sum()) / ROUND))


def _left_out(target: np.ndarray, around: list[np.ndarray], pitch: float) -> np.ndarray:
    """Connected cells half a pitch from all rings, where one of them is `MISSED` pitches away."""
    inside = target > 0.5
    rows, columns = np.nonzero(inside)
    apart = np.zeros(target.shape)
    apart[inside] = distance(np.stack([columns, rows], axis=1), around)
    parts, _ = ndimage.label(apart > 0.5 * pitch, np.ones((3, 3)))
    missed = np.unique(parts[apart > MISSED * pitch])
    return np.isin(parts, missed[missed > 0])
