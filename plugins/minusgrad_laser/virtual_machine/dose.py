"""Dose of a motion: a Gaussian spot of power P(t) at the place (x, y)(t), summed over short times.

    D(p) = 1 / full  integral of P(t) k(p - (x, y)(t)) dt,       k as in `canvas`, of waists w_x and w_y

Each piece, cut where the level of the power changes, is cut into equal times in which the spot moves by at
most w / 2, w the smaller waist, with Gauss's two points in each: the integrand is a Gaussian in time, so the
error is under 1e-4 of the peak. Steady pieces along an axis, such as lines of a raster, have a closed form:
the integral along the axis is a difference of two erf.

Decisions 0104.
"""

from functools import cached_property

import numpy as np

from .canvas import Canvas
from .motion import Motion
from .tiles import TiledCanvas

STEP = 0.5
"""The way of the spot in one stretch of time, in units of the smaller waist, at most."""
LONG = 3.0
"""A steady piece along an axis has the closed form from this length on, in units of the larger waist."""
NODES = 0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0)
SETTLED = 100.0
"""Steady pieces are sampled finely until the power has arrived, if they last so many times as long."""
MANY = 1_000_000
"""Samples at a time, on a canvas of tiles."""
Samples = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def dose(
    motion: Motion,
    shape: tuple[int, int],
    pixel: float,
    waists: tuple[float, float],
    full: float,
    origin: tuple[float, float],
) -> np.ndarray:
    """The dose (rows, columns); `origin` [m] is the centre of the first cell."""
    canvas = Canvas(shape, pixel, waists, origin)
    Deposition(motion, waists).put(canvas)
    return canvas.values() / full


class Deposition:
    """What a motion puts down on a canvas: lines of constant power along the axes, samples of the rest."""

    def __init__(self, motion: Motion, waists: tuple[float, float]):
        self.motion, self.finest = motion.of_one_level(), min(waists)
        pieces, begin = np.arange(len(self.motion.t)), np.zeros(len(self.motion.t))
        self.first, last = self.motion.powers(pieces, begin), self.motion.powers(pieces, self.motion.duration)
        bright = (self.first > 0.0) | (last > 0.0)
        self.is_line = bright & _along_axes(self.motion, max(waists))
        self.is_sampled = bright & ~self.is_line
        self.starts, self.ends = (
            np.stack(self.motion.places(pieces, since), axis=1) for since in (begin, self.motion.duration)
        )

    @cached_property
    def has_slew(self) -> Samples | None:
        """The samples of a laser whose power follows with a slew, each of which depends on the one before."""
        slew = self.motion.profile.power_slew
        if not np.isfinite(slew):
            return None
        arrival = self.motion.profile.power[1] / slew
        motion, is_arrived = self.motion.cut_after(1.25 * arrival, SETTLED * arrival)
        longest = np.where(is_arrived, np.inf, arrival / 16.0)
        t, x, y, seconds, power = samples(motion, np.arange(len(motion.t)), self.finest, longest)
        return t, x, y, seconds, slew_power(np.minimum(seconds, arrival / 16.0), power, slew)

    @cached_property
    def counts(self) -> np.ndarray:
        """About how many samples each piece has (m,)."""
        way = np.hypot(*(self.ends - self.starts).T)
        return np.where(self.is_sampled, 2.0 * (way / (STEP * self.finest) + 1.0), 0.0)

    def put(self, canvas: Canvas | TiledCanvas, low: float = -np.inf, high: float = np.inf) -> None:
        """Put down the pieces that have a part between y = low and y = high [m]."""
        if (found := self.has_slew) is not None:
            _, x, y, seconds, power = found
            canvas.spots(x, y, seconds * power)
            return
        bottom, top = np.sort(np.stack([self.starts[:, 1], self.ends[:, 1]]), axis=0)
        near = (bottom <= high) & (top >= low)
        for piece in np.flatnonzero(self.is_line & near):
            canvas.line(self.starts[piece], self.ends[piece], self.first[piece] / self.motion.v[piece])
        pieces = np.flatnonzero(self.is_sampled & near)
        for some in groups(pieces, self.counts[pieces]) if isinstance(canvas, TiledCanvas) else [pieces]:
            _, x, y, seconds, power = samples(self.motion, some, self.finest)
            canvas.spots(x, y, seconds * power)


