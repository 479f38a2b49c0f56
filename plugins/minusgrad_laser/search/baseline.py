"""The baseline: the fastest raster with M4 whose score is within 0.01 of its own best.

Lines a pitch apart, to and fro, at one power and one speed, the laser off in the gaps; all that an engraver's
program lets its user choose is tried: the pitch, the direction and the first line, the dot width correction
(each run is shorter at both ends by an `inset`), and the exposure E = power / speed, at full power as far as
the speed allows:

    score = intersection over union of D(E) > threshold and target > 1/2,        speed = min(v_max, P_max / E)

With M4 the dose does not depend on the acceleration, and is a product (as `dose.spots`, for lines along x)

    D(row, column) = E / (full w_y sqrt(2 pi)) sum over lines exp(-2 (y_row - y)^2 / w_y^2) X(column)
    X(column)      = sum over runs erf(sqrt 2 (x_b - x) / w_x) - erf(sqrt 2 (x_a - x) / w_x)

The seconds are those that the virtual machine's planner needs for the moves. A travel in line with the runs
around it is passed without a stop.
"""

from dataclasses import dataclass, replace
from math import pi, sqrt

import numpy as np
from scipy.special import erf

from ..jobs import gcode
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from .recipe import USUAL, Exposure

PITCHES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
"""In diameters of the spot across the lines."""
INSETS = (0.0, 0.1, 0.2, 0.3, 0.4)
"""In diameters of the spot along the lines."""
OFFSETS = (0.0, 0.25, 0.5, 0.75)
"""Of the first line from the target's first row, in pitches."""
EXPOSURES = 48
"""Exposures that are tried, from a fifth to twenty times that of a solid area at the threshold."""
WITHIN = 0.01
"""Of its own best score."""


@dataclass(frozen=True)
class Raster:
    """A raster and its score; pitch, inset, offset of the first line [m], exposure [J/m], speed [m/s].

    seconds: NaN until it is planned.
    """

    across: bool
    pitch: float
    inset: float
    offset: float
    exposure: float
    speed: float
    score: float
    seconds: float = float("nan")


@dataclass(frozen=True)
class Baseline:
    """All rasters that were tried, each at its best exposure; the one that is compared, and its toolpath."""

    table: tuple[Raster, ...]
    chosen: Raster
    path: Toolpath

    @property
    def best(self) -> float:
        """The best score of all."""
        return max(one.score for one in self.table)


def baseline(
    target: np.ndarray,
    profile: Profile,
    exposure: Exposure = USUAL,
    pixel: float | None = None,
    power: float | None = None,
    pitches: tuple[float, ...] = PITCHES,
    insets: tuple[float, ...] = INSETS,
) -> Baseline:
    """The fastest raster of a target (rows, columns) within 0.01 of the best score of all of them.

    pitches and insets are in diameters of the spot; pixel [m] and power [W], the most to use, are the
    profile's if left out.
    """
    h, most = pixel or profile.pixel, power or profile.power[1]
    wanted = np.asarray(target) > 0.5
    rasters = [
        one
        for across in (False, True)
        for pitch in pitches
        for inset in insets
        for offset in OFFSETS
        for one in _score_raster(wanted, profile, exposure, h, most, across, pitch, inset, offset)
    ]
    least = max(one.score for one in rasters) - WITHIN
    table = tuple(
        replace(one, seconds=_job_seconds(toolpath(wanted, one, h), profile)) if one.score >= least else one
        for one in rasters
    )
    chosen = min((one for one in table if one.score >= least), key=lambda one: (one.seconds, -one.score))
    return Baseline(table, chosen, toolpath(wanted, chosen, h))


def toolpath(target: np.ndarray, raster: Raster, pixel: float) -> Toolpath:
    """The moves of a raster of a target (rows, columns)."""
    lines = _offset_lines(target.T if raster.across else target, raster.pitch / pixel, raster.offset / pixel)
    along: list[float] = []
    beside: list[float] = []
    lit: list[bool] = []
    forth = True
    for y, runs in lines:
        runs = [(a + raster.inset / pixel, b - raster.inset / pixel) for a, b in runs]
        ends = [(a, b) if forth else (b, a) for a, b in runs if a < b]
        for a, b in ends if forth else ends[::-1]:
            along += [a, b]
            beside += [y, y]
            lit += [False, True]
        forth ^= bool(ends)
    x, y = pixel * np.array([beside, along] if raster.across else [along, beside])
    on = np.array(lit)
    return Toolpath(x, y, raster.exposure * raster.speed * on, np.full(len(on), raster.speed), on)


