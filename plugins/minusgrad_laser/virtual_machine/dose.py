"""Dose of a motion: a Gaussian spot of power P(t) at the place (x, y)(t), summed over short times.

    D(p) = 1 / full  integral of P(t) k(p - (x, y)(t)) dt,     k(r) = 2 / (pi w^2) exp(-2 r^2 / w^2)

Each piece, cut where the level of the power changes, is cut into equal times in which the spot moves by at
most w / 2, with Gauss's two points in each: the integrand is a Gaussian in time, so the error is under 1e-4
of the peak. Steady pieces along an axis, such as lines of a raster, have a closed form: the integral along
the axis is a difference of two erf. k is cut off at 3.3 w (4e-10).
"""

import numpy as np
from scipy.special import erf

from .motion import Motion

REACH = 3.3
"""Where the spot ends, in units of w."""
STEP = 0.5
"""The way of the spot in one stretch of time, in units of w, at most."""
LONG = 3.0
"""A steady piece along an axis has the closed form from this length on, in units of w."""
NODES = 0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0)
CHUNK = 4096
Samples = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def dose(
    motion: Motion,
    shape: tuple[int, int],
    pixel: float,
    waist: float,
    full: float,
    origin: tuple[float, float],
) -> np.ndarray:
    """The dose (rows, columns); `origin` [m] is the centre of the first cell."""
    canvas, motion = Canvas(shape, pixel, waist, origin), motion.of_one_level()
    pieces, begin = np.arange(len(motion.t)), np.zeros(len(motion.t))
    slew = motion.profile.power_slew
    if np.isfinite(slew):
        _, x, y, seconds, power = samples(motion, pieces, waist, motion.profile.power[1] / slew / 16.0)
        canvas.spots(x, y, seconds * slewed(seconds, power, slew))
        return canvas.values() / full
    first, last = motion.powers(pieces, begin), motion.powers(pieces, motion.duration)
    bright = (first > 0.0) | (last > 0.0)
    lines = bright & _along_axes(motion, waist)
    starts, ends = (np.stack(motion.places(pieces, since), axis=1) for since in (begin, motion.duration))
    for piece in np.flatnonzero(lines):
        canvas.line(starts[piece], ends[piece], first[piece] / motion.v[piece])
    _, x, y, seconds, power = samples(motion, np.flatnonzero(bright & ~lines), waist)
    canvas.spots(x, y, seconds * power)
    return canvas.values() / full


def samples(motion: Motion, pieces: np.ndarray, waist: float, longest: float = np.inf) -> Samples:
    """Times [s], places x, y [m], seconds and powers [W] that stand for pieces of the motion."""
    fastest = np.maximum(motion.v[pieces], motion.v[pieces] + motion.a[pieces] * motion.duration[pieces])
    steps = np.maximum(fastest / (STEP * waist), 1.0 / longest) * motion.duration[pieces]
    which, part, share = _cut(np.ceil(steps).astype(int).clip(1))
    which = pieces[which]
    since = part * motion.duration[which]
    x, y = motion.places(which, since)
    return motion.t[which] + since, x, y, share * motion.duration[which], motion.powers(which, since)


