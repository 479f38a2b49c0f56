"""A pen that draws lines, Bezier curves and arcs as polylines, whose chords deviate by a tolerance at most.

A Bezier curve of degree p in n equal parts of its parameter deviates by max |B''| / (8 n^2), and

    max |B''| <= p (p - 1) max |second differences of its points|

An arc of radii rx >= ry deviates from n chords of the angle t / n by at most rx (1 - cos(t / 2 n)).
"""

from collections.abc import Sequence
from itertools import pairwise
from math import acos, atan2, ceil, cos, hypot, pi, radians, sin, sqrt

import numpy as np

Point = tuple[float, float]
MOST_POINTS = 2_000_000
"""Points of the polylines of a drawing."""


class TooManyPointsError(Exception):
    """More than `MOST_POINTS`."""


class FlatPen:
    """Polylines of one shape. lines: points (k, 2) and whether they were closed.

    tolerance: in the coordinates that are drawn in. A closed line does not repeat its first point. A line of
    no length is one point.
    """

    def __init__(self, tolerance: float, most: int = MOST_POINTS):
        self.tolerance, self.room = tolerance, most
        self.lines: list[tuple[np.ndarray, bool]] = []
        self._parts: list[Point] = []
        self._begin: Point | None = None

    @property
    def place(self) -> Point:
        """Where the pen is."""
        return self._parts[-1] if self._parts else (self._begin or (0.0, 0.0))

    def move_to(self, point: Point) -> None:
        self.end_line()
        self._begin = point

    def line_to(self, point: Point) -> None:
        self._take_room(1)
        self._start_line().append(point)

    def curve_to(self, *points: Point) -> None:
        """A Bezier curve from here, by its control points and its end: one quadratic or one cubic."""
        p = np.array([self.place, *points])
        degree = len(points)
        bend = degree * (degree - 1) * float(np.hypot(*np.diff(p, 2, axis=0).T).max())
        n = max(1, self._count(sqrt(bend / (8.0 * self.tolerance))))
        self._take_room(n)
        t = (np.arange(1, n + 1) / n)[:, None]
        q = list(p)
        while len(q) > 1:  # de Casteljau
            q = [(1.0 - t) * a + t * b for a, b in pairwise(q)]
        q[0][-1] = points[-1]
        self._start_line().extend(map(tuple, q[0].tolist()))

    def arc_to(self, rx: float, ry: float, turned: float, large: bool, sweep: bool, end: Point) -> None:
        """An elliptic arc from here; turned: degrees. Source: SVG 1.1, F.6."""
        begin = self.place
        rx, ry = abs(rx), abs(ry)
        if begin == end:
            return
        if rx == 0.0 or ry == 0.0:
            self.line_to(end)
            return
        c, s = cos(radians(turned)), sin(radians(turned))
        dx, dy = (begin[0] - end[0]) / 2.0, (begin[1] - end[1]) / 2.0
        x, y = c * dx + s * dy, -s * dx + c * dy
        scale = sqrt(max(1.0, (x / rx) ** 2 + (y / ry) ** 2))
        rx, ry = scale * rx, scale * ry
        u, v = x / rx, y / ry
        apart = u * u + v * v
        part = sqrt(max(0.0, 1.0 / apart - 1.0)) if apart > 0.0 else 0.0
        part = -part if large == sweep else part
        cu, cv = part * v, -part * u
        first = atan2(v - cv, u - cu)
        angle = atan2(-v - cv, -u - cu) - first
        if sweep and angle < 0.0:
            angle += 2.0 * pi
        elif not sweep and angle > 0.0:
            angle -= 2.0 * pi
        mx, my = (begin[0] + end[0]) / 2.0, (begin[1] + end[1]) / 2.0
        self._draw_arc(
            (mx + c * rx * cu - s * ry * cv, my + s * rx * cu + c * ry * cv), (rx, ry), (c, s), first, angle
        )
        self._parts[-1] = end

    def ellipse(self, centre: Point, rx: float, ry: float) -> None:
        """A whole one, from its rightmost point on, as a line of its own."""
        self.move_to((centre[0] + rx, centre[1]))
        self._draw_arc(centre, (rx, ry), (1.0, 0.0), 0.0, 2.0 * pi)
        self._parts.pop()
        self.close()

    def _draw_arc(self, centre: Point, radii: Point, axis: Point, first: float, angle: float) -> None:
        larger = max(radii)
        most = 2.0 * acos(max(0.0, 1.0 - self.tolerance / larger)) if larger > self.tolerance else pi / 2.0
        n = max(2, self._count(abs(angle) / max(most, 1e-9)))
        self._take_room(n)
        at = first + angle * np.arange(1, n + 1) / n
        u, v = radii[0] * np.cos(at), radii[1] * np.sin(at)
        x = centre[0] + axis[0] * u - axis[1] * v
        y = centre[1] + axis[1] * u + axis[0] * v
        self._start_line().extend(zip(x.tolist(), y.tolist(), strict=True))

    def close(self) -> None:
        """Close the line; the next one begins where this one did."""
        begin = self._begin
        if begin is not None:
            self._start_line()
            self._keep_line(closed=True)
        self._begin = begin

    def end_line(self) -> None:
        """Leave the line open."""
        if self._parts:
            self._keep_line(closed=False)
        self._begin = None

    def _start_line(self) -> list[Point]:
        if not self._parts:
            assert self._begin is not None
            self._parts = [self._begin]
        return self._parts

    def _keep_line(self, closed: bool) -> None:
        line = np.array(self._parts, float)
        self._parts = []
        moved = (line[1:] != line[:-1]).any(axis=1)
        line = line[np.append(True, moved)]
        if closed and len(line) > 1 and (line[0] == line[-1]).all():
            line = line[:-1]
        self.lines.append((line, closed))

    def _count(self, chords: float) -> int:
        """A whole number of chords; one beyond the room where there is none."""
        return ceil(chords) if chords < self.room else self.room + 1

    def _take_room(self, points: int) -> None:
        self.room -= points
        if self.room < 0:
            raise TooManyPointsError


def largest_stretch(matrix: Sequence[float]) -> float:
    """The larger singular value of a matrix (a, b, c, d, ...): by how much it stretches a length at most."""
    a, b, c, d = matrix[:4]
    return (hypot(a + d, b - c) + hypot(a - d, b + c)) / 2.0