def _score_raster(
    wanted: np.ndarray,
    profile: Profile,
    exposure: Exposure,
    pixel: float,
    most: float,
    across: bool,
    pitch: float,
    inset: float,
    offset: float,
) -> list[Raster]:
    """A raster at its best exposure, and at its best exposures that higher speeds allow."""
    target, fastest = wanted.T if across else wanted, min(profile.speed)
    along, beside = profile.waists[::-1] if across else profile.waists
    apart, short = pitch * 2.0 * beside, inset * 2.0 * along
    lines = _offset_lines(target, apart / pixel, offset * apart / pixel)
    unit = _line_dose(lines, target.shape, short / pixel, pixel, along, beside) / exposure.full
    solid = exposure.threshold * apart * exposure.full
    tried = np.geomspace(0.2 * solid, 20.0 * solid, EXPOSURES)
    scores = _level_scores(unit, exposure.threshold / tried, target)
    found = []
    for part in (1.0, 0.7, 0.5, 0.35, 0.25, 0.0):  # at least this part of the largest speed
        able = tried <= most / (part * fastest) if part else np.full(len(tried), True)
        if able.any():
            k = int(np.argmax(np.where(able, scores, -1.0)))
            speed = float(min(fastest, most / tried[k]))
            found.append(
                Raster(across, apart, short, offset * apart, float(tried[k]), speed, float(scores[k]))
            )
    return list(dict.fromkeys(found))


def _offset_lines(
    target: np.ndarray, pitch: float, offset: float
) -> list[tuple[float, list[tuple[float, float]]]]:
    """Of each line that meets the target, y and the runs along x, in cells from the centre of the first."""
    rows = np.flatnonzero(target.any(axis=1))
    found = []
    for y in np.arange(rows[0] + offset, rows[-1] + 0.5, pitch):
        edges = np.flatnonzero(np.diff(np.pad(target[int(np.rint(y))].astype(np.int8), 1)))
        if len(edges):
            found.append((float(y), [(a - 0.5, b - 0.5) for a, b in edges.reshape(-1, 2).tolist()]))
    return found


def _line_dose(
    lines: list, shape: tuple[int, int], inset: float, pixel: float, waist: float, beside: float
) -> np.ndarray:
    """Fluence (rows, columns) [1/m] of lines at the exposure 1; waists along them and beside [m]."""
    w, column = waist / pixel, np.arange(shape[1])
    y = np.array([line[0] for line in lines])
    runs = [(k, a + inset, b - inset) for k, (_, of) in enumerate(lines) for a, b in of if b - a > 2 * inset]
    along = np.zeros((len(lines), shape[1]))
    if runs:
        line, begin, end = np.array(runs).T
        each = erf(sqrt(2.0) * (end[:, None] - column) / w) - erf(sqrt(2.0) * (begin[:, None] - column) / w)
        np.add.at(along, line.astype(int), each)
    across = np.exp(-2.0 * ((np.arange(shape[0])[:, None] - y) * pixel / beside) ** 2)
    return across @ along / (beside * sqrt(2.0 * pi))


def _level_scores(dose: np.ndarray, levels: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Intersection over union of dose > level and the target, for levels (n,) that fall."""
    place = np.searchsorted(-levels, -dose.ravel(), side="right")  # developed at this level and at all after
    inside, outside = (
        np.bincount(place[cells], minlength=len(levels) + 1)[: len(levels)].cumsum()
        for cells in (target.ravel(), ~target.ravel())
    )
    return inside / (np.count_nonzero(target) + outside)


def _job_seconds(path: Toolpath, profile: Profile) -> float:
    """Of the job file, by the virtual machine's planner."""
    return gcode.job_text(path, profile)[1].seconds
