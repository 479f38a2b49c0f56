"""Coverage of cells by painted polygons, from samples on a fine grid inside each cell.

A sample is inside by the winding number w of the polygons around it: w != 0 ("nonzero") or w odd ("evenodd").
Shapes are painted in their order, v := (1 - opacity) v + opacity dark. A cell gets the mean of its samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .placement import Placement

FINE = 8
"""Samples along each side of a cell."""
BAND = 4_000_000
"""Samples at a time."""


@dataclass(frozen=True, eq=False)
class Painted:
    """Closed polygons (k, 2) in cells, x to the right and y down; darkness, opacity, fill rule."""

    lines: list[np.ndarray]
    dark: float
    opacity: float
    rule: str = "nonzero"

    def edges(self) -> np.ndarray:
        """(m, 4) as x, y of both ends."""
        closed = [np.hstack([line, np.roll(line, -1, axis=0)]) for line in self.lines if len(line) > 1]
        return np.concatenate(closed) if closed else np.zeros((0, 4))


def paint_shapes(
    shapes: Sequence[Painted], page: tuple[float, float], scale: float, place: Placement
) -> np.ndarray:
    """Darkness (rows, columns), bottom row first, of a page [px] at a scale [cells/px] in its place."""
    corner = np.array([place.left, place.rows - place.below - place.height])
    edges = [(shape.edges() + np.tile(corner, 2)) * FINE for shape in shapes]
    on_page = (
        _samples_between(place.rows, corner[1], page[1] * scale),
        _samples_between(place.columns, corner[0], page[0] * scale),
    )
    found = np.zeros((place.rows, place.columns))
    step = max(1, BAND // (FINE * FINE * place.columns))
    for row in range(0, place.rows, step):
        rows = slice(row * FINE, min(row + step, place.rows) * FINE)
        band = np.zeros((rows.stop - rows.start, place.columns * FINE), np.float32)
        for shape, its in zip(shapes, edges, strict=True):
            _paint_shape(band, rows.start, its, shape)
        band *= on_page[0][rows, None] * on_page[1]
        found[row : row + step] = band.reshape(-1, FINE, place.columns, FINE).mean(axis=(1, 3))
    return found[::-1].astype(float)


def _samples_between(cells: int, low: float, extent: float) -> np.ndarray:
    """1 for samples of some cells at low .. low + extent [cells], else 0."""
    at = (np.arange(cells * FINE) + 0.5) / FINE
    return ((at > low) & (at < low + extent)).astype(np.float32)


def _paint_shape(band: np.ndarray, first: int, edges: np.ndarray, shape: Painted) -> None:
    """Paint a shape, by its edges in samples, onto rows `first`, ... of samples."""
    height, width = band.shape
    x0, y0, x1, y1 = edges.T
    begin = np.clip(np.ceil(np.minimum(y0, y1) - 0.5).astype(int) - first, 0, height)
    count = np.clip(np.ceil(np.maximum(y0, y1) - 0.5).astype(int) - first, 0, height) - begin
    if not count.any():
        return
    edge = np.repeat(np.arange(len(edges)), count)
    row = np.arange(len(edge)) + np.repeat(begin - (np.cumsum(count) - count), count)
    x = x0[edge] + (row + first + 0.5 - y0[edge]) * ((x1 - x0) / np.where(y1 == y0, 1.0, y1 - y0))[edge]
    column = np.clip(np.ceil(x - 0.5), 0, width).astype(int)
    low, high = int(column.min()), int(column.max())
    winding = np.zeros((height, high - low + 1), np.int32)
    np.add.at(winding, (row, column - low), np.sign(y1 - y0)[edge].astype(np.int32))
    winding = np.cumsum(winding, axis=1)[:, :-1]
    inside = winding % 2 == 1 if shape.rule == "evenodd" else winding != 0
    part = band[:, low:high]
    part += (shape.opacity * inside) * (shape.dark - part)
