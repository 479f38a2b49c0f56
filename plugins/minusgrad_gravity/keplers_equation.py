"""Kepler's equation for every eccentricity: the eccentric, hyperbolic and parabolic anomaly of a mean one.

    E - e sin E = M (ellipse),   e sinh H - H = M (hyperbola),   D + D^3 / 3 = M (parabola)

Both first ones are written as (1 - e) E + e (E - sin E) and (e - 1) H + e (sinh H - H), whose parts have one
sign, so that no digits are lost near e = 1. They grow and are convex for M > 0: Newton's method from a bound
above the root falls to it and stops where it falls no more. Far from pericentre the ellipse counts from its
apocentre, (pi - E) + e sin(pi - E) = pi - M, which is convex for angles below 0. For a parabola with the
pericentre distance q, D = tan(f / 2) and M = sqrt(mu / (2 q^3)) (t - T) (Barker's equation; Meeus 1998,
Astronomical Algorithms, 34).
"""

import math
from collections.abc import Callable

from minusgrad.plugin import UserError

MOST = 100
"""Turns after which an anomaly that still falls is refused; ten suffice."""
SERIES = tuple(1.0 / (2 * k * (2 * k + 1)) for k in range(2, 13))
"""Ratios of the terms of x - sin x and sinh x - x, to x^25."""
CUBIC = 1.0 / 6.0 - math.pi**2 / 120.0
"""E - sin E is at least this times E^3 up to pi."""


def sine_excess(x: float) -> float:
    """x - sin x, with all digits near 0."""
    return x - math.sin(x) if abs(x) > 1.0 else _kepler_excess(x, -x * x)


def hyperbolic_excess(x: float) -> float:
    """sinh x - x, with all digits near 0."""
    return math.sinh(x) - x if abs(x) > 1.0 else _kepler_excess(x, x * x)


def _kepler_excess(x: float, square: float) -> float:
    factor = 1.0
    for ratio in reversed(SERIES):
        factor = 1.0 + square * ratio * factor
    return x**3 / 6.0 * factor


def elliptic_mean(anomaly: float, e: float, less: float) -> float:
    """M of an eccentric anomaly; less: 1 - e."""
    return less * anomaly + e * sine_excess(anomaly)


def hyperbolic_mean(anomaly: float, e: float, more: float) -> float:
    """M of a hyperbolic anomaly; more: e - 1."""
    return more * anomaly + e * hyperbolic_excess(anomaly)


def eccentric_anomaly(mean: float, e: float) -> float:
    """E of a mean anomaly, both in rad; e from 0 to 1.

    Raises `UserError` if Newton's method does not converge.
    """
    reduced = reduced_angle(mean)
    return solved_ellipse(reduced, e) + (mean - reduced)


def reduced_angle(angle: float) -> float:
    """The same angle from -pi to pi, of any number of turns."""
    return angle if abs(angle) <= math.pi else math.atan2(math.sin(angle), math.cos(angle))


def solved_ellipse(mean: float, e: float) -> float:
    """E for a mean anomaly from -pi to pi."""
    M, less = abs(mean), 1.0 - e
    bounds = [math.pi, M + e]
    if less > 0.0:
        bounds.append(M / less)
    if e > 0.0:
        bounds.append(math.cbrt(M / (CUBIC * e)))
    found = _falling_root(
        min(bounds),
        lambda E: elliptic_mean(E, e, less) - M,
        lambda E: less + 2.0 * e * math.sin(0.5 * E) ** 2,
        f"an ellipse of eccentricity {e!r} at the mean anomaly {mean!r}",
    )
    return math.copysign(found, mean)


def solved_from_apocentre(left: float, e: float) -> float:
    """pi - E for pi - M from -pi / 2 to pi / 2."""
    size = abs(left)
    found = _falling_root(
        -size / (1.0 + e),
        lambda y: y + e * math.sin(y) + size,
        lambda y: 1.0 + e * math.cos(y),
        f"an ellipse of eccentricity {e!r} at {left!r} from its apocentre",
    )
    return math.copysign(found, left)


def solved_hyperbola(mean: float, e: float) -> float:
    """H for a mean anomaly. Raises `UserError` if Newton's method does not converge."""
    M, more = abs(mean), e - 1.0
    above = math.cbrt(6.0 * M / e)
    if more > 0.0:
        above = min(above, M / more)
    found = _falling_root(
        min(above, math.asinh((M + above) / e)),
        lambda H: hyperbolic_mean(H, e, more) - M,
        lambda H: more + 2.0 * e * math.sinh(0.5 * H) ** 2,
        f"a hyperbola of eccentricity {e!r} at the mean anomaly {mean!r}",
    )
    return math.copysign(found, mean)


def solved_parabola(mean: float) -> float:
    """D = tan(f / 2), the real root of D + D^3 / 3 = M."""
    return 2.0 * math.sinh(math.asinh(1.5 * mean) / 3.0)


def _falling_root(
    start: float, excess: Callable[[float], float], slope: Callable[[float], float], what: str
) -> float:
    """The root of a growing convex function from a bound above it. Raises `UserError`, which names `what`."""
    here = start
    if here == 0.0:
        return 0.0
    for _ in range(MOST):
        below = here - excess(here) / slope(here)
        if below >= here:
            return here
        here = below
    raise UserError(
        f"Kepler's equation: no anomaly was found in {MOST} turns of Newton's method for {what}; give"
        " elements within the range of double precision"
    )
