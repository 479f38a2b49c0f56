"""A curve: the points of a laser path at the start, within the field of a canvas."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from scipy.ndimage import map_coordinates

from minusgrad.plugin import Quantity, UserError, memory

from ..canvas import Canvas
from .order import arrange_strokes
from .stroke import Stroke

POINT_BYTES = 2000
"""Bytes for a point: four fields, a minimiser's pairs of each, and a checkpoint."""
COARSER = "increase `pitch` or `spacing`"
Margin = Annotated[float | str, Quantity("m", "nonnegative")]
Order = Literal["nearest", "given"]


@dataclass(frozen=True, eq=False)
class Curve:
    """Points (n, 2) as x, y [length]; power and speed (n,) where the curve has its own; its name in messages.

    lit (n,): 1 where the move that ends at a point is drawn, 0 on travels; None if all are drawn.
    """

    points: np.ndarray
    power: np.ndarray | None = None
    speed: np.ndarray | None = None
    lit: np.ndarray | None = None
    source: str = "path"


def room(canvas: Canvas, margin: float) -> tuple[float, float]:
    """Width and height of the field less the margin on each side."""
    width, height = (float(side) for side in canvas.size - 2.0 * margin)
    if min(width, height) <= 0.0:
        raise UserError(f"path: the field less a margin of {margin:g} on each side has no room for a curve")
    return width, height


def drawn_within(points: np.ndarray, target: np.ndarray, pixel: float) -> Curve:
    """Points (n, 2), where moves are drawn if the target is above 1/2 at their middle; gaps are travels."""
    middle = (points[1:] + points[:-1]) / (2.0 * pixel)
    inside = map_coordinates(target, middle.T[::-1], order=1, mode="constant") > 0.5
    runs = np.flatnonzero(np.diff(np.pad(inside, 1).astype(int))).reshape(-1, 2)
    points = np.clip(points, 0.0, np.array(target.shape[::-1]) * pixel - pixel)
    strokes = [Stroke.gapless_stroke(points[begin : end + 1]) for begin, end in runs]
    return join_strokes(strokes, "nearest", "path")


def join_strokes(strokes: Sequence[Stroke], order: Order, source: str) -> Curve:
    """The path through all strokes, with a travel (lit = 0) before each; order: "nearest" or "given".

    A stroke that begins where the one before ends is joined to it without a travel. Raises `UserError`
    without a stroke, and where the points exceed the memory.
    """
    count = sum(len(stroke.points) for stroke in strokes)
    if not count:
        raise UserError(f"{source}: no cell of the target is above 1/2, so there is nothing to draw")
    memory.require(POINT_BYTES * count, f"{source}: {count} points", COARSER)
    if order == "nearest":
        strokes = arrange_strokes(strokes)
    points, lit = [strokes[0].points], [np.zeros(1), strokes[0].lit]
    for stroke in strokes[1:]:
        meets = bool((points[-1][-1] == stroke.points[0]).all())
        points.append(stroke.points[1:] if meets else stroke.points)
        lit.extend([stroke.lit] if meets else [np.zeros(1), stroke.lit])
    return Curve(np.concatenate(points), lit=np.concatenate(lit), source=source)
