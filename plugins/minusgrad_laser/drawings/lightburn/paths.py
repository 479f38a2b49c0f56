"""Paths of LightBurn: vertices with two handles, and lines and cubic Bezier curves between them.

    L i j       the line V_i V_j
    B i j       the curve with control points V_i, c0 of V_i, c1 of V_j, V_j

    .lbrn2      <VertList>V10 0c0x1c1x1V0 5c0x1c1y2.2</VertList><PrimList>L0 1B1 0</PrimList>
    .lbrn       <V vx="10" vy="0"/><V vx="0" vy="5" c1y="2.2"/><P T="L" p0="0" p1="1"/>

Handles are places, not offsets. A handle's coordinate that is 0 is left out; `c0x1` alone says that there is
no handle. A list of primitives may be LineClosed or LineOpen: all vertices in their order.

Decisions 0177.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..chords import bezier_points

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
VERTEX = re.compile(rf"\s*V\s*({NUMBER})\s+({NUMBER})\s*((?:(?:c[01][xy]\s*{NUMBER}|S)\s*)*)")
HANDLE = re.compile(rf"(c[01])([xy])\s*({NUMBER})")
PRIMITIVE = re.compile(r"\s*([A-Za-z])\s*(\d+)\s+(\d+)\s*")
WHOLE = {"LineClosed": True, "LineOpen": False}


class PathError(ValueError):
    """What cannot be read of a path."""


@dataclass(frozen=True)
class Vertex:
    """A place, and its two handles: None where it has none, and for a handle that may be none."""

    place: tuple[float, float]
    handles: dict[str, tuple[float, float] | None]


def read_vertices(text: str) -> list[Vertex]:
    """The vertices of a VertList. Raises `PathError` at what is none."""
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = VERTEX.match(text, at)
        if match is None:
            raise PathError(f"'{text[at : at + 20]}' is no vertex")
        handles: dict[str, dict[str, float]] = {}
        for name, axis, number in HANDLE.findall(match[3]):
            handles.setdefault(name, {})[axis] = float(number)
        place = float(match[1]), float(match[2])
        found.append(Vertex(place, {name: _make_handle(its) for name, its in handles.items()}))
        at = match.end()
    return found


def vertex_of(element: Any) -> Vertex:
    """The vertex of an element <V> of an older file."""
    values = {key: _read_float(text) for key, text in element.attrib.items()}
    handles = {}
    for name in ("c0", "c1"):
        its = {axis: values[name + axis] for axis in "xy" if name + axis in values}
        if its:
            handles[name] = _make_handle(its)
    return Vertex((values.get("vx", 0.0), values.get("vy", 0.0)), handles)


def _make_handle(its: dict[str, float]) -> tuple[float, float] | None:
    return None if its == {"x": 1.0} else (its.get("x", 0.0), its.get("y", 0.0))


def _read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PathError(f"'{text[:20]}' is not a number") from None


def read_primitives(text: str) -> list[tuple[str, int, int]]:
    """Kind and numbers of both vertices of a PrimList. Raises `PathError` at what is none."""
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = PRIMITIVE.match(text, at)
        if match is None:
            raise PathError(f"'{text[at : at + 20]}' is no line or curve")
        found.append((match[1], int(match[2]), int(match[3])))
        at = match.end()
    return found


def path_lines(
    vertices: list[Vertex], primitives: list[tuple[str, int, int]] | bool, tolerance: float
) -> Iterator[tuple[np.ndarray, bool]]:
    """Points (k, 2) and closedness of each run of primitives, one of which begins where the last one ends.

    primitives: True or False for all vertices in their order, closed or open. Raises `PathError` for numbers
    of vertices that are not there, and for kinds other than L and B.
    """
    if isinstance(primitives, bool):
        if len(vertices) > 1:
            yield np.array([one.place for one in vertices]), primitives and len(vertices) > 2
        return
    run: list[np.ndarray] = []
    first = last = -1
    for kind, begin, end in primitives:
        if max(begin, end) >= len(vertices):
            raise PathError(f"'{kind}{begin} {end}' names a vertex, of {len(vertices)}, that is not there")
        piece = _primitive_points(kind, vertices[begin], vertices[end], tolerance)
        if run and begin != last:
            yield _finish_run(run, first == last)
            run = []
        if not run:
            first, run = begin, [piece[:1]]
        run.append(piece[1:])
        last = end
        if last == first:
            yield _finish_run(run, True)
            run = []
    if run:
        yield _finish_run(run, first == last)


def _finish_run(run: list[np.ndarray], closed: bool) -> tuple[np.ndarray, bool]:
    points = np.concatenate(run)
    return (points[:-1], True) if closed and len(points) > 3 else (points, False)


def _primitive_points(kind: str, begin: Vertex, end: Vertex, tolerance: float) -> np.ndarray:
    if kind == "L":
        return np.array([begin.place, end.place])
    if kind != "B":
        raise PathError(f"a primitive '{kind}' is not known")
    controls = [
        begin.place,
        begin.handles.get("c0", begin.place),
        end.handles.get("c1", end.place),
        end.place,
    ]
    if None in controls:
        raise PathError(
            "the handle of a curve is 'x1' alone, which says that there is none, or that it is (1, 0)"
        )
    return bezier_points(np.array(controls, float), tolerance)
