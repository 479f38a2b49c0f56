"""Moves of a path as kernels: direction, length, speed and acceleration within the limits of the axes.

    b = min over axes of speed_k / |u_k|,            a = min over axes of acceleration_k / |u_k|
    F = min(lit speed + (1 - lit) b,  b,  l / line_time,  l / (lit lit_time))

u, l: direction and length [m] of the move that ends at a point; F [m/s], a [m/s^2]. A move of no length has
u = 0, l = 0, F = speed and the acceleration of the first axis, and passes no derivative but theirs.
"""
# mypy: disable-error-code="valid-type"
# (the annotations of kernels are values)

from minusgrad.plugin import ti

A = ti.types.ndarray
SHORTEST = 1e-30
"""Square of a length that is none."""
UX, UY, LENGTH, TOP, RATE = range(5)
"""Columns of `move`: u, l, F and a."""


@ti.kernel
def moves(
    x: A(ndim=1),
    y: A(ndim=1),
    speed: A(ndim=1),
    lit: A(ndim=1),
    axis_speed: A(ndim=1),
    axis_acceleration: A(ndim=1),
    line_time: A(ndim=0),
    lit_time: A(ndim=0),
    move: A(ndim=2),
):
    """Direction, length, programmed speed within limits, and acceleration of each move."""
    for i in range(x.shape[0]):
        before = ti.max(i - 1, 0)
        dx, dy = x[i] - x[before], y[i] - y[before]
        square = dx * dx + dy * dy
        if square > SHORTEST:
            length = ti.sqrt(square)
            ux, uy = dx / length, dy / length
            bound = 1.0 / ti.max(ti.abs(ux) / axis_speed[0], ti.abs(uy) / axis_speed[1])
            top = ti.min(lit[i] * speed[i] + (1.0 - lit[i]) * bound, bound)
            slowest = ti.max(line_time[None], lit[i] * lit_time[None])
            if top * slowest > length:
                top = length / slowest
            move[i, UX], move[i, UY], move[i, LENGTH], move[i, TOP] = ux, uy, length, top
            move[i, RATE] = 1.0 / ti.max(ti.abs(ux) / axis_acceleration[0], ti.abs(uy) / axis_acceleration[1])
        else:
            move[i, UX], move[i, UY], move[i, LENGTH], move[i, TOP] = 0.0, 0.0, 0.0, speed[i]
            move[i, RATE] = axis_acceleration[0]


@ti.kernel
def moves_back(
    x: A(ndim=1),
    speed: A(ndim=1),
    lit: A(ndim=1),
    axis_speed: A(ndim=1),
    axis_acceleration: A(ndim=1),
    line_time: A(ndim=0),
    lit_time: A(ndim=0),
    move: A(ndim=2),
    d_move: A(ndim=2),
    d_x: A(ndim=1),
    d_y: A(ndim=1),
    d_speed: A(ndim=1),
    d_lit: A(ndim=1),
    d_axis_speed: A(ndim=1),
    d_axis_acceleration: A(ndim=1),
    d_line_time: A(ndim=0),
    d_lit_time: A(ndim=0),
):
    """The transpose of `moves`, one move after another."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        length, d_top, d_rate = move[i, LENGTH], d_move[i, TOP], d_move[i, RATE]
        if length > 0.0:
            ux, uy, d_length = move[i, UX], move[i, UY], d_move[i, LENGTH]
            d_ux, d_uy, d_bound = d_move[i, UX], d_move[i, UY], 0.0 * length
            along_x = ti.abs(ux) / axis_speed[0] >= ti.abs(uy) / axis_speed[1]
            bound = 1.0 / ti.max(ti.abs(ux) / axis_speed[0], ti.abs(uy) / axis_speed[1])
            wanted = lit[i] * speed[i] + (1.0 - lit[i]) * bound
            slowest = ti.max(line_time[None], lit[i] * lit_time[None])
            if ti.min(wanted, bound) * slowest > length:
                d_length += d_top / slowest
                d_slowest = -d_top * length / (slowest * slowest)
                if line_time[None] >= lit[i] * lit_time[None]:
                    d_line_time[None] = d_line_time[None] + d_slowest
                else:
                    d_lit_time[None] = d_lit_time[None] + lit[i] * d_slowest
                    d_lit[i] = d_lit[i] + lit_time[None] * d_slowest
            elif wanted < bound:
                d_speed[i] = d_speed[i] + lit[i] * d_top
                d_lit[i] = d_lit[i] + (speed[i] - bound) * d_top
                d_bound = (1.0 - lit[i]) * d_top
            else:
                d_bound = d_top
            rate = move[i, RATE]
            if along_x:
                d_ux -= d_bound * bound / ux
                d_axis_speed[0] = d_axis_speed[0] + d_bound * bound / axis_speed[0]
            else:
                d_uy -= d_bound * bound / uy
                d_axis_speed[1] = d_axis_speed[1] + d_bound * bound / axis_speed[1]
            if ti.abs(ux) / axis_acceleration[0] >= ti.abs(uy) / axis_acceleration[1]:
                d_ux -= d_rate * rate / ux
                d_axis_acceleration[0] = d_axis_acceleration[0] + d_rate * rate / axis_acceleration[0]
            else:
                d_uy -= d_rate * rate / uy
                d_axis_acceleration[1] = d_axis_acceleration[1] + d_rate * rate / axis_acceleration[1]
            across = (d_uy * ux - d_ux * uy) / length
            d_dx, d_dy = d_length * ux - across * uy, d_length * uy + across * ux
            d_x[i] = d_x[i] + d_dx
            d_y[i] = d_y[i] + d_dy
            d_x[i - 1] = d_x[i - 1] - d_dx
            d_y[i - 1] = d_y[i - 1] - d_dy
        else:
            d_speed[i] = d_speed[i] + d_top
            d_axis_acceleration[0] = d_axis_acceleration[0] + d_rate
