"""The shapes of an SVG file as polygons, by svgelements: transforms, units, styles and `use` are resolved.

Lengths are in px from the upper left corner of the page, y downwards, until a scale is given.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, pip_line

from .coverage import Painted
from .stroke_outlines import outline

TOLERANCE = 0.005
"""Distance [cells] of a curve from the chords that stand for it."""


@dataclass(frozen=True, eq=False)
class Shape:
    """What is painted of an element: its path in its own coordinates, matrix (2, 3) to px, and the paint.

    Painted is the inside by the fill rule or, with `stroke` (width, cap, join, limit), the stroke.
    """

    path: Any
    matrix: np.ndarray
    dark: float
    opacity: float
    rule: str = "nonzero"
    stroke: tuple[float, str, str, float] | None = None

    def polygons(self, scale: float) -> Painted:
        """As polygons, in cells from the upper left corner, for a scale [cells/px]."""
        matrix = self.matrix * scale
        stretch = float(np.linalg.norm(matrix[:, :2], 2))
        if stretch == 0.0:
            return Painted([], self.dark, self.opacity, self.rule)
        lines = list(_lines(self.path, TOLERANCE / stretch))
        if self.stroke is not None:
            lines = outline(lines, *self.stroke, TOLERANCE / stretch)
        return Painted(
            [line @ matrix[:, :2].T + matrix[:, 2] for line in lines], self.dark, self.opacity, self.rule
        )


@dataclass(frozen=True, eq=False)
class Drawing:
    """The shapes of a page, in the order of painting; the page's width and height [px]."""

    size: tuple[float, float]
    shapes: list[Shape]

    def cropped(self) -> "Drawing":
        """The box around the shapes as the page."""
        places = [line for shape in self.shapes for line in shape.polygons(10.0).lines]
        points = np.concatenate(places) / 10.0
        low, high = points.min(axis=0), points.max(axis=0)
        moved = []
        for shape in self.shapes:
            matrix = shape.matrix.copy()
            matrix[:, 2] -= low
            moved.append(replace(shape, matrix=matrix))
        return Drawing((float(high[0] - low[0]), float(high[1] - low[1])), moved)


def drawing(file: str, data: bytes) -> Drawing:
    """The drawing in an SVG file. Raises `UserError` without svgelements, and where nothing is painted."""
    try:
        import svgelements
    except ImportError:
        raise UserError(f"'{file}': needs svgelements: {pip_line('svg')}") from None
    try:
        page = svgelements.SVG.parse(BytesIO(data), reify=False, ppi=96.0, on_error="raise")
        shapes = [
            shape
            for element in page.elements()
            if isinstance(element, svgelements.Shape) and element.values.get("visibility") != "hidden"
            for shape in _painted(element, svgelements)
        ]
    except (ValueError, ArithmeticError, AttributeError, TypeError, IndexError, KeyError) as error:
        why = " ".join(str(error).split()) or "its data are incomplete"
        raise UserError(f"'{file}': a shape cannot be read: {why}") from None
    if not shapes:
        raise UserError(f"'{file}': there is nothing to draw: no shape has a fill or a stroke")
    return Drawing((float(page.width), float(page.height)), shapes)


def _painted(element: Any, svgelements: Any) -> Iterator[Shape]:
    """The inside of an element, then its stroke, where they have a colour."""
    path, values = svgelements.Path(element, transform=""), element.values
    m = element.transform
    matrix = np.array([[m.a, m.c, m.e], [m.b, m.d, m.f]], float)
    ends = [value for segment in path if segment.end is not None for value in (segment.end.x, segment.end.y)]
    if not np.isfinite([*ends, *matrix.flat]).all():
        raise ValueError("a coordinate is not finite")
    if (paint := _paint(element.fill)) is not None:
        yield Shape(path, matrix, *paint, values.get("fill-rule", "nonzero"))
    width = element.stroke_width
    if (paint := _paint(element.stroke)) is not None and width:
        cap, join = values.get("stroke-linecap", "butt"), values.get("stroke-linejoin", "miter")
        limit = float(values.get("stroke-miterlimit", 4.0))
        yield Shape(path, matrix, *paint, stroke=(float(width), cap, join, limit))


def _paint(colour: Any) -> tuple[float, float] | None:
    """Darkness and opacity of a colour: 1 - (0.299 R + 0.587 G + 0.114 B); None if nothing is painted."""
    if colour is None or colour.value is None or colour.opacity == 0.0:
        return None
    light = (0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue) / 255.0
    return 1.0 - light, colour.opacity


def _lines(path: Any, tolerance: float) -> Iterator[np.ndarray]:
    """The subpaths as polylines (k, 2); a closed one ends where it begins."""
    line: list[np.ndarray] = []
    for segment in path:
        name = type(segment).__name__
        if name == "Move":
            if line:
                yield np.concatenate(line)
            line = [np.array([[segment.end.x, segment.end.y]])]
            begin = line[0]
        elif segment.end is None:
            continue
        elif name in ("Line", "Close"):
            line.append(np.array([[segment.end.x, segment.end.y]]))
            if name == "Close":
                yield np.concatenate(line)
                line = [begin]
        elif name == "Arc":
            for cubic in segment.as_cubic_curves():
                line.append(_curve(cubic, tolerance))
        else:
            line.append(_curve(segment, tolerance))
    if len(line) > 1 or (line and len(line[0]) > 1):
        yield np.concatenate(line)


def _curve(segment: Any, tolerance: float) -> np.ndarray:
    """Points of a Bezier curve after its first: n chords deviate by max |second derivative| / (8 n^2)."""
    names = (
        ("start", "control", "end")
        if hasattr(segment, "control")
        else ("start", "control1", "control2", "end")
    )
    p = np.array([[getattr(segment, name).x, getattr(segment, name).y] for name in names])
    degree = len(p) - 1
    bend = degree * (degree - 1) * float(np.hypot(*np.diff(p, 2, axis=0).T).max())
    n = max(1, min(1000, int(np.ceil(np.sqrt(bend / (8.0 * tolerance))))))
    t = (np.arange(1, n + 1) / n)[:, None]
    points = list(p)
    while len(points) > 1:  # de Casteljau
        points = [(1.0 - t) * a + t * b for a, b in pairwise(points)]
    return points[0]
