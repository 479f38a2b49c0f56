"""Motion along a path as a controller plans it: the mean speed and the duration of each move, with gradient.

Move i goes from point i - 1 to point i over the length l_i, in the direction u_i. All limits are minima:

    b_i = min over axes of speed_k / |u_ik|,      a_i = min over axes of acceleration_k / |u_ik|
    F_i = min(lit_i speed_i + (1 - lit_i) b_i,  b_i,  l_i / line_time,  l_i / (lit_i lit_time))   `nominal`
    c_i = min(F_i^2, F_(i+1)^2, junction, sum of 2 a_k l_k over the next N - 1 moves)
    r_i = min(c_i, r_(i+1) + 2 a_(i+1) l_(i+1)),   s_i = min(r_i, s_(i-1) + 2 a_i l_i)
    p_i = min(F_i, sqrt((s_(i-1) + s_i) / 2 + a_i l_i))                                         peak speed
    duration_i = l_i / p_i + ((p_i - sqrt s_(i-1))^2 + (p_i - sqrt s_i)^2) / (2 a_i p_i)
    feed_i = l_i / duration_i,    passing_i = sqrt s_i,    acceleration_i = a_i

s_i [m^2/s^2] is the square of the speed at point i; it is 0 at both ends of the path. A travel (lit = 0) goes
at the speed of the machine. A controller that holds N moves (`planner_blocks`), the present one included,
must be able to stop within the others. Each move is a trapezoid of speed over time, with two accelerations
and constant speed between. The derivative passes through the limit that is active, at a tie through one of
them; there is no smoothing.

A move of no length is not a move: GRBL drops it. It has `feed` and `nominal` equal to `speed`, the duration
0, and no derivative by places; the junction there is that of the moves around it, and the look-ahead does
not count it.
"""
# mypy: disable-error-code="valid-type"
# (the annotations of kernels are values)

from math import inf
from typing import Any

import numpy as np

from minusgrad.plugin import Between, Datum, Node, Output, Parameter, Stage, staged_map, ti

from .corners import grbl_corners, grbl_corners_back, marlin_corners, marlin_corners_back, next_move
from .junctions import UNLIMITED
from .moves import LENGTH, RATE, TOP, moves, moves_back

A = ti.types.ndarray


@ti.func
def way(move: ti.template(), i):
    """By how much the square of the speed can change in move i."""
    return 2.0 * move[i, RATE] * move[i, LENGTH]


@ti.func
def stopping(move: ti.template(), i, blocks, enough):
    """The square of the speed from which the controller can stop after point i, or more than `enough`."""
    total, seen, k = 0.0 * enough, 0, i + 1
    while seen < blocks and k < move.shape[0] and total < enough:
        if move[k, LENGTH] > 0.0:
            seen += 1
            if seen < blocks:
                total += way(move, k)
        k += 1
    if seen < blocks:  # it can stop, or the end of the path is in sight, which is a limit of its own
        total = UNLIMITED
    return total


@ti.kernel
def caps(move: A(ndim=2), corner: A(ndim=1), planner_blocks: A(ndim=0), cap: A(ndim=1)):
    """Square of the largest speed at each point: by programmed speeds, junction and look-ahead."""
    n = cap.shape[0]
    for i in range(n):
        found = 0.0 * corner[i]
        if i > 0 and i < n - 1:
            found += UNLIMITED
            if move[i, LENGTH] > 0.0:
                k = next_move(move, i)
                found = ti.min(corner[i], move[i, TOP] * move[i, TOP])
                if k < n:
                    found = ti.min(found, move[k, TOP] * move[k, TOP])
                found = ti.min(found, stopping(move, i, planner_blocks[None], found))
        cap[i] = found


@ti.kernel
def caps_back(
    move: A(ndim=2),
    corner: A(ndim=1),
    planner_blocks: A(ndim=0),
    d_cap: A(ndim=1),
    d_move: A(ndim=2),
    d_corner: A(ndim=1),
):
    """The transpose of `caps`: to the least of the limits."""
    n = d_cap.shape[0]
    ti.loop_config(serialize=True)
    for i in range(n):
        if d_cap[i] != 0.0 and i > 0 and i < n - 1 and move[i, LENGTH] > 0.0:
            k = next_move(move, i)
            before, then = move[i, TOP], UNLIMITED + 0.0 * corner[i]
            if k < n:
                then = move[k, TOP]
            least = ti.min(before, then)
            found = ti.min(corner[i], least * least)
            if stopping(move, i, planner_blocks[None], found) < found:
                j, seen = i + 1, 1
                while seen < planner_blocks[None]:  # there are more moves than these
                    if move[j, LENGTH] > 0.0:
                        seen += 1
                        d_move[j, RATE] = d_move[j, RATE] + 2.0 * move[j, LENGTH] * d_cap[i]
                        d_move[j, LENGTH] = d_move[j, LENGTH] + 2.0 * move[j, RATE] * d_cap[i]
                    j += 1
            elif corner[i] < least * least:
                d_corner[i] = d_corner[i] + d_cap[i]
            elif before <= then:
                d_move[i, TOP] = d_move[i, TOP] + 2.0 * before * d_cap[i]
            else:
                d_move[k, TOP] = d_move[k, TOP] + 2.0 * then * d_cap[i]


