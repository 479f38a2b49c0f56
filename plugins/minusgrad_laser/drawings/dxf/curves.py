"""In the child: the curves of the entities of a DXF file as points (k, 3), in the units of the file.

Circles and arcs are of radius r about a centre; ellipses c + a cos t + b sin t with b = ratio (n x a);
a bulge is tan(sweep / 4) of an arc from one vertex to the next; splines are rational B-splines. Planar
entities have their points in a plane with normal n through an arbitrary-axis rule, which ezdxf knows (OCS).
"""

from collections.abc import Callable, Iterator, Sequence
from math import atan, atan2, hypot, pi, radians
from typing import Any

import numpy as np

from ..chords import arc_angles, count_arc_chords, curve_points

Line = tuple[np.ndarray, bool]
"""Points (k, 3), and whether the last one is joined to the first."""
FRAME_VERTEX = 16
"""Flag of a vertex of a POLYLINE that only controls its spline."""


def entity_lines(entity: Any, tolerance: float) -> Iterator[Line] | None:
    """The lines of an entity; None for one that is no curve. Raises ValueError for one without sense."""
    lines = CURVES.get(entity.dxftype())
    return None if lines is None else lines(entity, tolerance)


def line_points(entity: Any, tolerance: float) -> Iterator[Line]:
    yield np.array([entity.dxf.start.xyz, entity.dxf.end.xyz]), False


def arc_points(entity: Any, tolerance: float) -> Iterator[Line]:
    sweep = radians(entity.dxf.end_angle - entity.dxf.start_angle) % (2.0 * pi)
    yield from _circular_points(entity, radians(entity.dxf.start_angle), sweep or 2.0 * pi, tolerance)


def circle_points(entity: Any, tolerance: float) -> Iterator[Line]:
    yield from _circular_points(entity, 0.0, 2.0 * pi, tolerance)


def _circular_points(entity: Any, begin: float, sweep: float, tolerance: float) -> Iterator[Line]:
    radius = abs(entity.dxf.radius)
    centre = np.array(entity.dxf.center.xyz)
    angle = arc_angles(radius, begin, sweep, tolerance)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(len(angle))], axis=1) + centre
    is_whole = abs(sweep - 2.0 * pi) < 1e-9
    yield in_world(entity, points[:-1] if is_whole else points), is_whole


def ellipse_points(entity: Any, tolerance: float) -> Iterator[Line]:
    tool = entity.construction_tool()
    yield sample_ellipse(
        np.array(tool.center.xyz),
        np.array(tool.major_axis.xyz),
        np.array(tool.minor_axis.xyz),
        (entity.dxf.start_param, entity.dxf.end_param),
        tolerance,
    )


def sample_ellipse(
    centre: np.ndarray, major: np.ndarray, minor: np.ndarray, span: tuple[float, float], tolerance: float
) -> Line:
    """An elliptic arc between two parameters, counterclockwise about the cross product of both axes.

    For equal steps of the parameter no chord is farther away than a circle's of the larger axis is.
    """
    begin, sweep = span[0], (span[1] - span[0]) % (2.0 * pi)
    is_whole = sweep < 1e-9 or 2.0 * pi - sweep < 1e-9
    radius = max(float(np.linalg.norm(major)), float(np.linalg.norm(minor)))
    t = arc_angles(radius, begin, 2.0 * pi if is_whole else sweep, tolerance)[:, None]
    points = centre + np.cos(t) * major + np.sin(t) * minor
    return (points[:-1] if is_whole else points), is_whole


def spline_points(entity: Any, tolerance: float) -> Iterator[Line]:
    yield sample_spline(entity.construction_tool(), tolerance), False


def sample_spline(spline: Any, tolerance: float) -> np.ndarray:
    """Points (k, 3) of a B-spline of ezdxf over the part of its knots where it is defined."""
    knots = np.array(spline.knots())
    low, high = knots[spline.order - 1], knots[spline.count]
    inside = np.unique(np.concatenate([[low], knots[(knots > low) & (knots < high)], [high]]))
    if not high > low:
        raise ValueError("a spline whose knots span nothing")

    def curve(t: np.ndarray) -> np.ndarray:
        return np.array([point.xyz for point in spline.points(t.tolist())])

    return curve_points(curve, inside, tolerance)


