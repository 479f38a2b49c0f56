"""Slew of the power: from move to move it changes no faster than the laser can, by construction.

    |P_i - P_(i-1)| <= slew (t_i + t_(i-1)) / 2 / (lit_i lit_(i-1))                   from middle to middle

t_i [s]: the duration of move i. `drive` is the largest power that obeys this and is nowhere above `power`:
the minimum over all moves of their power plus what it can change until then, in two passes as for speeds,

    r_i = min(P_i, r_(i+1) + c_(i+1)),    drive_i = min(r_i, drive_(i-1) + c_i),    c_i the right side above

It is within the range of the laser if `power` is. Between a lit move and a travel the power is switched and
has no such limit: strokes are apart. The derivative passes through the limit that is active.
"""
# mypy: disable-error-code="valid-type"
# (the annotations of kernels are values)

from math import inf

import numpy as np

from minusgrad.plugin import Between, Node, Parameter, Stage, staged_map, ti

from .junctions import UNLIMITED

A = ti.types.ndarray
APART = 1e-9
"""Product of two values of `lit` below which moves are of different strokes."""


@ti.kernel
def changes(duration: A(ndim=1), lit: A(ndim=1), slew: A(ndim=0), change: A(ndim=1)):
    """The largest change of the power from the move before to each move."""
    for i in range(duration.shape[0]):
        change[i] = UNLIMITED
        before = ti.max(i - 1, 0)
        both = lit[i] * lit[before]
        if i > 0 and both > APART:
            change[i] = 0.5 * slew[None] * (duration[i] + duration[before]) / both


@ti.kernel
def changes_back(
    duration: A(ndim=1),
    lit: A(ndim=1),
    slew: A(ndim=0),
    change: A(ndim=1),
    d_change: A(ndim=1),
    d_duration: A(ndim=1),
    d_lit: A(ndim=1),
    d_slew: A(ndim=0),
):
    """The transpose of `changes`."""
    ti.loop_config(serialize=True)
    for i in range(duration.shape[0]):
        if i > 0 and d_change[i] != 0.0:
            slope = 0.5 * d_change[i] * slew[None] / (lit[i] * lit[i - 1])
            d_duration[i] = d_duration[i] + slope
            d_duration[i - 1] = d_duration[i - 1] + slope
            d_lit[i] = d_lit[i] - d_change[i] * change[i] / lit[i]
            d_lit[i - 1] = d_lit[i - 1] - d_change[i] * change[i] / lit[i - 1]
            d_slew[None] = d_slew[None] + slope * (duration[i] + duration[i - 1]) / slew[None]


@ti.kernel
def limited_drive(power: A(ndim=1), change: A(ndim=1), reach: A(ndim=1), drive: A(ndim=1)):
    """r from the last move back, then the drive from the first one on."""
    n = power.shape[0]
    for _ in range(1):
        most = UNLIMITED + 0.0 * power[0]
        for j in range(n):
            i = n - 1 - j
            found = ti.min(power[i], most)
            reach[i] = found
            most = found + change[i]
        most = UNLIMITED + 0.0 * power[0]
        for i in range(n):
            found = ti.min(reach[i], most + change[i])
            drive[i] = found
            most = found


@ti.kernel
def limited_back(
    power: A(ndim=1),
    reach: A(ndim=1),
    drive: A(ndim=1),
    d_drive: A(ndim=1),
    d_reach: A(ndim=1),
    d_power: A(ndim=1),
    d_change: A(ndim=1),
):
    """The transpose of `limited_drive`: each minimum passes the derivative to the limit that it took."""
    n = power.shape[0]
    for _ in range(1):
        carried = 0.0 * power[0]
        for j in range(n):
            i = n - 1 - j
            slope = carried + d_drive[i]
            carried = 0.0 * slope
            if drive[i] < reach[i]:
                carried = slope
                d_change[i] = d_change[i] + slope
            else:
                d_reach[i] = d_reach[i] + slope
        carried = 0.0 * power[0]
        for i in range(n):
            slope = d_reach[i] + carried
            carried = 0.0 * slope
            if reach[i] < power[i]:
                carried = slope
                d_change[i + 1] = d_change[i + 1] + slope
            else:
                d_power[i] = d_power[i] + slope


def _example_slew(rng: np.random.Generator) -> dict:
    n = 9
    path = {"power": rng.uniform(0.5, 2.0, n), "duration": rng.uniform(0.2, 1.0, n)}
    return path | {"lit": rng.uniform(0.5, 1.0, n), "slew": 0.6}


power_slew = staged_map(
    "power_slew",
    gives="drive",
    unit="W",
    claim="The largest power below a given one that changes no faster than the laser can.",
    between={"change": Between(("n",)), "reach": Between(("n",))},
    stages=[
        Stage(changes, writes=("change",), backward=changes_back),
        Stage(limited_drive, writes=("reach", "drive"), backward=limited_back),
    ],
    example=_example_slew,
    power=Node("W", bounds=(0.0, inf)),
    duration=Node("s", bounds=(0.0, inf)),
    lit=Node(bounds=(0.0, 1.0)),
    slew=Parameter("W s^-1", bounds=(0.0, inf), open=True, about="Largest rate of the power."),
)