@ti.kernel
def plan(move: A(ndim=2), cap: A(ndim=1), reach: A(ndim=1), ends: A(ndim=2)):
    """r from the last point back, then s from the first one on, at both ends of each move."""
    n = cap.shape[0]
    for _ in range(1):
        square = 0.0 * cap[0]
        for j in range(n):
            i = n - 1 - j
            square = ti.min(cap[i], square)
            reach[i] = square
            square += way(move, i)
        square = 0.0 * cap[0]
        for i in range(n):
            ends[i, 0] = square
            square = ti.min(reach[i], square + way(move, i))
            ends[i, 1] = square


@ti.kernel
def plan_back(
    move: A(ndim=2),
    cap: A(ndim=1),
    reach: A(ndim=1),
    ends: A(ndim=2),
    d_ends: A(ndim=2),
    d_reach: A(ndim=1),
    d_move: A(ndim=2),
    d_cap: A(ndim=1),
):
    """The transpose of `plan`: each minimum passes the derivative to the limit that it took."""
    n = cap.shape[0]
    for _ in range(1):
        carried = 0.0 * cap[0]
        for j in range(n):
            i = n - 1 - j
            slope = carried + d_ends[i, 1]
            carried = d_ends[i, 0]
            if ends[i, 1] < reach[i]:
                carried += slope
                d_move[i, RATE] = d_move[i, RATE] + 2.0 * move[i, LENGTH] * slope
                d_move[i, LENGTH] = d_move[i, LENGTH] + 2.0 * move[i, RATE] * slope
            else:
                d_reach[i] = d_reach[i] + slope
        carried = 0.0 * cap[0]
        for i in range(n):
            slope = d_reach[i] + carried
            carried = 0.0 * slope
            if reach[i] < cap[i] and i < n - 1:
                carried = slope
                d_move[i + 1, RATE] = d_move[i + 1, RATE] + 2.0 * move[i + 1, LENGTH] * slope
                d_move[i + 1, LENGTH] = d_move[i + 1, LENGTH] + 2.0 * move[i + 1, RATE] * slope
            else:
                d_cap[i] = d_cap[i] + slope


@ti.kernel
def trapezoids(
    move: A(ndim=2),
    ends: A(ndim=2),
    feed: A(ndim=1),
    duration: A(ndim=1),
    nominal: A(ndim=1),
    passing: A(ndim=1),
    acceleration: A(ndim=1),
):
    """Duration and mean speed of each move from the speeds at its ends."""
    for i in range(feed.shape[0]):
        length, top, rate = move[i, LENGTH], move[i, TOP], move[i, RATE]
        nominal[i] = top
        feed[i] = top
        passing[i] = ti.sqrt(ends[i, 1])
        acceleration[i] = rate
        duration[i] = 0.0
        if length > 0.0:
            peak = ti.min(top, ti.sqrt(0.5 * (ends[i, 0] + ends[i, 1]) + rate * length))
            up, down = peak - ti.sqrt(ends[i, 0]), peak - ti.sqrt(ends[i, 1])
            time = length / peak + 0.5 * (up * up + down * down) / (rate * peak)
            feed[i] = length / time
            duration[i] = time


@ti.kernel
def trapezoids_back(
    move: A(ndim=2),
    ends: A(ndim=2),
    d_feed: A(ndim=1),
    d_duration: A(ndim=1),
    d_nominal: A(ndim=1),
    d_passing: A(ndim=1),
    d_acceleration: A(ndim=1),
    d_move: A(ndim=2),
    d_ends: A(ndim=2),
):
    """The transpose of `trapezoids`. A duration does not depend on a peak that `top` does not limit."""
    for i in range(d_feed.shape[0]):
        length, top, rate = move[i, LENGTH], move[i, TOP], move[i, RATE]
        d_top, d_length = d_nominal[i], 0.0 * length
        if length > 0.0:
            free = ti.sqrt(0.5 * (ends[i, 0] + ends[i, 1]) + rate * length)
            peak, a, b = ti.min(top, free), ti.sqrt(ends[i, 0]), ti.sqrt(ends[i, 1])
            up, down = peak - a, peak - b
            of_rest = 0.5 * (up * up + down * down) / (rate * peak)
            time = length / peak + of_rest
            slope = d_duration[i] - d_feed[i] * length / (time * time)
            d_length = d_feed[i] / time + slope / peak
            d_move[i, RATE] = d_move[i, RATE] - slope * of_rest / rate
            if top < free:
                d_top += slope * ((up + down) / rate - time) / peak
            if a > 0.0:
                d_ends[i, 0] = d_ends[i, 0] - 0.5 * slope * up / (rate * peak * a)
            if b > 0.0:
                d_ends[i, 1] = d_ends[i, 1] - 0.5 * slope * down / (rate * peak * b)
        else:
            d_top += d_feed[i]
        if ends[i, 1] > 0.0:
            d_ends[i, 1] = d_ends[i, 1] + 0.5 * d_passing[i] / ti.sqrt(ends[i, 1])
        d_move[i, RATE] = d_move[i, RATE] + d_acceleration[i]
        d_move[i, LENGTH] = d_move[i, LENGTH] + d_length
        d_move[i, TOP] = d_move[i, TOP] + d_top