def lwpolyline_points(entity: Any, tolerance: float) -> Iterator[Line]:
    vertices = np.array(entity.get_points("xyb"), float).reshape(-1, 3)
    yield from _planar_polyline(entity, vertices, bool(entity.closed), entity.dxf.elevation, tolerance)


def polyline_points(entity: Any, tolerance: float) -> Iterator[Line]:
    its = [one for one in entity.vertices if not one.dxf.flags & FRAME_VERTEX]
    places = np.array([one.dxf.location.xyz for one in its]).reshape(-1, 3)
    if entity.is_3d_polyline:
        if len(places):
            yield places, bool(entity.is_closed)
        return
    bulges = np.array([one.dxf.get("bulge", 0.0) for one in its])
    vertices = np.column_stack([places[:, :2], bulges])
    elevation = entity.dxf.elevation.z if entity.dxf.hasattr("elevation") else 0.0
    yield from _planar_polyline(entity, vertices, bool(entity.is_closed), elevation, tolerance)


def _planar_polyline(
    entity: Any, vertices: np.ndarray, closed: bool, elevation: float, tolerance: float
) -> Iterator[Line]:
    if len(vertices):
        points = bulged_points(vertices, closed, tolerance)
        yield in_world(entity, np.column_stack([points, np.full(len(points), elevation)])), closed


def bulged_points(vertices: np.ndarray, closed: bool, tolerance: float) -> np.ndarray:
    """Points (k, 2) of vertices (n, 3) as x, y, bulge; of a closed one without its first at the end."""
    following = np.roll(vertices, -1, axis=0) if closed else vertices[1:]
    parts = [vertices[:1, :2]]
    for (x0, y0, bulge), (x1, y1, _) in zip(vertices[: len(following)], following, strict=True):
        chord = hypot(x1 - x0, y1 - y0)
        if bulge == 0.0 or chord == 0.0:
            parts.append(np.array([[x1, y1]]))
            continue
        sweep = 4.0 * atan(bulge)
        radius = 0.25 * chord * abs(bulge + 1.0 / bulge)  # chord / (2 sin(sweep / 2))
        away = 0.25 * (1.0 / bulge - bulge)  # of the centre from the middle, to the left, in chords
        centre = np.array([0.5 * (x0 + x1) - away * (y1 - y0), 0.5 * (y0 + y1) + away * (x1 - x0)])
        begin = atan2(y0 - centre[1], x0 - centre[0])
        n = count_arc_chords(radius, sweep, tolerance)
        angle = begin + sweep * np.arange(1, n) / n
        parts.append(centre + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1))
        parts.append(np.array([[x1, y1]]))
    points = np.concatenate(parts)
    return points[:-1] if closed else points


def corners_points(entity: Any, tolerance: float) -> Iterator[Line]:
    """The corners of a SOLID or TRACE, whose last two stand in the other order."""
    corners = [entity.dxf.vtx0, entity.dxf.vtx1, entity.dxf.get("vtx3", entity.dxf.vtx2), entity.dxf.vtx2]
    points = np.array([one.xyz for one in corners])
    distinct = np.append(True, (np.diff(points, axis=0) != 0.0).any(axis=1))
    yield in_world(entity, points[distinct]), True


def in_world(entity: Any, points: np.ndarray) -> np.ndarray:
    """Points (k, 3) in the plane of an entity, in the coordinates of the drawing."""
    ocs = entity.ocs()
    if not ocs.transform:
        return points
    axes = np.array([ocs.ux.xyz, ocs.uy.xyz, ocs.uz.xyz])
    return points @ axes


CURVES: dict[str, Callable[[Any, float], Iterator[Line]]] = {
    "LINE": line_points,
    "ARC": arc_points,
    "CIRCLE": circle_points,
    "ELLIPSE": ellipse_points,
    "SPLINE": spline_points,
    "LWPOLYLINE": lwpolyline_points,
    "POLYLINE": polyline_points,
    "SOLID": corners_points,
    "TRACE": corners_points,
}
"""Entities that are curves."""
FILLED: Sequence[str] = ("SOLID", "TRACE", "HATCH", "MPOLYGON")
"""Entities that are areas."""
