"""Dose of a motion: a Gaussian spot of power P(t) at the place (x, y)(t), summed over short times.

    D(p) = 1 / full  integral of P(t) k(p - (x, y)(t)) dt,     k(r) = 2 / (pi w^2) exp(-2 r^2 / w^2)

Each piece is cut into equal times in which the spot moves by at most w / 2, with Gauss's two points in each:
the integrand is a Gaussian in time, so the error is under 1e-4 of the peak. Steady pieces along an axis, such
as lines of a raster, have a closed form: the integral along the axis is a difference of two erf. k is cut off
at 3.3 w (4e-10).
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
Samples = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def dose(
    motion: Motion,
    shape: tuple[int, int],
    pixel: float,
    waist: float,
    full: float,
    origin: tuple[float, float],
) -> np.ndarray:
    """The dose (rows, columns); `origin` [m] is the centre of the first cell."""
    canvas = Canvas(shape, pixel, waist, origin)
    everyone = np.arange(len(motion.t))
    dark = (motion.powers(everyone, 0.0 * motion.t) == 0.0) & (
        motion.powers(everyone, motion.duration) == 0.0
    )
    lines = ~dark & _along_axes(motion, waist)
    if not np.isfinite(motion.profile.power_slew):
        for piece in np.flatnonzero(lines):
            canvas.line(motion, int(piece))
        _, x, y, energy = samples(motion, np.flatnonzero(~dark & ~lines), waist)
    else:
        _, x, y, energy = slewed(*samples(motion, everyone, waist), motion)
    canvas.spots(x, y, energy)
    return canvas.values() / full


def samples(motion: Motion, pieces: np.ndarray, waist: float) -> Samples:
    """Times [s], places x, y [m] and energies [J] that stand for pieces of the motion, in order of time."""
    fastest = np.maximum(motion.v[pieces], motion.v[pieces] + motion.a[pieces] * motion.duration[pieces])
    counts = np.ceil(fastest * motion.duration[pieces] / (STEP * waist)).astype(int).clip(1)
    which = np.repeat(pieces, 2 * counts)
    if not len(which):
        return np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0)
    first = np.repeat(np.cumsum(2 * counts) - 2 * counts, 2 * counts)
    k = np.arange(len(which)) - first
    short = np.repeat(motion.duration[pieces] / counts, 2 * counts)
    since = (k // 2 + np.where(k % 2, NODES[1], NODES[0])) * short
    x, y = motion.places(which, since)
    return motion.t[which] + since, x, y, 0.5 * short * motion.powers(which, since)


def slewed(t: np.ndarray, x: np.ndarray, y: np.ndarray, energy: np.ndarray, motion: Motion) -> Samples:
    """The samples of all pieces with a power that changes no faster than the slew allows."""
    edges = np.concatenate([[0.0], 0.5 * (t[1:] + t[:-1]), [2.0 * t[-1] - t[-2] if len(t) > 1 else t[-1]]])
    share = np.diff(edges)
    aims, moments = (energy / share).tolist(), t.tolist()
    power, before, slew = 0.0, 0.0, motion.profile.power_slew
    powers = []
    for moment, aim in zip(moments, aims, strict=True):
        room = slew * (moment - before)
        power, before = min(max(aim, power - room), power + room), moment
        powers.append(power)
    return t, x, y, np.array(powers) * share


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

    def line(self, motion: Motion, piece: int) -> None:
        """Put down a steady piece along an axis, in closed form."""
        one, duration = np.array([piece]), motion.duration[piece]
        power = float(motion.powers(one, np.zeros(1))[0])
        density = power / float(motion.v[piece])
        ends = [np.array(motion.places(one, np.array([since]))).ravel() for since in (0.0, duration)]
        w, margin = self.waist, 2 * self.half
        sides, slices = [], []
        for axis in (1, 0):  # rows, then columns
            a, b = sorted((float(ends[0][axis]), float(ends[1][axis])))
            count = self.cells.shape[1 - axis]
            low = max(0, int((a - self.origin[axis]) / self.pixel) - self.half + margin)
            high = min(count, int((b - self.origin[axis]) / self.pixel) + self.half + margin + 1)
            if high <= low:
                return
            at = (np.arange(low, high) - margin) * self.pixel + self.origin[axis]
            if a == b:
                sides.append(np.exp(-2.0 * ((at - a) / w) ** 2))
            else:
                sides.append(
                    (erf(np.sqrt(2.0) * (at - a) / w) - erf(np.sqrt(2.0) * (at - b) / w))
                    / (w * np.sqrt(2.0 * np.pi))
                )
            slices.append(slice(low, high))
        self.cells[slices[0], slices[1]] += density * np.outer(*sides)
