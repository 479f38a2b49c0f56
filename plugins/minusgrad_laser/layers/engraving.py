"""Engraved areas of a layer: cells that its fills cover, and lines to and fro over them with an even dose.

Fills are painted in the order of the drawing, so that a later one of another layer hides what is below it,
as on a screen. Closed lines without a fill bound areas by the even-odd rule, all of a layer together.

Decisions 0186.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy import ndimage

from minusgrad.plugin import UserError, memory

from ..drawings.drawing import Drawing
from ..paths.order import arrange_strokes
from ..paths.raster import runs_above_half
from ..paths.stroke import Stroke
from ..targets.coverage import Painted, paint_shapes
from ..targets.placement import Placement
from .choice import Mark
from .joined_lines import join_lines
from .settings import Settings

AREA_BYTES = 100
"""Memory of a cell of an area."""


@dataclass(frozen=True, eq=False)
class Area:
    """Covered part (rows, columns) of cells; `corner`: column and row of the first in multiples of a pixel.

    The centre of cell (row, column) is at x = (corner[0] + column) pixel, y = (corner[1] + row) pixel.
    """

    covered: np.ndarray
    corner: tuple[int, int]
    pixel: float

    @property
    def size(self) -> float:
        """The area [m^2]."""
        return float(self.covered.sum()) * self.pixel**2


def area_of_marks(drawing: Drawing, marks: Sequence[Mark], title: str, pixel: float) -> Area:
    """The area of some marks. Raises `UserError` for lines that bound no area, and for an area of no cell."""
    filled = {mark.outline for mark in marks if mark.kind == "fill"}
    lined = [k for k in dict.fromkeys(mark.outline for mark in marks) if k not in filled]
    rings = [drawing.outlines[k].points for k in lined if drawing.outlines[k].closed]
    joined = join_lines([drawing.outlines[k].points for k in lined if not drawing.outlines[k].closed])
    if opened := [points for points, is_ring in joined if not is_ring]:
        (x, y), (u, v) = 1e3 * opened[0][[0, -1]]
        raise UserError(
            f"{title}: engraves areas, got an open line without a fill from ({x:.4g}, {y:.4g}) to ({u:.4g},"
            f' {v:.4g}) mm; fill or close it, or write mode = "score"'
        )
    rings += [points for points, _ in joined]
    bounds = [drawing.outlines[k].points for k in sorted(filled)] + rings
    points = np.concatenate(bounds)
    low, high = np.floor(points.min(axis=0) / pixel), np.ceil(points.max(axis=0) / pixel)
    corner = int(low[0]) - 1, int(low[1]) - 1
    columns, rows = (int(b - a) + 3 for a, b in zip(low, high, strict=True))
    memory.require(AREA_BYTES * rows * columns, f"{title}: {columns} x {rows} cells", "give a larger --pixel")
    place = Placement(rows, columns, 0, 0, columns, rows)
    shapes = [
        Painted([_cells_of(one, corner, pixel, rows) for one in lines], dark, 1.0, rule)
        for lines, dark, rule in _painted_pieces(drawing, filled, rings)
    ]
    covered = paint_shapes(shapes, (columns, rows), 1.0, place)
    if covered.max(initial=0.0) <= 0.5:
        raise UserError(
            f"{title}: its areas cover no cell of {pixel * 1e6:.4g} um; scale the drawing up, give a smaller"
            ' --pixel, or write mode = "score"'
        )
    return Area(covered, corner, pixel)


def _painted_pieces(
    drawing: Drawing, filled: set[int], rings: list[np.ndarray]
) -> list[tuple[list[np.ndarray], float, str]]:
    """The fills of a drawing in its order, with darkness 1 for those of the layer; then its closed lines."""
    pieces: dict[tuple[int, bool], list[int]] = {}
    for k, outline in enumerate(drawing.outlines):
        if outline.fill is not None:
            pieces.setdefault((outline.piece, k in filled), []).append(k)
    found: list[tuple[list[np.ndarray], float, str]] = []
    for (_, dark), numbers in pieces.items():
        outlines = [drawing.outlines[k] for k in numbers]
        found.append(([one.points for one in outlines], float(dark), outlines[0].rule))
    if first := next((k for k, one in enumerate(found) if one[1]), 0):
        del found[:first]  # what is below all of the layer hides nothing
    return [*found, *([(rings, 1.0, "evenodd")] if rings else [])]


def _cells_of(points: np.ndarray, corner: tuple[int, int], pixel: float, rows: int) -> np.ndarray:
    """Points [m] in cells from the upper left corner of the canvas, y down."""
    x, y = points.T / pixel
    return np.stack([x - corner[0] + 0.5, rows - (y - corner[1] + 0.5)], axis=1)


def hatch_area(area: Area, settings: Settings, field: tuple[float, float]) -> list[Stroke]:
    """Strokes over an area: line by line over all of it, or region by region, whichever has less dark way.

    `lit` is a part of the layer's power. field: the size of the machine's [m], which no overscan leaves.
    """
    turned = settings.angle == 90
    covered = area.covered.T if turned else area.covered
    corner = area.corner[::-1] if turned else area.corner
    room = field[1] if turned else field[0]

    def serpentine(covered: np.ndarray, column: int, row: int) -> Stroke:
        rows, part = _area_lines(
            covered, (corner[0] + column, corner[1] + row), settings.interval, area.pixel
        )
        return _serpentine_stroke(rows, settings.overscan, room, part)

    whole = [serpentine(covered, 0, 0)]
    apart = []
    regions, _ = ndimage.label(covered > 0.5, np.ones((3, 3)))
    for k, (rows, columns) in enumerate(ndimage.find_objects(regions), 1):
        low, left = max(rows.start - 1, 0), max(columns.start - 1, 0)
        box = slice(low, rows.stop + 1), slice(left, columns.stop + 1)
        own = ndimage.binary_dilation(regions[box] == k, np.ones((3, 3)))
        apart.append(serpentine(covered[box] * own, left, low))
    found = min((arrange_strokes(apart), whole), key=_dark_way)
    return [Stroke(one.points[:, ::-1], one.lit) for one in found] if turned else found


def _dark_way(strokes: list[Stroke]) -> float:
    """The way without light [m], within strokes and between them."""
    within = sum(float(np.hypot(*np.diff(one.points, axis=0).T)[one.lit == 0.0].sum()) for one in strokes)
    ends = np.array([one.points[[0, -1]] for one in strokes])
    return within + float(np.hypot(*(ends[1:, 0] - ends[:-1, 1]).T).sum())


def _area_lines(
    covered: np.ndarray, corner: tuple[int, int], interval: float, pixel: float
) -> tuple[list[tuple[float, np.ndarray]], float]:
    """y of each line along x, and its runs (r, 2) within the covered part, in metres; the part of the power.

    Lines divide the height of the area evenly, so that its lower and its upper edge are half of a distance
    beyond the outermost lines: there the dose has fallen to its half. They are nearer to each other than the
    interval, and need as much less power; a single line needs all.
    """
    low, high = _edge_rows(covered)
    count = max(1, ceil((high - low) * pixel / interval - 1e-6))
    part = (high - low) * pixel / interval / count if count > 1 else 1.0
    found = []
    for y in low + (high - low) * (np.arange(count) + 0.5) / count:
        runs = runs_above_half(covered, float(y))
        if len(runs):
            found.append(((corner[1] + float(y)) * pixel, (corner[0] + runs) * pixel))
    return found, min(part, 1.0)


def _edge_rows(covered: np.ndarray) -> list[float]:
    """The rows (real numbers) of the lower and the upper edge, whose cells are covered in part."""
    dark = np.flatnonzero((covered > 0.5).any(axis=1))
    found = []
    for row, side in ((int(dark[0]), -1), (int(dark[-1]), 1)):
        beyond = float(covered[row + side].max()) if 0 <= row + side < len(covered) else 0.0
        found.append(row + side * (float(covered[row].max()) + beyond - 0.5))
    return found


def _serpentine_stroke(
    rows: list[tuple[float, np.ndarray]], overscan: float, room: float, part: float
) -> Stroke:
    """Lines to and fro in one stroke, dark between runs, on the way to the next line, in the overscan."""
    points, lit = [], []
    for k, (y, runs) in enumerate(rows):
        ends = max(runs[0, 0] - overscan, 0.0), min(runs[-1, 1] + overscan, room)
        x = np.concatenate([[min(ends[0], runs[0, 0])], runs.ravel(), [max(ends[1], runs[-1, 1])]])
        drawn = np.tile([0.0, part], len(runs) + 1)[: len(x) - 1]
        x, drawn = (x[::-1], drawn[::-1]) if k % 2 else (x, drawn)
        keep = np.append(True, np.diff(x) != 0.0)
        points.append(np.stack([x[keep], np.full(int(keep.sum()), y)], axis=1))
        lit += [np.zeros(1), drawn[keep[1:]]]
    return Stroke(np.concatenate(points), np.concatenate(lit)[1:])
