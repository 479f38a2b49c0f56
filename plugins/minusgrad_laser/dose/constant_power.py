"""Dose of a Gaussian spot of constant power along moves that speed up and slow down.

    D_p = 1 / full  sum over moves  P integral over the time of the move of k(p - x(t)) dt
    k(x, y) = 2 / (pi a w^2) exp(-2 (x^2 + (y / a)^2) / w^2)

w [m] is the waist along x, a the aspect: the waist along y is a w. A move has the power P [W], goes over the
length l [m], enters at the speed v_0 and leaves at v_1 [m/s] with the acceleration b [m/s^2], and between has
at most the speed F, as `planned_motion` gives them (`passing`, `acceleration`, `nominal`):

    v = min(F, sqrt((v_0^2 + v_1^2) / 2 + b l))             peak speed
    r_0 = (v^2 - v_0^2) / (2 b),    r_1 = (v^2 - v_1^2) / (2 b),    l - r_0 - r_1       ramps and steady part

A ramp is cut into pieces of equal times, in number sqrt(2 r / w) rounded up and at most `PIECES`, so that one
which begins at rest is about w / 2 long. In a piece of length g from the speed u_0 to u_1 the time on a
length, 1 / v, is replaced by the linear function of the way with the same integral and the same mean place,

    (2 / (u_0 + u_1)) (1 + beta (2 s / g - 1)),      beta = (u_0 - u_1) / (u_0 + u_1)

In units of the waists the piece has the length q, p lies u along it and d beside it, and the integral is

    (2 / (u_0 + u_1)) (g / q) (2 / (pi a w^2)) exp(-2 d^2) {(1 + beta (2 u / q - 1)) sqrt(pi / 8)
        [erf(sqrt 2 (q - u)) + erf(sqrt 2 u)] + (beta / (2 q)) [exp(-2 u^2) - exp(-2 (q - u)^2)]}

It is right to 1 % at a place where the head stands, and to 0.2 % elsewhere. With the mean speed of a move
(`gaussian_dose` with `speed = "feed"`) a start from rest is off by half.

The list `ramps` (`[state] ramps = 8`) has each move 2 PIECES + 1 times, with `part`: 1, 2, ... of the ramp at
its start, 0 of its steady part, -1, -2, ... of the ramp at its end, counted from the end.

Decisions 0183.
"""

from math import inf, pi, sqrt

import numpy as np

from minusgrad.plugin import Cell, Datum, Node, erf, local_map, ti

from .spots import FAR, FULL, PATH, PIXEL, SHORT, SPOT

PIECES = 8
"""Of a ramp, at most."""
REST = 1e-12
"""Square of a speed at which the head stands, in parts of the square of the programmed one."""


