"""Dose in tiles where there is any: a canvas of squares, each made when the first spot reaches it.

A bed of 300 x 300 mm has 225 million cells of 20 um, of which most jobs reach a few per cent.

Decisions 0097.
"""

from collections.abc import Iterator

import numpy as np

from .canvas import Canvas, spot_cells

SIDE = 512
"""Cells along the side of a tile."""
SPOTS = 1 << 17
"""Spots that are dealt to their tiles at a time."""


class TiledCanvas:
    """A canvas as `Canvas` is, of which only tiles `rows` (from, to) are kept; `tiles`: by row and column."""

    def __init__(
        self,
        shape: tuple[int, int],
        pixel: float,
        waists: tuple[float, float],
        origin: tuple[float, float],
        rows: tuple[int, int] | None = None,
    ):
        self.shape, self.pixel, self.waists, self.origin = shape, pixel, waists, origin
        self.count = tuple(-(-cells // SIDE) for cells in shape)
        self.rows = (0, self.count[0]) if rows is None else rows
        self.half = spot_cells(waists, pixel)
        self.tiles: dict[tuple[int, int], Canvas] = {}

    def spots(self, x: np.ndarray, y: np.ndarray, energy: np.ndarray) -> None:
        """Put down spots of energies [J] at places [m]."""
        for begin in range(0, len(x), SPOTS):
            part = slice(begin, begin + SPOTS)
            self._deal_spots(x[part], y[part], energy[part])

    def line(self, start: np.ndarray, end: np.ndarray, density: float) -> None:
        """Put down a line along an axis from `start` to `end` (2,) [m], of `density` [J/m]."""
        ranges = []
        for axis in (1, 0):
            ends = np.sort(np.array([start[axis], end[axis]])) - self.origin[axis]
            cells = np.floor(ends / self.pixel) + np.array([-1, 1]) * (self.half[1 - axis] + 1)
            low, high = self.rows if axis == 1 else (0, self.count[1])
            first, last = np.clip(cells // SIDE, -1, high).astype(int).tolist()
            ranges.append(range(max(low, first), min(high, last + 1)))
        for i in ranges[0]:
            for j in ranges[1]:
                self.tile(i, j).line(start, end, density)

    def values(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Row and column of the first cell, and the energy on an area [J/m^2], of each tile, in order."""
        for (i, j), tile in sorted(self.tiles.items()):
            yield i * SIDE, j * SIDE, tile.values()

    def tile(self, i: int, j: int) -> Canvas:
        """The tile in row i and column j of tiles; made if there is none."""
        if (i, j) not in self.tiles:
            shape = min(SIDE, self.shape[0] - i * SIDE), min(SIDE, self.shape[1] - j * SIDE)
            first = i * SIDE, j * SIDE
            self.tiles[i, j] = Canvas(shape, self.pixel, self.waists, self.origin, first)
        return self.tiles[i, j]

    def _deal_spots(self, x: np.ndarray, y: np.ndarray, energy: np.ndarray) -> None:
        """Each spot to the tiles that it reaches, at most four, in the order of the spots."""
        column, row = (x - self.origin[0]) / self.pixel, (y - self.origin[1]) / self.pixel
        rows = [np.floor((np.rint(row) + side) / SIDE) for side in (-self.half[0], self.half[0])]
        columns = [np.floor((np.rint(column) + side) / SIDE) for side in (-self.half[1], self.half[1])]
        across = self.count[1]
        numbers, which = [], []
        for a, i in enumerate(rows):
            for b, j in enumerate(columns):
                wanted = (energy > 0.0) & (i >= self.rows[0]) & (i < self.rows[1]) & (j >= 0) & (j < across)
                wanted &= (i != rows[0]) if a else True
                wanted &= (j != columns[0]) if b else True
                which.append(np.flatnonzero(wanted))
                numbers.append((i * across + j)[which[-1]].astype(np.int64))
        number, spot = np.concatenate(numbers), np.concatenate(which)
        order = np.lexsort((spot, number))
        number, spot = number[order], spot[order]
        starts = np.flatnonzero(np.diff(number, prepend=-1) != 0)
        for begin, end in zip(starts, [*starts[1:], len(number)], strict=True):
            chosen = spot[begin:end]
            self.tile(*divmod(int(number[begin]), across)).spots(x[chosen], y[chosen], energy[chosen])
