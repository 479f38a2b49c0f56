"""Dose of a moving laser spot: D of each cell p, as a fraction of the dose that exposes fully.

The path is a chain of points (x, y) [m]; a segment is written with the power P [W] and the speed v [m/s] of
its second point, so that it dwells there for t = length / v [s].

    stencil    D_p = sum over segments  P t k(p - end),        k = peak S, from samples S of the spot
    Gaussian   D_p = sum over segments  P / v integral over the segment of k(p - s) ds,
               k(x, y) = 2 / (pi a w^2) exp(-2 (x^2 + (y / a)^2) / w^2)

both over `full`, the fluence [J/m^2] that counts as dose one. w [m] is the waist, the radius at 1/e^2 of the
peak (Siegman 1986, Lasers, ch. 17), along x; along y it is a w, a the aspect, 1 for a round spot. With y / a
in the place of y the spot is round, and a segment has the length q in the place of l; s0 is the place of p
along it, and d its distance from the line. The integral is

    l / (q a w sqrt(2 pi)) exp(-2 d^2 / w^2) [erf(sqrt 2 (q - s0) / w) + erf(sqrt 2 s0 / w)]

A length of zero has the derivative zero. For q < 1e-4 w the segment is a point in its middle: right to 1e-9.

Decisions 0180.
"""

from math import inf, pi, sqrt
from typing import Any

from minusgrad.plugin import Cell, Node, Parameter, Table, erf, local_map, ti

PATH: dict[str, Any] = {
    "x": Node("m"),
    "y": Node("m"),
    "power": Node("W", bounds=(0.0, inf), reason="a laser takes no energy back"),
    "speed": Node("m s^-1", bounds=(0.0, inf), open=True, reason="the spot dwells for length / speed"),
}
PIXEL = Parameter("m", bounds=(0.0, inf), open=True)
FULL = Parameter(
    "J m^-2",
    default=1.0,
    bounds=(0.0, inf),
    open=True,
    reason="it divides the fluence",
    about="Fluence that counts as dose one.",
)
SPOT: dict[str, Any] = {
    "waist": Parameter(
        "m",
        bounds=(0.0, inf),
        open=True,
        reason="a spot has a size",
        about="Radius along x at which the spot has 1/e^2 of its peak.",
    ),
    "aspect": Parameter(
        default=1.0,
        bounds=(0.0, inf),
        open=True,
        reason="a spot has a size",
        about="Radius along y over that along x.",
    ),
}
FAR = 3.0037
"""Where a Gaussian spot ends, in units of w: at 1.5e-8 of its peak, exp(-18).

No round number: at round waists and pixels, whole rows of cells would lie on the rim, and leave it at once
when the waist shrinks by a rounding.
"""
SHORT = 1e-4
"""A segment as short as this, in units of w, is a point."""


def length(x, y):
    """Of a segment [m]."""
    dx, dy = x[1] - x[0], y[1] - y[0]
    square = dx * dx + dy * dy
    return ti.select(square > 0.0, ti.sqrt(square), 0.0)


def stencil_window(x, y, pixel, stencil):
    """The samples around the end of the segment, and one cell more for its place within the cell."""
    row = ti.floor(y[1] / pixel) - stencil.shape[0] // 2
    column = ti.floor(x[1] / pixel) - stencil.shape[1] // 2
    return [row, column], [row + stencil.shape[0], column + stencil.shape[1]]


@local_map(
    "stencil_dose",
    gives="dose",
    over=2,
    **PATH,
    at=Cell(window=stencil_window, spacing="pixel"),
    pixel=PIXEL,
    stencil=Table(axes=2),
    peak=Parameter(
        "m^-2",
        default=1.0,
        bounds=(0.0, inf),
        about="Largest value of the spot: power that falls on an area, per power of the laser.",
    ),
    full=FULL,
)
def stencil_dose(x, y, power, speed, at, pixel, stencil, peak, full):
    """A spot of samples a pixel apart, put down at the end of each segment; bilinear between samples."""
    row, column = ti.floor(y[1] / pixel), ti.floor(x[1] / pixel)
    b, a = y[1] / pixel - row, x[1] / pixel - column
    k = at[0] - ti.cast(row, ti.i32) + stencil.shape[0] // 2
    l = at[1] - ti.cast(column, ti.i32) + stencil.shape[1] // 2  # noqa: E741
    dose = power[1] * length(x, y) / speed[1] * peak / full
    below, above = dose * (1.0 - b), dose * b
    return (
        below * (1.0 - a) * stencil[k, l]
        + below * a * stencil[k, l - 1]
        + above * (1.0 - a) * stencil[k - 1, l]
        + above * a * stencil[k - 1, l - 1]
    )


def gaussian_window(x, y, pixel, waist, aspect):
    """Around the segment as far as the spot reaches."""
    far = FAR * waist
    up = far * aspect
    low = [(ti.min(y[0], y[1]) - up) / pixel, (ti.min(x[0], x[1]) - far) / pixel]
    return low, [(ti.max(y[0], y[1]) + up) / pixel, (ti.max(x[0], x[1]) + far) / pixel]


@local_map(
    "gaussian_dose",
    gives="dose",
    over=2,
    **PATH,
    at=Cell(window=gaussian_window, spacing="pixel"),
    pixel=PIXEL,
    **SPOT,
    full=FULL,
)
def gaussian_dose(x, y, power, speed, at, pixel, waist, aspect, full):
    """A Gaussian spot drawn along each segment, round or an ellipse along the axes."""
    dx, dy = x[1] - x[0], (y[1] - y[0]) / aspect
    square = dx * dx + dy * dy
    q = ti.select(square > 0.0, ti.sqrt(square), 0.0)
    safe = ti.select(square > 0.0, q, 1.0)
    tx, ty = dx / safe, dy / safe
    px, py = at[1] * pixel - x[0], (at[0] * pixel - y[0]) / aspect
    s, d = px * tx + py * ty, px * ty - py * tx
    ends = erf(sqrt(2.0) * (q - s) / waist) + erf(sqrt(2.0) * s / waist)
    line = ti.exp(-2.0 * d * d / (waist * waist)) * ends / (safe * waist * sqrt(2.0 * pi))
    mx, my = px - 0.5 * dx, py - 0.5 * dy
    point = 2.0 / (pi * waist * waist) * ti.exp(-2.0 * (mx * mx + my * my) / (waist * waist))
    of_length = ti.select(q < SHORT * waist, point, line) * length(x, y) / aspect
    return power[1] / speed[1] / full * of_length