def ramp_pieces(count: int, pieces: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (count - 1) (2 pieces + 1) of two points one after another, and the part of each row."""
    parts = np.arange(-pieces, pieces + 1)
    ends = np.repeat(np.arange(1, count), len(parts))
    return np.stack([ends - 1, ends], axis=1).astype(np.int32), np.tile(parts, count - 1).astype(float)


@ti.func
def piece_of_move(x, y, speed, passing, acceleration, part, waist):
    """x, y and speed at both ends of a piece, and its length."""
    dx, dy = x[1] - x[0], y[1] - y[0]
    square = dx * dx + dy * dy
    l = ti.sqrt(ti.select(square > 0.0, square, 1.0))  # noqa: E741
    b, enter, leave = acceleration[1], passing[0], passing[1]
    free = ti.sqrt(ti.max(0.5 * (enter * enter + leave * leave) + b * l, REST * speed[1] * speed[1]))
    peak = ti.max(ti.min(speed[1], free), ti.max(enter, leave))
    rise, fall = 0.5 * (peak * peak - enter * enter) / b, 0.5 * (peak * peak - leave * leave) / b
    at_start, steady = part > 0.0, part == 0.0
    slow, ramp = ti.select(at_start, enter, leave), ti.select(at_start, rise, fall)
    pieces = ti.min(ti.max(ti.ceil(ti.sqrt(2.0 * ti.max(ramp, 0.1 * waist) / waist)), 1.0), 1.0 * PIECES)
    number = ti.abs(part)
    low = slow + (peak - slow) * (ti.min(number - 1.0, pieces) / pieces)
    high = slow + (peak - slow) * (ti.min(number, pieces) / pieces)
    near, far = 0.5 * (low - slow) * (low + slow) / b, 0.5 * (high - slow) * (high + slow) / b
    begin = ti.select(steady, rise, ti.select(at_start, near, l - far))
    end = ti.select(steady, l - fall, ti.select(at_start, far, l - near))
    before = ti.select(steady, peak, ti.select(at_start, low, high))
    after = ti.select(steady, peak, ti.select(at_start, high, low))
    size = ti.select(square > 0.0, ti.max(end - begin, 0.0), 0.0)
    ux, uy = dx / l, dy / l
    x0, y0 = x[0] + begin * ux, y[0] + begin * uy
    return x0, y0, x0 + size * ux, y0 + size * uy, size, before, after


def piece_window(x, y, speed, passing, acceleration, part, pixel, waist, aspect):
    """Around the piece as far as the spot reaches; no cell for a piece of no length."""
    x0, y0, x1, y1, size, _, _ = piece_of_move(x, y, speed, passing, acceleration, part, waist)
    wide = ti.select(size > 0.0, FAR * waist, -2.0 * pixel)
    high = ti.select(size > 0.0, FAR * waist * aspect, -2.0 * pixel)
    low = [(ti.min(y0, y1) - high) / pixel, (ti.min(x0, x1) - wide) / pixel]
    return low, [(ti.max(y0, y1) + high) / pixel, (ti.max(x0, x1) + wide) / pixel]


@local_map(
    "constant_power_dose",
    gives="dose",
    over=2,
    **PATH,
    passing=Node("m s^-1", bounds=(0.0, inf)),
    acceleration=Node("m s^-2", bounds=(0.0, inf), open=True, reason="the head speeds up"),
    part=Datum(about="Part of the move: 0 steady, 1, 2, ... from its start, -1, -2, ... from its end."),
    at=Cell(window=piece_window, spacing="pixel"),
    pixel=PIXEL,
    **SPOT,
    full=FULL,
)
def constant_power_dose(x, y, power, speed, passing, acceleration, part, at, pixel, waist, aspect, full):
    """A Gaussian spot of constant power drawn along each move at the speed that is attained."""
    x0, y0, x1, y1, size, v0, v1 = piece_of_move(x, y, speed, passing, acceleration, part, waist)
    tx, ty = (x1 - x0) / waist, (y1 - y0) / (aspect * waist)
    px, py = (at[1] * pixel - x0) / waist, (at[0] * pixel - y0) / (aspect * waist)
    square = tx * tx + ty * ty
    q = ti.sqrt(ti.select(square > 0.0, square, 1.0))
    u, d = (px * tx + py * ty) / q, (px * ty - py * tx) / q
    beta, left = (v0 - v1) / (v0 + v1), q - u
    ends = erf(sqrt(2.0) * left) + erf(sqrt(2.0) * u)
    slope = ti.exp(-2.0 * u * u) - ti.exp(-2.0 * left * left)
    line = ((1.0 + beta * (u - left) / q) * sqrt(pi / 8.0) * ends + 0.5 * beta / q * slope) / q
    middle = u - 0.5 * q
    of_piece = ti.select(q < SHORT, ti.exp(-2.0 * middle * middle), line)
    spot = 2.0 / (pi * aspect * waist * waist) * ti.exp(-2.0 * d * d)
    return power[1] / full * size * 2.0 / (v0 + v1) * spot * of_piece