def groups(numbers: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Numbers (n,), of which each has so many samples, in groups of about `MANY` samples."""
    group = (np.cumsum(counts) // MANY).astype(np.int64)
    return np.split(numbers, np.flatnonzero(np.diff(group)) + 1)


def samples(
    motion: Motion, pieces: np.ndarray, finest: float, longest: float | np.ndarray = np.inf
) -> Samples:
    """Times [s], places x, y [m], seconds and powers [W] that stand for pieces of the motion.

    finest: the smaller waist [m]. longest: the stretch of time [s] for two of them, at most; of all pieces or
    of each.
    """
    fastest = np.maximum(motion.v[pieces], motion.v[pieces] + motion.a[pieces] * motion.duration[pieces])
    steps = np.maximum(fastest / (STEP * finest), 1.0 / longest) * motion.duration[pieces]
    which, part, share = _cut_evenly(np.ceil(steps).astype(int).clip(1))
    which = pieces[which]
    since = part * motion.duration[which]
    x, y = motion.places(which, since)
    return motion.t[which] + since, x, y, share * motion.duration[which], motion.powers(which, since)


def _cut_evenly(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss's points of things cut into `counts` equal parts: number of the thing, place in it, weight."""
    which = np.repeat(np.arange(len(counts)), 2 * counts)
    k = np.arange(len(which)) - np.repeat(np.cumsum(2 * counts) - 2 * counts, 2 * counts)
    share = 1.0 / np.repeat(counts, 2 * counts)
    return which, (k // 2 + np.where(k % 2, NODES[1], NODES[0])) * share, 0.5 * share


def slew_power(seconds: np.ndarray, power: np.ndarray, slew: float) -> np.ndarray:
    """Powers (n,) [W] that follow `power` no faster than `slew` [W/s], from sample to sample."""
    powers, now, before = [], 0.0, 0.0
    for share, aim in zip(seconds.tolist(), power.tolist(), strict=True):
        room = slew * 0.5 * (before + share)
        now, before = min(max(aim, now - room), now + room), share
        powers.append(now)
    return np.array(powers)


def lines(canvas: Canvas | TiledCanvas, starts: np.ndarray, ends: np.ndarray, density: np.ndarray) -> None:
    """Put down lines from `starts` to `ends` (n, 2) [m], each with an energy on its length (n,) [J/m]."""
    way = ends - starts
    length = np.hypot(*way.T)
    axial = (way == 0.0).any(axis=1) & (length > LONG * max(canvas.waists))
    for k in np.flatnonzero(axial & (density > 0.0)):
        canvas.line(starts[k], ends[k], density[k])
    short = np.flatnonzero(~axial & (density > 0.0))
    which, part, share = _cut_evenly(np.ceil(length[short] / (STEP * min(canvas.waists))).astype(int).clip(1))
    which = short[which]
    x, y = (starts[which] + part[:, None] * way[which]).T
    canvas.spots(x, y, share * length[which] * density[which])


def _along_axes(motion: Motion, waist: float) -> np.ndarray:
    """Pieces (m,) of constant speed and power along x or y, long enough, on a machine without play."""
    way = motion.v * motion.duration
    axial = (motion.plan.direction[motion.block] == 0.0).any(axis=1)
    steady = (motion.a == 0.0) & (
        (motion.source_a == 0.0) | ~motion.program.dynamic[np.maximum(motion.source, 0)]
    )
    return steady & axial & (way > LONG * waist) & (motion.profile.backlash == (0.0, 0.0))