def _cut(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss's points of things cut into `counts` equal parts: number of the thing, place in it, weight."""
    which = np.repeat(np.arange(len(counts)), 2 * counts)
    k = np.arange(len(which)) - np.repeat(np.cumsum(2 * counts) - 2 * counts, 2 * counts)
    share = 1.0 / np.repeat(counts, 2 * counts)
    return which, (k // 2 + np.where(k % 2, NODES[1], NODES[0])) * share, 0.5 * share


def slewed(seconds: np.ndarray, power: np.ndarray, slew: float) -> np.ndarray:
    """Powers (n,) [W] that follow `power` no faster than `slew` [W/s], from sample to sample."""
    powers, now, before = [], 0.0, 0.0
    for share, aim in zip(seconds.tolist(), power.tolist(), strict=True):
        room = slew * 0.5 * (before + share)
        now, before = min(max(aim, now - room), now + room), share
        powers.append(now)
    return np.array(powers)


def lines(canvas: "Canvas", starts: np.ndarray, ends: np.ndarray, density: np.ndarray) -> None:
    """Put down lines from `starts` to `ends` (n, 2) [m], each with an energy on its length (n,) [J/m]."""
    way = ends - starts
    length = np.hypot(*way.T)
    axial = (way == 0.0).any(axis=1) & (length > LONG * canvas.waist)
    for k in np.flatnonzero(axial & (density > 0.0)):
        canvas.line(starts[k], ends[k], density[k])
    short = np.flatnonzero(~axial & (density > 0.0))
    which, part, share = _cut(np.ceil(length[short] / (STEP * canvas.waist)).astype(int).clip(1))
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


class Canvas:
    """Cells with a margin, as wide as a spot, in which spots are put down."""

    def __init__(self, shape: tuple[int, int], pixel: float, waist: float, origin: tuple[float, float]):
        self.shape, self.pixel, self.waist, self.origin = shape, pixel, waist, origin
        self.half = int(np.ceil(REACH * waist / pixel)) + 1
        self.cells = np.zeros((shape[0] + 4 * self.half, shape[1] + 4 * self.half))

    def values(self) -> np.ndarray:
        """Energy on an area [J/m^2] (rows, columns)."""
        margin = 2 * self.half
        return self.cells[margin : margin + self.shape[0], margin : margin + self.shape[1]]

    def spots(self, x: np.ndarray, y: np.ndarray, energy: np.ndarray) -> None:
        """Put down spots of energies [J] at places [m]."""
        column, row = (x - self.origin[0]) / self.pixel, (y - self.origin[1]) / self.pixel
        rows, columns = self.shape
        near = (energy > 0.0) & (abs(row - 0.5 * (rows - 1)) < 0.5 * rows + self.half - 1)
        near &= abs(column - 0.5 * (columns - 1)) < 0.5 * columns + self.half - 1
        row, column, energy = row[near], column[near], energy[near]
        for begin in range(0, len(energy), CHUNK):
            part = slice(begin, begin + CHUNK)
            self._chunk(row[part], column[part], energy[part] * 2.0 / (np.pi * self.waist**2))

    def _chunk(self, row: np.ndarray, column: np.ndarray, peak: np.ndarray) -> None:
        around = np.arange(-self.half, self.half + 1)
        i, j = np.rint(row).astype(int), np.rint(column).astype(int)
        factor = -2.0 * (self.pixel / self.waist) ** 2
        along_y = np.exp(factor * (i[:, None] + around - row[:, None]) ** 2) * peak[:, None]
        along_x = np.exp(factor * (j[:, None] + around - column[:, None]) ** 2)
        low_i, low_j = i.min() - self.half, j.min() - self.half
        height, width = i.max() + self.half + 1 - low_i, j.max() + self.half + 1 - low_j
        places = ((i - low_i)[:, None] + around)[:, :, None] * width + ((j - low_j)[:, None] + around)[
            :, None, :
        ]
        values = along_y[:, :, None] * along_x[:, None, :]
        sums = np.bincount(places.ravel(), values.ravel(), height * width).reshape(height, width)
        margin = 2 * self.half
        self.cells[margin + low_i : margin + low_i + height, margin + low_j : margin + low_j + width] += sums

    def line(self, start: np.ndarray, end: np.ndarray, density: float) -> None:
        """Put down a line along an axis from `start` to `end` (2,) [m], of `density` [J/m], a closed form."""
        w, margin = self.waist, 2 * self.half
        sides, slices = [], []
        for axis in (1, 0):  # rows, then columns
            a, b = sorted((float(start[axis]), float(end[axis])))
            low = max(0, int((a - self.origin[axis]) / self.pixel) - self.half + margin)
            high = int((b - self.origin[axis]) / self.pixel) + self.half + margin + 1
            high = min(self.cells.shape[1 - axis], high)
            if high <= low:
                return
            at = (np.arange(low, high) - margin) * self.pixel + self.origin[axis]
            if a == b:
                sides.append(np.exp(-2.0 * ((at - a) / w) ** 2))
            else:
                ends = erf(np.sqrt(2.0) * (at - a) / w) - erf(np.sqrt(2.0) * (at - b) / w)
                sides.append(ends / (w * np.sqrt(2.0 * np.pi)))
            slices.append(slice(low, high))
        self.cells[slices[0], slices[1]] += density * np.outer(*sides)
