"""Chords that stand for a curve, no farther from it than a tolerance.

arc of radius r, n equal chords:            r (1 - cos(sweep / 2n)) <= tolerance
Bezier curve of degree d, n chords:         d (d - 1) max |second differences| / (8 n^2) <= tolerance
any other curve, smooth between its knots:  chords are halved until points of the curve lie within it
"""

from collections.abc import Callable
from itertools import pairwise
from math import acos, ceil, pi, sqrt

import numpy as np

MOST_CHORDS = 100_000
"""Of one curve, or of one piece between two knots."""
BETWEEN = (0.25, 0.5, 0.75)
"""Parts of a chord's parameter at which the curve is compared with it."""


def count_arc_chords(radius: float, sweep: float, tolerance: float) -> int:
    """How many chords an arc takes; a multiple of 4 for a whole turn, which has its extremes. sweep [rad]."""
    least = max(1, ceil(abs(sweep) / (0.5 * pi) - 1e-9))
    if not tolerance < radius:
        return least
    step = 2.0 * acos(1.0 - tolerance / radius)
    n = max(least, min(MOST_CHORDS, ceil(abs(sweep) / step)) if step > 0.0 else MOST_CHORDS)
    return 4 * ceil(n / 4) if abs(abs(sweep) - 2.0 * pi) < 1e-9 else n


def arc_angles(radius: float, begin: float, sweep: float, tolerance: float) -> np.ndarray:
    """Angles [rad] of the ends of an arc's chords, both ends of the arc included."""
    return begin + sweep * np.linspace(0.0, 1.0, count_arc_chords(radius, sweep, tolerance) + 1)


def bezier_points(controls: np.ndarray, tolerance: float) -> np.ndarray:
    """Points (n + 1, dimensions) of a Bezier curve with control points (d + 1, dimensions)."""
    degree = len(controls) - 1
    if degree < 2:
        return controls
    bend = degree * (degree - 1) * float(np.linalg.norm(np.diff(controls, 2, axis=0), axis=1).max())
    n = max(1, min(MOST_CHORDS, ceil(sqrt(bend / (8.0 * tolerance)))))
    t = np.linspace(0.0, 1.0, n + 1)[:, None]
    points = list(controls)
    while len(points) > 1:  # de Casteljau
        points = [(1.0 - t) * a + t * b for a, b in pairwise(points)]
    return points[0]


def curve_points(
    curve: Callable[[np.ndarray], np.ndarray], knots: np.ndarray, tolerance: float
) -> np.ndarray:
    """Points (n, dimensions) of a curve of a parameter (m,), which is smooth between knots (k,)."""
    found = [curve(knots[:1])]
    for low, high in pairwise(knots):
        if high > low:
            found.append(_span_points(curve, low, high, tolerance)[1:])
    return np.concatenate(found)


def _span_points(
    curve: Callable[[np.ndarray], np.ndarray], low: float, high: float, tolerance: float
) -> np.ndarray:
    n = 2
    while True:
        t = np.linspace(low, high, n + 1)
        points = curve(t)
        begin, along = points[:-1], np.diff(points, axis=0)
        length = np.maximum((along**2).sum(axis=1), 1e-300)[:, None]
        worst = 0.0
        for part in BETWEEN:
            off = curve(t[:-1] + part * (high - low) / n) - begin
            off = off - np.clip((off * along).sum(axis=1)[:, None] / length, 0.0, 1.0) * along
            worst = max(worst, float(np.sqrt((off**2).sum(axis=1).max())))
        if not worst > tolerance or 2 * n > MOST_CHORDS:
            return points
        n *= 2
