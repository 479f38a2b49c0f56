"""Canvas of a dose: cells with a margin, in which Gaussian spots and lines along the axes are put down.

    k(r) = 2 / (pi w^2) exp(-2 r^2 / w^2), cut off at 3.3 w (4e-10)

The integral of k along an axis is a difference of two erf.
"""

import numpy as np
from scipy.special import erf

REACH = 3.3
"""Where the spot ends, in units of w."""
CHUNK = 4096
"""Spots that are put down at a time."""


class Canvas:
    """Cells with a margin, as wide as a spot, in which spots are put down.

    first: row and column of its first cell, of a canvas that is a part of one whose first cell is at
    `origin`: each spot gives a cell the same number, bit for bit, whatever part it is in.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        pixel: float,
        waist: float,
        origin: tuple[float, float],
        first: tuple[int, int] = (0, 0),
    ):
        self.first = first
        self.shape, self.pixel, self.waist, self.origin = shape, pixel, waist, origin
        self.half = int(np.ceil(REACH * waist / pixel)) + 1
        self.cells = np.zeros((shape[0] + 4 * self.half, shape[1] + 4 * self.half))

    def values(self) -> np.ndarray:
        """Energy on an area [J/m^2] (rows, columns)."""
        margin = 2 * self.half
        return self.cells[margin : margin + self.shape[0], margin : margin + self.shape[1]]

    def spots(self, x: np.ndarray, y: np.ndarray, energy: np.ndarray) -> None:
        """Put down spots of energies [J] at places [m]."""
        column = (x - self.origin[0]) / self.pixel - self.first[1]
        row = (y - self.origin[1]) / self.pixel - self.first[0]
        rows, columns = self.shape
        near = (energy > 0.0) & (abs(row - 0.5 * (rows - 1)) < 0.5 * rows + self.half - 1)
        near &= abs(column - 0.5 * (columns - 1)) < 0.5 * columns + self.half - 1
        row, column, energy = row[near], column[near], energy[near]
        for begin in range(0, len(energy), CHUNK):
            part = slice(begin, begin + CHUNK)
            self._chunk_dose(row[part], column[part], energy[part] * 2.0 / (np.pi * self.waist**2))

    def _chunk_dose(self, row: np.ndarray, column: np.ndarray, peak: np.ndarray) -> None:
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
            first = self.first[1 - axis]
            low = max(0, int((a - self.origin[axis]) / self.pixel) - first - self.half + margin)
            high = int((b - self.origin[axis]) / self.pixel) - first + self.half + margin + 1
            high = min(self.cells.shape[1 - axis], high)
            if high <= low:
                return
            at = (np.arange(low, high) + first - margin) * self.pixel + self.origin[axis]
            if a == b:
                sides.append(np.exp(-2.0 * ((at - a) / w) ** 2))
            else:
                ends = erf(np.sqrt(2.0) * (at - a) / w) - erf(np.sqrt(2.0) * (at - b) / w)
                sides.append(ends / (w * np.sqrt(2.0 * np.pi)))
            slices.append(slice(low, high))
        self.cells[slices[0], slices[1]] += density * np.outer(*sides)
