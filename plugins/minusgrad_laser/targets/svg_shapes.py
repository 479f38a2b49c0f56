"""The shapes of an SVG file as polygons: svgelements resolves transforms, units, styles and `use`.

It runs in a child process within limits, and what comes back are numbers: the segments of each shape.

Lengths are in px from the upper left corner of the page, y downwards, until a scale is given.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, pip_line

from .coverage import Painted
from .stroke_outlines import outline

TOLERANCE = 0.005
"""Distance [cells] of a curve from the chords that stand for it."""
FARTHEST = 1e9
"""Coordinate [px] up to which shapes are drawn, on the page or beside it."""
MOST_POINTS = 2_000_000
"""Points of the polylines of a drawing."""
SECONDS, SPACE = 2e-3, 100_000
"""Computing time [s] and address space [bytes] for a shape beyond the usual."""
MOST_CHORDS = 1000
"""Of one curve."""
MOVE, LINE, CLOSE, QUADRATIC, CUBIC = range(5)
POINTS = (1, 1, 1, 3, 4)
"""Points of each kind of segment: its end; of a curve its start, its controls and its end."""


@dataclass(frozen=True, eq=False)
class Path:
    """Segments of lines and Bezier curves: kinds (k,), and their points (m, 2) one after another."""

    kinds: np.ndarray
    points: np.ndarray

    def segments(self) -> Iterator[tuple[int, np.ndarray]]:
        """Kind and points (`POINTS`, 2) of each segment."""
        ends = np.cumsum(np.asarray(POINTS)[self.kinds]).tolist()
        for kind, begin, end in zip(self.kinds.tolist(), [0, *ends], ends, strict=False):
            yield kind, self.points[begin:end]

    def count(self, tolerance: float) -> int:
        """The points of its polylines, whose chords deviate by a tolerance at most."""
        ends = np.cumsum(np.asarray(POINTS)[self.kinds])
        total = len(self.kinds)
        for kind, degree in ((QUADRATIC, 2), (CUBIC, 3)):
            last = ends[self.kinds == kind]
            p = self.points[last[:, None] + np.arange(-degree - 1, 0)]
            if len(p):
                bend = degree * (degree - 1) * np.hypot(*np.diff(p, 2, axis=1).T).max(axis=0)
                total += int(np.minimum(np.ceil(np.sqrt(bend / (8.0 * tolerance))), MOST_CHORDS).sum())
        return total


@dataclass(frozen=True, eq=False)
class Shape:
    """What is painted of an element: its path in its own coordinates, matrix (2, 3) to px, and the paint.

    Painted is the inside by the fill rule or, with `stroke` (width, cap, join, limit), the stroke.
    """

    path: Path
    matrix: np.ndarray
    dark: float
    opacity: float
    rule: str = "nonzero"
    stroke: tuple[float, str, str, float] | None = None

    def count(self, scale: float) -> int:
        """How many points its polylines have for a scale [cells/px]."""
        stretch = float(np.linalg.norm(self.matrix[:, :2] * scale, 2))
        return 0 if stretch == 0.0 else self.path.count(TOLERANCE / stretch)

    def polygons(self, scale: float) -> Painted:
        """As polygons, in cells from the upper left corner, for a scale [cells/px]."""
        matrix = self.matrix * scale
        stretch = float(np.linalg.norm(matrix[:, :2], 2))
        if stretch == 0.0:
            return Painted([], self.dark, self.opacity, self.rule)
        lines = list(_path_polylines(self.path, TOLERANCE / stretch))
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

    def crop_page(self) -> "Drawing":
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


def polygons(file: str, shapes: Sequence[Shape], scale: float) -> list[Painted]:
    """The shapes as polygons, in cells, for a scale [cells/px].

    Raises `UserError` for curves of more than `MOST_POINTS` points, before they are made.
    """
    found, points = [], 0
    for shape in shapes:
        points += shape.count(scale)
        if points > MOST_POINTS:
            raise UserError(
                f"'{file}': its curves take more than {MOST_POINTS:,} points at this size of a cell; give"
                " larger cells, or simplify the drawing"
            )
        found.append(shape.polygons(scale))
    return found


def drawing(file: str, data: bytes, count: int = 1) -> Drawing:
    """The drawing in an SVG file, which paints `count` shapes.

    Raises `UserError` without svgelements, where nothing is painted, and for shapes that cannot be read.
    """
    if find_spec("svgelements") is None:
        raise UserError(f"'{file}': needs svgelements: {pip_line('svg')}")
    found = bounded_read(values, file, data, ("svgelements",), SECONDS * count, SPACE * count)
    width, height = found["size"]
    return Drawing((width, height), [_make_shape(**one) for one in found["shapes"]])


def _make_shape(kinds: Any, points: Any, stroke: Any, **rest: Any) -> Shape:
    return Shape(Path(kinds, points), stroke=None if stroke is None else tuple(stroke), **rest)


def values(file: str, data: bytes) -> dict[str, Any]:
    """In the child: the `size` of the page and the numbers of its `shapes`."""
    import svgelements

    try:
        page = svgelements.SVG.parse(BytesIO(data), reify=False, ppi=96.0, on_error="raise")
        shapes = [
            shape
            for element in page.elements()
            if isinstance(element, svgelements.Shape) and element.values.get("visibility") != "hidden"
            for shape in _painted_shapes(element, svgelements)
        ]
    except (ValueError, ArithmeticError, AttributeError, TypeError, IndexError, KeyError) as error:
        why = " ".join(str(error).split()) or "its data are incomplete"
        raise UserError(f"'{file}': a shape cannot be read: {why}; correct it") from None
    if not shapes:
        raise UserError(f"'{file}': there is nothing to draw: no shape has a fill or a stroke")
    return {"size": [float(page.width), float(page.height)], "shapes": shapes}


def _painted_shapes(element: Any, svgelements: Any) -> Iterator[dict[str, Any]]:
    """The inside of an element, then its stroke, where they have a colour."""
    path, values = svgelements.Path(element, transform=""), element.values
    m = element.transform
    matrix = np.array([[m.a, m.c, m.e], [m.b, m.d, m.f]], float)
    inside, edge = (
        _paint_darkness(element.fill),
        _paint_darkness(element.stroke) if element.stroke_width else None,
    )
    if inside is None and edge is None:
        return
    kinds, points = _path_segments(path)
    if not np.isfinite(points).all() or not np.isfinite(matrix).all():
        raise ValueError("a coordinate is not finite")
    with np.errstate(over="ignore", invalid="ignore"):
        farthest = np.abs(points @ matrix[:, :2].T + matrix[:, 2]).max(initial=0.0)
    if not max(farthest, np.abs(points).max(initial=0.0)) < FARTHEST:
        raise ValueError(f"a coordinate must lie within {FARTHEST:g} px, got {farthest:g}")
    usual = {"kinds": kinds, "points": points, "matrix": matrix, "rule": "nonzero", "stroke": None}
    if inside is not None:
        rule = str(values.get("fill-rule", "nonzero"))
        yield usual | {"dark": inside[0], "opacity": inside[1], "rule": rule}
    if edge is not None:
        cap, join = values.get("stroke-linecap", "butt"), values.get("stroke-linejoin", "miter")
        width, limit = float(element.stroke_width), float(values.get("stroke-miterlimit", 4.0))
        if not (0.0 < width < FARTHEST and 0.0 < limit < FARTHEST):
            raise ValueError(f"a stroke needs a width and a miter limit above 0, got {width:g} and {limit:g}")
        stroke = [width, str(cap), str(join), limit]
        yield usual | {"dark": edge[0], "opacity": edge[1], "stroke": stroke}


def _paint_darkness(colour: Any) -> tuple[float, float] | None:
    """Darkness and opacity of a colour: 1 - (0.299 R + 0.587 G + 0.114 B); None if nothing is painted."""
    if colour is None or colour.value is None or colour.opacity == 0.0:
        return None
    light = (0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue) / 255.0
    return 1.0 - light, colour.opacity


def _path_segments(path: Any) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and points of the segments of a path of svgelements; arcs as cubic curves."""
    kinds: list[int] = []
    points: list[tuple[float, float]] = []
    for segment in path:
        name = type(segment).__name__
        if segment.end is None:
            continue
        if name in ("Move", "Line", "Close"):
            kinds.append({"Move": MOVE, "Line": LINE, "Close": CLOSE}[name])
            points.append((segment.end.x, segment.end.y))
            continue
        for curve in segment.as_cubic_curves() if name == "Arc" else (segment,):
            controls = (curve.control,) if hasattr(curve, "control") else (curve.control1, curve.control2)
            kinds.append(QUADRATIC if len(controls) == 1 else CUBIC)
            points += [(p.x, p.y) for p in (curve.start, *controls, curve.end)]
    return np.array(kinds, np.int8), np.array(points, float).reshape(-1, 2)


