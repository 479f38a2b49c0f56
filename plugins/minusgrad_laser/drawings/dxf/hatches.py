"""In the child: the boundaries of a HATCH as closed lines, from its polylines and from its edges."""

from collections.abc import Iterator
from math import pi, radians
from typing import Any

import numpy as np

from ..chords import arc_angles
from .curves import Line, bulged_points, in_world, sample_ellipse, sample_spline

GAP = 1e-2
"""Part of a boundary's length that its edges may leave open; a straight line closes it."""


def hatch_lines(entity: Any, tolerance: float) -> Iterator[Line]:
    """Closed lines of the boundaries that the style of a hatch uses.

    Raises ValueError for edges that are no closed line.
    """
    elevation = entity.dxf.elevation.z if entity.dxf.hasattr("elevation") else 0.0
    for path in entity.paths.rendering_paths(entity.dxf.get("hatch_style", 0)):
        for points in _boundary_loops(path, tolerance):
            flat = np.column_stack([points, np.full(len(points), elevation)])
            yield in_world(entity, flat), True


def _boundary_loops(path: Any, tolerance: float) -> Iterator[np.ndarray]:
    if path.type.name == "POLYLINE":
        vertices = np.array(path.vertices, float).reshape(-1, 3)
        if len(vertices):
            yield bulged_points(vertices, True, tolerance)
        return
    yield from _chain_edges([points for edge in path.edges if len(points := _edge_points(edge, tolerance))])


def _edge_points(edge: Any, tolerance: float) -> np.ndarray:
    """Points (k, 2) of an edge in its own direction."""
    kind = edge.type.name
    if kind == "LINE":
        return np.array([tuple(edge.start)[:2], tuple(edge.end)[:2]])
    if kind == "ARC":
        sweep = radians(edge.end_angle - edge.start_angle) % (2.0 * pi) or 2.0 * pi
        angle = arc_angles(edge.radius, radians(edge.start_angle), sweep, tolerance)
        points = np.array(tuple(edge.center)[:2]) + edge.radius * np.stack(
            [np.cos(angle), np.sin(angle)], axis=1
        )
        return points if edge.ccw else points[::-1]
    if kind == "ELLIPSE":
        tool = edge.construction_tool()
        centre, major, minor = (np.array(one.xyz) for one in (tool.center, tool.major_axis, tool.minor_axis))
        span = tool.start_param, tool.end_param
        points, is_whole = sample_ellipse(centre, major, minor, span, tolerance)
        points = np.concatenate([points, points[:1]]) if is_whole else points
        return points[:, :2] if edge.ccw else points[::-1, :2]
    return sample_spline(edge.construction_tool(), tolerance)[:, :2]


def _chain_edges(edges: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Loops (k, 2) of edges, each of which goes on at the nearest end of those that are left."""
    while edges:
        line = edges.pop(0)
        length = _line_length(line)
        while edges and np.hypot(*(line[-1] - line[0])) > 1e-9 * length:
            apart = [[np.hypot(*(line[-1] - one[end])) for end in (0, -1)] for one in edges]
            k, end = divmod(int(np.argmin(apart)), 2)
            if apart[k][end] > GAP * (length + _line_length(edges[k])):
                break
            following = edges.pop(k)
            line = np.concatenate([line, following[::-1] if end else following])
            length = _line_length(line)
        if np.hypot(*(line[-1] - line[0])) > GAP * length:
            raise ValueError("its boundary is open")
        yield line[:-1] if np.hypot(*(line[-1] - line[0])) <= 1e-9 * length else line


def _line_length(line: np.ndarray) -> float:
    return float(np.hypot(*np.diff(line, axis=0).T).sum())
