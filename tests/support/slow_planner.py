"""A plain planner of laser motion in NumPy, move by move: the reference of `planned_motion`.

Written from the documentation of GRBL and Marlin, with angles and with speeds in place of their squares; it
shares no code with the plugin.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import acos, hypot, inf, sin, sqrt

import numpy as np


def planned(
    x: np.ndarray,
    y: np.ndarray,
    speed: np.ndarray,
    lit: np.ndarray,
    axis_speed: Sequence[float],
    axis_acceleration: Sequence[float],
    line_time: float,
    lit_time: float,
    planner_blocks: int,
    junction_deviation: float | None = None,
    axis_jerk: Sequence[float] | None = None,
) -> dict[str, np.ndarray]:
    """`feed`, `duration` and `nominal` of each move, and `v`, the speed at each point."""
    n = len(x)
    steps = [(x[i] - x[i - 1], y[i] - y[i - 1]) if i else (0.0, 0.0) for i in range(n)]
    length = [hypot(*step) for step in steps]
    unit = [(step[0] / s, step[1] / s) if s else None for step, s in zip(steps, length, strict=True)]
    rate = [within(axis_acceleration, u) if u else 1.0 for u in unit]
    top = [float(v) for v in speed]
    for i in range(n):
        if unit[i]:
            fastest = within(axis_speed, unit[i])
            top[i] = min(fastest, lit[i] * speed[i] + (1.0 - lit[i]) * fastest)
            for least in (line_time, lit[i] * lit_time):
                top[i] = min(top[i], length[i] / least) if least > 0.0 else top[i]
    cap = [inf] * n
    real = [i for i in range(n) if unit[i]]
    for place, (i, k) in enumerate(pairwise(real), start=1):
        if junction_deviation is not None:
            corner = by_deviation(unit[i], unit[k], axis_acceleration, junction_deviation)
        else:
            corner = by_jerk(unit[i], unit[k], axis_jerk)
        cap[i] = min(top[i], top[k], corner)
        if place + planner_blocks <= len(real):
            ahead = real[place : place + planner_blocks - 1]
            cap[i] = min(cap[i], sqrt(2.0 * sum(rate[j] * length[j] for j in ahead)))
    cap[0] = cap[-1] = 0.0
    v = list(cap)
    for i in reversed(range(n - 1)):
        v[i] = min(v[i], sqrt(v[i + 1] ** 2 + 2.0 * rate[i + 1] * length[i + 1]))
    for i in range(1, n):
        v[i] = min(v[i], sqrt(v[i - 1] ** 2 + 2.0 * rate[i] * length[i]))
    duration = [trapezoid(v[i - 1], v[i], top[i], rate[i], length[i]) if unit[i] else 0.0 for i in range(n)]
    feed = [length[i] / duration[i] if unit[i] else top[i] for i in range(n)]
    found = {"feed": feed, "duration": duration, "nominal": top, "v": v}
    return {name: np.array(values) for name, values in found.items()}


def within(limits: Sequence[float], u: tuple[float, float]) -> float:
    """The largest rate along u that no axis exceeds."""
    return min(limit / abs(part) for limit, part in zip(limits, u, strict=True) if part != 0.0)


def by_deviation(u, w, acceleration, deviation) -> float:
    """GRBL: sqrt(a delta sin(theta/2) / (1 - sin(theta/2)))."""
    cosine = -(u[0] * w[0] + u[1] * w[1])
    if cosine > 0.999999:
        return 0.0
    if cosine < -0.999999:
        return inf
    bisector = (w[0] - u[0], w[1] - u[1])
    size = hypot(*bisector)
    a = within(acceleration, (bisector[0] / size, bisector[1] / size))
    s = sin(0.5 * acos(cosine))
    return sqrt(a * deviation * s / (1.0 - s))


def by_jerk(u, w, jerk) -> float:
    """Marlin: no axis may change its speed by more than its jerk at once."""
    found = inf
    for before, then, most in zip(u, w, jerk, strict=True):
        step = max(abs(before), abs(then)) if before * then < 0.0 else abs(then - before)
        found = min(found, most / step) if step else found
    return found


def trapezoid(v0: float, v1: float, top: float, a: float, length: float) -> float:
    """The time of a move: up to the peak, along it, down."""
    peak = min(top, sqrt(0.5 * (v0 * v0 + v1 * v1) + a * length))
    up, down = (peak * peak - v0 * v0) / (2.0 * a), (peak * peak - v1 * v1) / (2.0 * a)
    cruise = max(length - up - down, 0.0)
    return (peak - v0) / a + (peak - v1) / a + cruise / peak