def _path_polylines(path: Path, tolerance: float) -> Iterator[np.ndarray]:
    """The subpaths as polylines (k, 2); a closed one ends where it begins."""
    line: list[np.ndarray] = []
    begin = np.zeros((1, 2))
    for kind, points in path.segments():
        if kind == MOVE:
            if line:
                yield np.concatenate(line)
            line = [points]
            begin = points
        elif kind in (LINE, CLOSE):
            line.append(points)
            if kind == CLOSE:
                yield np.concatenate(line)
                line = [begin]
        else:
            line.append(_bezier_points(points, tolerance))
    if len(line) > 1 or (line and len(line[0]) > 1):
        yield np.concatenate(line)


def _bezier_points(p: np.ndarray, tolerance: float) -> np.ndarray:
    """Points of a Bezier curve after its first: n chords deviate by max |second derivative| / (8 n^2)."""
    degree = len(p) - 1
    bend = degree * (degree - 1) * float(np.hypot(*np.diff(p, 2, axis=0).T).max())
    n = max(1, min(MOST_CHORDS, int(np.ceil(np.sqrt(bend / (8.0 * tolerance))))))
    t = (np.arange(1, n + 1) / n)[:, None]
    points = list(p)
    while len(points) > 1:  # de Casteljau
        points = [(1.0 - t) * a + t * b for a, b in pairwise(points)]
    return points[0]
