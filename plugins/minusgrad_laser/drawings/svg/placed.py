"""The lines of a shape in metres: its dashes apart, and cut by the regions around it."""

from dataclasses import dataclass, replace

import numpy as np

from .clipping import cut_line, cut_polygon
from .context import Shape
from .dashes import cut_dashes
from .faults import refuse
from .regions import Region, map_points

ROUNDING = 1e-3
"""Part of the slack of a region that what is cut may reach beyond it."""
FARTHEST = 1e6
"""Coordinate [m] up to which lines are drawn, on the page or beside it."""


@dataclass(frozen=True, eq=False)
class Line:
    """Points (k, 2), whether they are closed, and the colours of the stroke and the inside."""

    points: np.ndarray
    closed: bool
    stroke: str | None
    fill: str | None


def place_lines(shape: Shape, slack: float) -> list[Line]:
    """Lines [m] of a shape; one that ends where it begins is closed. slack [m]: beyond a region that counts.

    Raises `SvgError`.
    """
    found = [_place_line(shape, line) for line in _split_dashes(shape)]
    for region in shape.cuts:
        found = [part for line in found for part in _cut_parts(line, region, slack)]
    return found


def _split_dashes(shape: Shape) -> list[Line]:
    """In the shape's own coordinates: its lines, or their insides and the dashes of their strokes."""
    fill, stroke = (None if one is None else one[0] for one in (shape.fill, shape.stroke))
    if shape.dashes is None:
        return [Line(line, closed, stroke, fill) for line, closed in shape.lines]
    found = [Line(line, closed, None, fill) for line, closed in shape.lines if fill is not None]
    try:
        dashes = [one for line, closed in shape.lines for one in cut_dashes(line, closed, *shape.dashes)]
    except ValueError as error:
        refuse(f"{error}; draw it without dashes")
    return found + [Line(line, closed, stroke, None) for line, closed in dashes]


def _place_line(shape: Shape, line: Line) -> Line:
    points = map_points(shape.matrix, line.points)
    if not (np.abs(points) < FARTHEST).all():
        refuse(f"a coordinate must lie within {FARTHEST:g} m; correct it")
    meets = not line.closed and len(points) > 3 and bool((line.points[0] == line.points[-1]).all())
    return replace(line, points=points[:-1] if meets else points, closed=line.closed or meets)


def _cut_parts(line: Line, region: Region, slack: float) -> list[Line]:
    """What a region leaves of a line: the whole line, or its inside and the parts of its stroke."""
    if region.holds(line.points, slack):
        return [line]
    found = []
    if line.fill is not None:
        points = cut_polygon(line.points, region, ROUNDING * slack)
        found += [Line(points, True, None, line.fill)] if len(points) > 2 else []
    if line.stroke is not None:
        parts = cut_line(line.points, line.closed, region, ROUNDING * slack)
        found += [Line(points, closed, line.stroke, None) for points, closed in parts]
    return found
