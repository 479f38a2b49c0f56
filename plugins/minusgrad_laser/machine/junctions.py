"""Speed at a junction of two moves: GRBL's junction deviation, and Marlin's classic jerk.

u, w (2,): unit directions of the moves before and after the junction; theta: the angle between -u and w.

    GRBL     v^2 = a delta sin(theta/2) / (1 - sin(theta/2)),     cos theta = -u . w
    Marlin   v = min over axes of jerk_k / c_k,     c_k = |w_k - u_k|, or max(|u_k|, |w_k|) if axis k reverses

delta [m]: the junction deviation; a [m/s^2]: the acceleration along w - u that no axis exceeds; jerk_k [m/s]:
the largest change of the speed of axis k at once. As in GRBL 1.1, v has no limit for cos theta < -0.999999
(straight on) and is 0 for cos theta > 0.999999 (reversal). With p = u + w and q = w - u, of which
|p| = 2 sin(theta/2) and |q| = 2 cos(theta/2), GRBL's rule has no differences of nearly equal numbers:

    v^2 = a delta |p| (2 + |p|) / |q|^2,        a = |q| min over axes of a_k / |q_k|

Source: the documentation of GRBL 1.1 ($11, $12x) and of Marlin 2 (M205 X Y), and their planners.
"""

from minusgrad.plugin import ti

UNLIMITED = 1e30
"""Square of a speed that limits nothing; finite, since kernels are compiled with fast mathematics."""
STRAIGHT = 2e-6
"""|q|^2 (or |p|^2) below which a junction is straight (or a reversal): 2 (1 - 0.999999)."""


@ti.func
def grbl_square(u0, u1, w0, w1, a0, a1, deviation):
    """v^2 at a junction by GRBL's rule."""
    p0, p1, q0, q1 = u0 + w0, u1 + w1, w0 - u0, w1 - u1
    pp, qq = p0 * p0 + p1 * p1, q0 * q0 + q1 * q1
    square = 0.0 * pp
    if qq < STRAIGHT:
        square = UNLIMITED + 0.0 * pp
    elif pp >= STRAIGHT:
        p = ti.sqrt(pp)
        a = ti.sqrt(qq) / ti.max(ti.abs(q0) / a0, ti.abs(q1) / a1)
        square = ti.min(a * deviation * p * (2.0 + p) / qq, UNLIMITED)
    return square


@ti.func
def grbl_slopes(u0, u1, w0, w1, a0, a1, deviation):
    """The derivatives of `grbl_square` by its seven arguments, in their order."""
    p0, p1, q0, q1 = u0 + w0, u1 + w1, w0 - u0, w1 - u1
    pp, qq = p0 * p0 + p1 * p1, q0 * q0 + q1 * q1
    by_p0 = by_p1 = by_q0 = by_q1 = by_a0 = by_a1 = by_deviation = 0.0 * pp
    if qq >= STRAIGHT and pp >= STRAIGHT:
        p = ti.sqrt(pp)
        first = ti.abs(q0) / a0 >= ti.abs(q1) / a1
        a = ti.sqrt(qq) * ti.select(first, a0 / ti.max(ti.abs(q0), 1e-30), a1 / ti.max(ti.abs(q1), 1e-30))
        factor = p * (2.0 + p) / qq
        square = a * deviation * factor
        of_p = a * deviation * (2.0 + 2.0 * p) / (qq * p)
        of_q = -square / qq  # -2 / qq of the divisor, and 1 / qq of |q| in a
        by_p0, by_p1, by_q0, by_q1 = of_p * p0, of_p * p1, of_q * q0, of_q * q1
        if first:
            by_q0 -= square / q0
            by_a0 = square / a0
        else:
            by_q1 -= square / q1
            by_a1 = square / a1
        by_deviation = a * factor
    return ti.Vector([by_p0 - by_q0, by_p1 - by_q1, by_p0 + by_q0, by_p1 + by_q1, by_a0, by_a1, by_deviation])


@ti.func
def change(u, w):
    """The change of an axis' speed that Marlin counts, per speed along the path."""
    return ti.select(u * w < 0.0, ti.max(ti.abs(u), ti.abs(w)), ti.abs(w - u))


@ti.func
def change_slopes(u, w):
    """The derivatives of `change` by its arguments."""
    by_u, by_w = 0.0 * u, 0.0 * w
    if u * w < 0.0:
        if ti.abs(u) > ti.abs(w):
            by_u = ti.select(u > 0.0, 1.0, -1.0)
        else:
            by_w = ti.select(w > 0.0, 1.0, -1.0)
    elif w != u:
        by_w = ti.select(w > u, 1.0, -1.0)
        by_u = -by_w
    return by_u, by_w


@ti.func
def marlin_square(u0, u1, w0, w1, jerk0, jerk1):
    """v^2 at a junction by Marlin's rule."""
    worst = ti.max(change(u0, w0) / jerk0, change(u1, w1) / jerk1)
    return ti.min(1.0 / ti.max(worst * worst, 1.0 / UNLIMITED), UNLIMITED)


@ti.func
def marlin_slopes(u0, u1, w0, w1, jerk0, jerk1):
    """The derivatives of `marlin_square` by its six arguments, in their order."""
    c0, c1 = change(u0, w0), change(u1, w1)
    by_u0 = by_u1 = by_w0 = by_w1 = by_jerk0 = by_jerk1 = 0.0 * u0
    if c0 / jerk0 >= c1 / jerk1:
        if c0 > 0.0:
            slope_u, slope_w = change_slopes(u0, w0)
            of_c = -2.0 * jerk0 * jerk0 / (c0 * c0 * c0)
            by_u0, by_w0, by_jerk0 = of_c * slope_u, of_c * slope_w, 2.0 * jerk0 / (c0 * c0)
    else:
        slope_u, slope_w = change_slopes(u1, w1)
        of_c = -2.0 * jerk1 * jerk1 / (c1 * c1 * c1)
        by_u1, by_w1, by_jerk1 = of_c * slope_u, of_c * slope_w, 2.0 * jerk1 / (c1 * c1)
    return ti.Vector([by_u0, by_u1, by_w0, by_w1, by_jerk0, by_jerk1])
