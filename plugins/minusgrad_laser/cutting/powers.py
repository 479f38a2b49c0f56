"""Power and speed of a cut: a toolpath that leaves the energies of its strokes.

    power = q v            where power follows the speed, v the programmed one
    power = q L / T        at constant power: L and T are length and planned time of a move

q [J/m] is the energy on a length. At constant power a slow head leaves more, so moves are cut where the head
speeds up and slows down, in pieces within which its speed changes by `RATIO` at most, as far as the rate of
lines allows, and each has the power that its planned time wants. The head moves alike whatever its power.
"""

from dataclasses import replace

import numpy as np

from ..jobs.moves import keeps_dose, of_toolpath
from ..jobs.planned import planned_program
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..virtual_machine.planner import Plan, plan
from .strokes import Stroke

RATIO = 1.25
"""The most that the speed changes within a piece of a move."""
FINEST = 4e-6
"""The shortest piece [m]."""


def toolpath_of_strokes(strokes: list[Stroke], profile: Profile, speed: float) -> Toolpath:
    """The toolpath of strokes at a speed [m/s]; moves are slower where the laser has not the power."""
    points = np.concatenate([one.points for one in strokes])
    density = np.concatenate([np.append(0.0, one.density[1:]) for one in strokes])
    least, most = profile.power
    safe = np.where(density > 0.0, density, 1.0)
    speeds = np.where(density > 0.0, np.minimum(speed, most / safe), speed)
    lit = density > 0.0
    path = Toolpath(
        points[:, 0], points[:, 1], np.where(lit, np.clip(density * speeds, least, most), 0.0), speeds, lit
    )
    return path if keeps_dose(profile) else constant_powers(path, density, profile)


def constant_powers(path: Toolpath, density: np.ndarray, profile: Profile) -> Toolpath:
    """The toolpath in pieces whose constant powers leave the energies of moves; density (n,) [J/m]."""
    path, density = _cut_by_speed(path, density, profile)
    planned, kept = _planned_moves(path, profile)
    seconds = np.full(len(path), np.inf)
    seconds[kept] = planned.durations.sum(axis=1)
    wanted = np.append(0.0, density[1:] * path.lengths) / seconds
    least, most = profile.power
    return replace(path, power=np.where(path.lit, np.clip(wanted, least, most), 0.0))


def _planned_moves(path: Toolpath, profile: Profile) -> tuple[Plan, np.ndarray]:
    """The motion of the moves of a file, and the points (m,) of the path that they end at."""
    moves = of_toolpath(path, profile)
    exact = np.rint(np.stack([path.x, path.y], axis=1) / profile.place).astype(int)
    kept = np.flatnonzero(np.append(False, (np.diff(exact, axis=0) != 0).any(axis=1)))
    return plan(planned_program(moves, profile), profile), kept


def _cut_by_speed(path: Toolpath, density: np.ndarray, profile: Profile) -> tuple[Toolpath, np.ndarray]:
    """The path with moves cut where their speed has changed by `RATIO`."""
    planned, kept = _planned_moves(path, profile)
    places: list[np.ndarray] = []
    rows: list[int] = []
    by_end = dict(zip(kept.tolist(), range(len(kept)), strict=True))
    for point in range(len(path)):
        end = np.array([path.x[point], path.y[point]])
        k = by_end.get(point)
        if k is not None and path.lit[point]:
            begin = np.array([path.x[point - 1], path.y[point - 1]])
            for part in _speed_marks(planned, k, profile):
                places.append(begin + part * (end - begin))
                rows.append(point)
        places.append(end)
        rows.append(point)
    x, y = np.array(places).T
    return Toolpath(x, y, path.power[rows], path.speed[rows], path.lit[rows]), density[rows]


def _speed_marks(planned: Plan, k: int, profile: Profile) -> list[float]:
    """Parts of a move where its speed has changed by `RATIO`, no closer than lines arrive."""
    length, peak, rate = (float(z[k]) for z in (planned.length, planned.peak, planned.acceleration))
    marks: list[float] = []
    for speed, turned in ((float(planned.entry[k]), False), (float(planned.exit[k]), True)):
        at, now = 0.0, speed
        reach = (peak**2 - speed**2) / (2.0 * rate)
        while now < peak / RATIO:
            step = max(FINEST, (now * now * (RATIO**2 - 1.0)) / (2.0 * rate))
            step = max(step, 1.2 * profile.line_time * np.sqrt(now * now + 2.0 * rate * step))
            at += float(step)
            if at > 0.9 * reach or at > 0.9 * length:
                break
            now = float(np.sqrt(speed * speed + 2.0 * rate * at))
            marks.append(1.0 - at / length if turned else at / length)
        if FINEST < reach < length - FINEST:
            marks.append(1.0 - reach / length if turned else reach / length)
    marks = sorted(one for one in marks if FINEST < one * length < length - FINEST)
    return [one for k, one in enumerate(marks) if k == 0 or (one - marks[k - 1]) * length > FINEST]
