"""Speeds at the junctions of a path as kernels, by the rule of GRBL and by that of Marlin (`junctions`).

`corner` (n,): the square of the speed at each point; of several points at one place it limits the first.
"""
# mypy: disable-error-code="valid-type"
# (the annotations of kernels are values)

from minusgrad.plugin import ti

from .junctions import UNLIMITED, grbl_slopes, grbl_square, marlin_slopes, marlin_square
from .moves import LENGTH, UX, UY

A = ti.types.ndarray


@ti.func
def next_move(move: ti.template(), i):
    """The next move that has a length; the number of points, if there is none."""
    k = i + 1
    while k < move.shape[0] and move[ti.min(k, move.shape[0] - 1), LENGTH] == 0.0:
        k += 1
    return k


@ti.kernel
def grbl_corners(
    move: A(ndim=2), axis_acceleration: A(ndim=1), junction_deviation: A(ndim=0), corner: A(ndim=1)
):
    """Square of the speed at each junction by GRBL's rule; of several points at one place, at the first."""
    for i in range(corner.shape[0]):
        corner[i] = UNLIMITED
        if move[i, LENGTH] > 0.0:
            k = next_move(move, i)
            if k < corner.shape[0]:
                corner[i] = grbl_square(
                    move[i, UX], move[i, UY], move[k, UX], move[k, UY],
                    axis_acceleration[0], axis_acceleration[1], junction_deviation[None],
                )  # fmt: skip


@ti.kernel
def grbl_corners_back(
    move: A(ndim=2),
    axis_acceleration: A(ndim=1),
    junction_deviation: A(ndim=0),
    d_corner: A(ndim=1),
    d_move: A(ndim=2),
    d_axis_acceleration: A(ndim=1),
    d_junction_deviation: A(ndim=0),
):
    """The transpose of `grbl_corners`."""
    ti.loop_config(serialize=True)
    for i in range(d_corner.shape[0]):
        if d_corner[i] != 0.0:
            k = next_move(move, i)
            by = d_corner[i] * grbl_slopes(
                move[i, UX], move[i, UY], move[k, UX], move[k, UY],
                axis_acceleration[0], axis_acceleration[1], junction_deviation[None],
            )  # fmt: skip
            d_move[i, UX] = d_move[i, UX] + by[0]
            d_move[i, UY] = d_move[i, UY] + by[1]
            d_move[k, UX] = d_move[k, UX] + by[2]
            d_move[k, UY] = d_move[k, UY] + by[3]
            d_axis_acceleration[0] = d_axis_acceleration[0] + by[4]
            d_axis_acceleration[1] = d_axis_acceleration[1] + by[5]
            d_junction_deviation[None] = d_junction_deviation[None] + by[6]


@ti.kernel
def marlin_corners(move: A(ndim=2), axis_jerk: A(ndim=1), corner: A(ndim=1)):
    """Square of the speed at each junction by Marlin's rule; of several points at one place, at the first."""
    for i in range(corner.shape[0]):
        corner[i] = UNLIMITED
        if move[i, LENGTH] > 0.0:
            k = next_move(move, i)
            if k < corner.shape[0]:
                corner[i] = marlin_square(
                    move[i, UX], move[i, UY], move[k, UX], move[k, UY], axis_jerk[0], axis_jerk[1]
                )


@ti.kernel
def marlin_corners_back(
    move: A(ndim=2),
    axis_jerk: A(ndim=1),
    d_corner: A(ndim=1),
    d_move: A(ndim=2),
    d_axis_jerk: A(ndim=1),
):
    """The transpose of `marlin_corners`."""
    ti.loop_config(serialize=True)
    for i in range(d_corner.shape[0]):
        if d_corner[i] != 0.0:
            k = next_move(move, i)
            by = d_corner[i] * marlin_slopes(
                move[i, UX], move[i, UY], move[k, UX], move[k, UY], axis_jerk[0], axis_jerk[1]
            )
            d_move[i, UX] = d_move[i, UX] + by[0]
            d_move[i, UY] = d_move[i, UY] + by[1]
            d_move[k, UX] = d_move[k, UX] + by[2]
            d_move[k, UY] = d_move[k, UY] + by[3]
            d_axis_jerk[0] = d_axis_jerk[0] + by[4]
            d_axis_jerk[1] = d_axis_jerk[1] + by[5]
