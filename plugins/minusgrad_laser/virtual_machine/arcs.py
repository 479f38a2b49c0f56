"""Arcs of G-code (G2 clockwise, G3 counter-clockwise), as the chords that a controller makes of them.

The chords of an arc of radius r and angle phi are floor(|phi| r / (2 sqrt(e (2 r - e)))) in number, with
GRBL's arc tolerance e = 0.002 mm ($12), so that no chord is further than e from the arc.
"""

from math import atan2, cos, hypot, inf, pi, sin, sqrt

TOLERANCE = 2e-6
"""GRBL's $12 [m]."""
MOST = 100_000
"""Chords of an arc: a circle of a radius of 4 km."""


def centre_of_radius(
    start: tuple[float, float], end: tuple[float, float], radius: float, clockwise: bool
) -> tuple[float, float] | None:
    """The centre of an arc given by R [m]: the short way for R > 0, the long one for R < 0; or None."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    chord = hypot(dx, dy)
    square = radius * radius - 0.25 * chord * chord
    if chord == 0.0 or square < -1e-9 * radius * radius:
        return None
    height = sqrt(max(square, 0.0)) / chord
    if clockwise != (radius < 0.0):
        height = -height
    return start[0] + 0.5 * dx - height * dy, start[1] + 0.5 * dy + height * dx


def chords(
    start: tuple[float, float], end: tuple[float, float], centre: tuple[float, float], clockwise: bool
) -> list[tuple[float, float]]:
    """Ends of the chords [m]; an arc that ends where it starts is a full circle."""
    ax, ay = start[0] - centre[0], start[1] - centre[1]
    count, angle = _divide_arc(start, end, centre, clockwise)
    places = []
    for k in range(1, count):
        c, s = cos(angle * k / count), sin(angle * k / count)
        places.append((centre[0] + ax * c - ay * s, centre[1] + ax * s + ay * c))
    return [*places, end]


def number_of_chords(
    start: tuple[float, float], end: tuple[float, float], centre: tuple[float, float], clockwise: bool
) -> int:
    """How many chords an arc has, before they are made."""
    return _divide_arc(start, end, centre, clockwise)[0]


def _divide_arc(
    start: tuple[float, float], end: tuple[float, float], centre: tuple[float, float], clockwise: bool
) -> tuple[int, float]:
    """The number of chords of an arc, and its angle."""
    ax, ay = start[0] - centre[0], start[1] - centre[1]
    bx, by = end[0] - centre[0], end[1] - centre[1]
    radius = hypot(ax, ay)
    angle = atan2(ax * by - ay * bx, ax * bx + ay * by)
    if clockwise and angle >= -5e-7:
        angle -= 2.0 * pi
    elif not clockwise and angle <= 5e-7:
        angle += 2.0 * pi
    sagitta = min(TOLERANCE, radius)
    return max(1, int(0.5 * abs(angle) * radius / sqrt(sagitta * (2.0 * radius - sagitta)))), angle


def mismatch(start: tuple[float, float], end: tuple[float, float], centre: tuple[float, float]) -> float:
    """By how much the radii at both ends differ [m]; 0 where GRBL accepts it (0.005 mm, or a thousandth)."""
    first = hypot(start[0] - centre[0], start[1] - centre[1])
    last = hypot(end[0] - centre[0], end[1] - centre[1])
    difference = abs(first - last)
    if first == 0.0:
        return inf
    return 0.0 if difference <= max(5e-6, 1e-3 * first) and difference <= 5e-4 else difference