def _limit_parameter(unit: str, shape: tuple[int, ...], about: str, **more: Any) -> Parameter:
    return Parameter(unit, shape, bounds=(0.0, inf), about=about, **more)


PATH: dict[str, Any] = {
    "x": Node("m"),
    "y": Node("m"),
    "speed": Node("m s^-1", bounds=(0.0, inf), open=True, reason="the spot has to arrive"),
    "lit": Node(bounds=(0.0, 1.0)),
}
LIMITS: dict[str, Any] = {
    "axis_speed": _limit_parameter("m s^-1", (2,), "Largest speed of each axis.", open=True),
    "axis_acceleration": _limit_parameter("m s^-2", (2,), "Largest acceleration of each axis.", open=True),
    "line_time": _limit_parameter("s", (), "Least time of a move: 1 / lines a second.", default=0.0),
    "lit_time": _limit_parameter(
        "s", (), "Least time of a lit move: the laser's minimum dwell.", default=0.0
    ),
    "planner_blocks": Datum(
        integer=True, about="Number of moves that the planner holds, the present one included."
    ),
}


def _example_motion(rng: np.random.Generator, **rule: Any) -> dict:
    n = 9
    path = {"x": rng.normal(size=n), "y": rng.normal(size=n), "speed": rng.uniform(0.5, 1.5, n)}
    limits = {"axis_speed": rng.uniform(1.0, 1.5, 2), "axis_acceleration": rng.uniform(0.2, 0.6, 2)}
    times = {"line_time": 0.5, "lit_time": 0.8, "planner_blocks": 3}
    return path | {"lit": rng.uniform(0.2, 1.0, n)} | limits | times | rule


def _grbl_example(rng: np.random.Generator) -> dict:
    return _example_motion(rng, junction_deviation=0.3)


def _marlin_example(rng: np.random.Generator) -> dict:
    return _example_motion(rng, axis_jerk=rng.uniform(0.3, 0.6, 2))


GIVEN = ("feed", "duration", "nominal", "passing", "acceleration")
"""The fields of a planned motion."""


def _motion_map(name: str, claim: str, corners: Stage, example: Any, **rule: Any) -> Any:
    """A map of planned motion with one rule for junctions."""
    roles: dict[str, Any] = {**PATH, **LIMITS, **rule}
    return staged_map(
        name,
        gives={
            **{"feed": Output("m s^-1"), "duration": Output("s"), "nominal": Output("m s^-1")},
            **{"passing": Output("m s^-1"), "acceleration": Output("m s^-2")},
        },
        claim=claim,
        between={
            "move": Between(("n", 5)),
            "corner": Between(("n",)),
            "cap": Between(("n",)),
            "reach": Between(("n",)),
            "ends": Between(("n", 2)),
        },
        stages=[
            Stage(moves, writes=("move",), backward=moves_back),
            corners,
            Stage(caps, writes=("cap",), backward=caps_back),
            Stage(plan, writes=("reach", "ends"), backward=plan_back),
            Stage(trapezoids, writes=GIVEN, backward=trapezoids_back),
        ],
        example=example,
        **roles,
    )


planned_motion = _motion_map(
    "planned_motion",
    "Mean speed and duration of each move, as GRBL plans them: junction deviation.",
    Stage(grbl_corners, writes=("corner",), backward=grbl_corners_back),
    _grbl_example,
    junction_deviation=_limit_parameter("m", (), "GRBL's junction deviation."),
)

planned_motion_by_jerk = _motion_map(
    "planned_motion_by_jerk",
    "Mean speed and duration of each move, as Marlin plans them: classic jerk.",
    Stage(marlin_corners, writes=("corner",), backward=marlin_corners_back),
    _marlin_example,
    axis_jerk=_limit_parameter("m s^-1", (2,), "Largest change of each axis' speed at once.", open=True),
)
