"""Lines of a layer that is scored or cut: its outlines, joined where they meet; scored ones are simplified.

Points are left out where the line stays within `TOLERANCE` of the rest (Douglas & Peucker 1973), since each
point is a line of the job file, and short moves are slow.
"""

from collections.abc import Sequence

import numpy as np

from minusgrad.plugin import UserError

from ..drawings.drawing import Drawing
from ..paths.stroke import Stroke
from .choice import Mark
from .joined_lines import join_lines

TOLERANCE = 2e-6
"""Distance of points that are left out from the line [m]."""


def rings_of_marks(drawing: Drawing, marks: Sequence[Mark], title: str) -> list[np.ndarray]:
    """The closed lines (k, 2) [m] of some marks. Raises `UserError` for an open one, and without a line."""
    rings, opened = _lines_of_marks(drawing, marks)
    if opened:
        (x, y), (u, v) = 1e3 * opened[0][[0, -1]]
        more = f", and {len(opened) - 1} more" if len(opened) > 1 else ""
        raise UserError(
            f"{title}: a part is cut along closed lines, got one from ({x:.4g}, {y:.4g}) to ({u:.4g},"
            f' {v:.4g}) mm that is open{more}; close it, or write mode = "score", which follows lines with'
            " any power"
        )
    return rings


def strokes_of_marks(drawing: Drawing, marks: Sequence[Mark]) -> list[Stroke]:
    """The lines of some marks, each outline once."""
    rings, opened = _lines_of_marks(drawing, marks)
    lines = [np.concatenate([ring, ring[:1]]) for ring in rings] + opened
    return [Stroke.gapless_stroke(points) for line in lines if len(points := simplify_line(line)) > 1]


def open_lines(drawing: Drawing, marks: Sequence[Mark]) -> list[np.ndarray]:
    """The open lines (k, 2) [m] of some marks, joined where they meet."""
    return _lines_of_marks(drawing, marks)[1]


def _lines_of_marks(drawing: Drawing, marks: Sequence[Mark]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The closed lines of some marks and the open ones, joined where they meet."""
    outlines = [drawing.outlines[k] for k in dict.fromkeys(mark.outline for mark in marks)]
    rings = [one.points for one in outlines if one.closed and len(one.points) > 1]
    joined = join_lines([one.points for one in outlines if not one.closed and len(one.points) > 1])
    rings += [points for points, is_ring in joined if is_ring]
    return rings, [points for points, is_ring in joined if not is_ring]


def simplify_line(points: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """A line (k, 2) without points that are nearer to it than a tolerance; ends are kept.

    A closed line, whose first point is its last, is cut at its farthest point first.
    """
    keep = np.zeros(len(points), bool)
    keep[[0, -1]] = True
    pending = [(0, len(points) - 1)]
    while pending:
        begin, end = pending.pop()
        if end - begin < 2:
            continue
        inner = points[begin + 1 : end] - points[begin]
        way = points[end] - points[begin]
        square = float(way @ way)
        part = np.clip(inner @ way / square, 0.0, 1.0) if square > 0.0 else np.zeros(len(inner))
        apart = np.hypot(*(inner - part[:, None] * way).T)
        k = int(apart.argmax())
        if apart[k] > tolerance:
            middle = begin + 1 + k
            keep[middle] = True
            pending += [(begin, middle), (middle, end)]
    found = points[keep]
    return found[np.append(True, (np.diff(found, axis=0) != 0.0).any(axis=1))]
