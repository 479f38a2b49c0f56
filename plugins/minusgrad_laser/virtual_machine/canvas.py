"""Canvas of a dose: cells with a margin, in which Gaussian spots and lines along the axes are put down.

    k(x, y) = 2 / (pi w_x w_y) exp(-2 (x / w_x)^2 - 2 (y / w_y)^2), cut off at 3.3 w_x and 3.3 w_y (4e-10)

The integral of k along an axis is a difference of two erf.

Decisions 0180.
"""

import numpy as np
from scipy.special import erf

from ..machine.spot import waists_across

REACH = 3.3
"""Where the spot ends along an axis, in units of its waist there."""
CHUNK = 4096
"""Spots that are put down at a time."""


class Canvas:
    """Cells with a margin, as wide as a spot, in which spots of `waists` along x and y [m] are put down.

    first: row and column of its first cell, of a canvas that is a part of one whose first cell is at
    `origin`: each spot gives a cell the same number, bit for bit, whatever part it is in.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        pixel: float,
        waists: tuple[float, float],
        origin: tuple[float, float],
        first: tuple[int, int] = (0, 0),
    ):
        self.first = first
        self.shape, self.pixel, self.waists, self.origin = shape, pixel, waists, origin
        self.half = spot_cells(waists, pixel)
        self.cells = np.zeros([cells + 4 * half for cells, half in zip(shape, self.half, strict=True)])

    def values(self) -> np.ndarray:
        """Energy on an area [J/m^2] (rows, columns)."""
        (below, left), (rows, columns) = (2 * half for half in self.half), self.shape
        return self.cells[below : below + rows, left : left + columns]

    def spots(self, x: np.ndarray, y: np.ndarray, energy: np.ndarray) -> None:
        """Put down spots of energies [J] at places [m]."""
        column = (x - self.origin[0]) / self.pixel - self.first[1]
        row = (y - self.origin[1]) / self.pixel - self.first[0]
        rows, columns = self.shape
        near = (energy > 0.0) & (abs(row - 0.5 * (rows - 1)) < 0.5 * rows + self.half[0])
        near &= abs(column - 0.5 * (columns - 1)) < 0.5 * columns + self.half[1]
        row, column, energy = row[near], column[near], energy[near]
        peak = energy * 2.0 / (np.pi * self.waists[0] * self.waists[1])
        for begin in range(0, len(energy), CHUNK):
            part = slice(begin, begin + CHUNK)
            self._chunk_dose(row[part], column[part], peak[part])

    def _chunk_dose(self, row: np.ndarray, column: np.ndarray, peak: np.ndarray) -> None:
        above, beside = (np.arange(-half, half + 1) for half in self.half)
        i, j = np.rint(row).astype(int), np.rint(column).astype(int)
        of_x, of_y = (-2.0 * (self.pixel / waist) ** 2 for waist in self.waists)
        along_y = np.exp(of_y * (i[:, None] + above - row[:, None]) ** 2) * peak[:, None]
        along_x = np.exp(of_x * (j[:, None] + beside - column[:, None]) ** 2)
        low_i, low_j = i.min() - self.half[0], j.min() - self.half[1]
        height, width = i.max() + self.half[0] + 1 - low_i, j.max() + self.half[1] + 1 - low_j
        rows, columns = (i - low_i)[:, None] + above, (j - low_j)[:, None] + beside
        places = rows[:, :, None] * width + columns[:, None, :]
        values = along_y[:, :, None] * along_x[:, None, :]
        sums = np.bincount(places.ravel(), values.ravel(), height * width).reshape(height, width)
        row, column = 2 * self.half[0] + low_i, 2 * self.half[1] + low_j
        self.cells[row : row + height, column : column + width] += sums

    def line(self, start: np.ndarray, end: np.ndarray, density: float) -> None:
        """Put down a line along an axis from `start` to `end` (2,) [m], of `density` [J/m], a closed form."""
        sides, slices = [], []
        for axis in (1, 0):  # rows, then columns
            a, b = sorted((float(start[axis]), float(end[axis])))
            first, half, w = self.first[1 - axis], self.half[1 - axis], self.waists[axis]
            across, margin = self.waists[1 - axis], 2 * half
            low = max(0, int((a - self.origin[axis]) / self.pixel) - first - half + margin)
            high = int((b - self.origin[axis]) / self.pixel) - first + half + margin + 1
            high = min(self.cells.shape[1 - axis], high)
            if high <= low:
                return
            at = (np.arange(low, high) + first - margin) * self.pixel + self.origin[axis]
            if a == b:
                sides.append(np.exp(-2.0 * ((at - a) / w) ** 2))
            else:
                ends = erf(np.sqrt(2.0) * (at - a) / w) - erf(np.sqrt(2.0) * (at - b) / w)
                sides.append(ends / (across * np.sqrt(2.0 * np.pi)))
            slices.append(slice(low, high))
        self.cells[slices[0], slices[1]] += density * np.outer(*sides)


def spot_cells(waists: tuple[float, float], pixel: float) -> tuple[int, int]:
    """How many rows and columns a spot reaches from its middle."""
    across, up = (int(np.ceil(REACH * waist / pixel)) + 1 for waist in waists)
    return up, across


def line_waists(waists: tuple[float, float], direction: np.ndarray) -> np.ndarray:
    """Radii (n,) [m] at 1/e^2 across endless lines along unit vectors (n, 2): the spot's across each."""
    return waists_across(waists, direction[:, ::-1])
