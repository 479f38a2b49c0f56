"""A raster: parallel lines only where the target is dark, as engravers scan it."""

from typing import Literal

import numpy as np

from minusgrad.plugin import Record, StateContext, quantities

from ..canvas import Canvas, Length
from .curve import Curve, Margin, Order, join_strokes
from .stroke import Stroke


class Raster(Record):
    """Lines `pitch` apart, to and fro, drawn where the target is above 1/2; the rest is travelled.

    Lines are centred in the box around those cells. A run goes from the place where the target, linear
    between the centres of cells, rises above 1/2 to the place where it falls below; for a target of 0 and 1
    these are the sides of cells.
    """

    kind: Literal["raster"] = "raster"
    pitch: Length
    """Distance of the lines."""
    spacing: Length | None = None
    """Largest distance of points along a run (default: the pitch)."""
    angle: Literal[0, 90] = 0
    """Direction of the lines: 0 along x, 90 along y."""
    whole: bool = False
    """Follow each line over the whole box, dark in the gaps; false: each run is a stroke of its own."""
    overscan: Margin = 0.0
    """Length by which each stroke is prolonged at both ends, dark, so that the spot has its speed there."""
    order: Order = "nearest"
    """Order of the strokes: "nearest", with short travels, or "given", line by line."""

    def curve(self, canvas: Canvas, target: np.ndarray, context: StateContext) -> Curve:
        own = quantities(self, context.units)
        spacing, overscan = own["spacing"] or own["pitch"], own["overscan"]
        turned = target.T if self.angle == 90 else target
        field = canvas.size[::-1] if self.angle == 90 else canvas.size
        strokes = []
        for k, (y, runs) in enumerate(_raster_lines(turned, canvas.pixel, own["pitch"])):
            runs = np.clip(runs, 0.0, field[0])
            pieces = [runs] if self.whole else [run[None] for run in runs]
            line = [_raster_stroke(piece, y, spacing, overscan, field[0]) for piece in pieces]
            strokes += [stroke.reversed for stroke in line[::-1]] if k % 2 else line
        if self.angle == 90:
            strokes = [Stroke(stroke.points[:, ::-1], stroke.lit) for stroke in strokes]
        return join_strokes(strokes, self.order, "path")


def _raster_lines(target: np.ndarray, pixel: float, pitch: float) -> list[tuple[float, np.ndarray]]:
    """The y of each line that meets the target, and its runs (r, 2): begin and end along x."""
    rows = np.flatnonzero((target > 0.5).any(axis=1))
    if not len(rows):
        return []
    low, high = (rows[0] - 0.5) * pixel, (rows[-1] + 0.5) * pixel
    count = max(1, int((high - low) / pitch + 1e-9))
    y = (low + high) / 2.0 + (np.arange(count) - (count - 1) / 2.0) * pitch
    y = np.clip(y, 0.0, (len(target) - 1) * pixel)
    found = [(place, runs_above_half(target, place / pixel) * pixel) for place in y]
    return [(place, runs) for place, runs in found if len(runs)]


def runs_above_half(target: np.ndarray, row: float) -> np.ndarray:
    """Where the target along a row (a real number) is above 1/2: (runs, 2) as begin and end in columns."""
    row = max(row, 0.0)
    below = min(int(row), len(target) - 1)
    above, weight = min(below + 1, len(target) - 1), row - below
    line = np.pad((1.0 - weight) * target[below] + weight * target[above], 1) - 0.5
    crossed = np.flatnonzero((line[1:] > 0.0) != (line[:-1] > 0.0))
    places = crossed + line[crossed] / (line[crossed] - line[crossed + 1]) - 1.0
    return places.reshape(-1, 2)


def _raster_stroke(runs: np.ndarray, y: float, spacing: float, overscan: float, width: float) -> Stroke:
    """A line along x through some runs, dark between them and in the overscan."""
    x, lit = [], []
    for begin, end in runs:
        steps = max(1, int(np.ceil((end - begin) / spacing - 1e-9)))
        x.append(np.linspace(begin, end, steps + 1))
        lit += [np.zeros(1), np.ones(steps)]
    ends = max(runs[0, 0] - overscan, 0.0), min(runs[-1, 1] + overscan, width)
    along, drawn = np.concatenate(x), np.concatenate(lit)[1:]
    if ends[0] < along[0]:
        along, drawn = np.append(ends[0], along), np.append(0.0, drawn)
    if ends[1] > along[-1]:
        along, drawn = np.append(along, ends[1]), np.append(drawn, 0.0)
    return Stroke(np.stack([along, np.full(len(along), y)], axis=1), drawn)
