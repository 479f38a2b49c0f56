"""Limits of a machine that a toolpath breaks: which one, where, and by how much.

    field         0 <= x <= width, 0 <= y <= height                                        of each point
    speed         speed_i <= min over axes of speed_k / |u_ik|                              of each lit move
    power         least <= power_i <= most                                                  of each lit move
    dwell         minimum_dwell <= t_i                                                      of each lit move
    line rate     1 / lines_per_second <= t_i
    slew          |power_i - power_(i-1)| <= slew (t_i + t_(i-1)) / 2                       of lit neighbours
    acceleration  |v_i - v_(i-1)| <= (a_i t_i + a_(i-1) t_(i-1)) / 2,    v_i = l_i / t_i
    blanking      no travels, where the laser cannot be off

u_i, l_i, t_i: direction, length [m] and duration [s] of move i; a_i = min over axes of acceleration_k /
|u_ik|. The head is at rest at both ends. The line of acceleration holds for every motion whose speed along
the path is continuous: the mean speeds of two moves differ at most by what the acceleration changes from the
middle of one to that of the next. It is checked where planned durations are given; else t_i is the length
over the programmed speed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..jobs.toolpath import Toolpath
from ..virtual_machine.planner import limit
from .profile import Profile

SLACK = 1e-6
"""Part of a limit that rounding may take."""


@dataclass(frozen=True)
class Violation:
    """A limit that is broken at a point, or in the move that ends there: `got` where `limit` is allowed.

    kind: as in the head of this module. x, y: the point [m]. got and limit are in `unit`.
    """

    kind: str
    point: int
    x: float
    y: float
    got: float
    limit: float
    unit: str

    def __str__(self) -> str:
        place = f"point {self.point} (x = {1e3 * self.x:.6g} mm, y = {1e3 * self.y:.6g} mm)"
        return f"{self.kind}: got {self.got:.6g} {self.unit} at {place}; the limit is {self.limit:.6g}"


def violations(
    path: Toolpath, profile: Profile, duration: np.ndarray | None = None, slack: float = SLACK
) -> list[Violation]:
    """All limits that the toolpath breaks, by kind and along the path; an empty list if it breaks none.

    duration (n,) [s]: of each move, as `planned_motion` gives it; without it that at the programmed speed.
    slack: relative; 1e-4 for numbers of single precision.
    """
    found: list[Violation] = []
    for kind, points, got, bound, unit, below in _checked_limits(path, profile, duration):
        room = slack * np.maximum(np.abs(bound), 1e-12)
        bad = ~(got >= bound - room) if below else ~(got <= bound + room)  # NaN is bad
        for k in np.flatnonzero(bad):
            at = int(points[k])
            place = float(path.x[at]), float(path.y[at])
            found.append(Violation(kind, at, *place, float(got[k]), float(bound[k]), unit))
    return found


def _checked_limits(path: Toolpath, profile: Profile, duration: np.ndarray | None) -> Iterator[tuple]:
    """Of each kind: its name, points, values, limits, unit, and whether the limit is a lower one."""
    everywhere = np.arange(len(path))
    for places, size in ((path.x, profile.field[0]), (path.y, profile.field[1])):
        yield "field", everywhere, places * 1e3, np.full(len(path), 0.0), "mm", True
        yield "field", everywhere, places * 1e3, np.full(len(path), 1e3 * size), "mm", False
    moves = everywhere[1:][path.lengths > 0.0]
    step = np.stack([path.x[moves] - path.x[moves - 1], path.y[moves] - path.y[moves - 1]], axis=1)
    length = np.hypot(*step.T)
    top, rate = (limit(axes, step / length[:, None]) for axes in (profile.speed, profile.acceleration))
    lit, power = path.lit[moves].astype(bool), path.power[moves]
    speed = np.where(lit, path.speed[moves], top)
    time = length / speed if duration is None else duration[moves]
    yield "speed", moves[lit], 1e3 * speed[lit], 1e3 * top[lit], "mm/s", False
    for end, below in zip(profile.power, (True, False), strict=True):
        yield "power", moves[lit], power[lit], np.full(lit.sum(), end), "W", below
    for kind, which, least in (
        ("dwell", lit, profile.minimum_dwell),
        ("line rate", np.ones_like(lit), profile.line_time),
    ):
        yield kind, moves[which], 1e3 * time[which], np.full(which.sum(), 1e3 * least), "ms", True
    dark = np.cumsum(~path.lit.astype(bool))[moves]
    both = lit[1:] & lit[:-1] & (dark[1:] == dark[:-1])
    most = 0.5 * profile.power_slew * (time[1:] + time[:-1])
    yield "slew", moves[1:][both], np.abs(np.diff(power))[both], most[both], "W", False
    if duration is not None and len(moves):
        mean = np.concatenate([[0.0], length / time, [0.0]])
        gained = np.concatenate([[0.0], rate * time, [0.0]])
        ends = np.append(moves, moves[-1])
        yield (
            "acceleration",
            ends,
            1e3 * np.abs(np.diff(mean)),
            500.0 * (gained[1:] + gained[:-1]),
            "mm/s",
            False,
        )
    if not profile.blanking:
        yield "blanking", moves[~lit], 1e3 * length[~lit], np.zeros((~lit).sum()), "mm", False
