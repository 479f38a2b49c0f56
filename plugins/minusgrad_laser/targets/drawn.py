"""The insides of a drawing as numbers of cells: the part of each cell that its filled outlines cover."""

from collections import defaultdict

import numpy as np

from ..drawings.drawing import Drawing, Outline
from .coverage import Painted, paint_shapes
from .placement import Placement


def paint_insides(drawing: Drawing, cell: float, place: Placement) -> np.ndarray:
    """Coverage (rows, columns), row 0 at the bottom, of a drawing in its place.

    cell [m]: side of a cell. Outlines without a fill are not painted; colours are not looked at.
    """
    pieces: dict[int, list[Outline]] = defaultdict(list)
    for outline in drawing.outlines:
        if outline.fill is not None:
            pieces[outline.piece].append(outline)
    shapes = [
        Painted([_in_cells(one, drawing, cell) for one in its], 1.0, 1.0, its[0].rule)
        for its in pieces.values()
    ]
    size = drawing.size[0] / cell, drawing.size[1] / cell
    return paint_shapes(shapes, size, 1.0, place)


def _in_cells(outline: Outline, drawing: Drawing, cell: float) -> np.ndarray:
    """Points [cells] from the upper left corner of the page, y downwards."""
    return np.stack([outline.points[:, 0], drawing.size[1] - outline.points[:, 1]], axis=1) / cell
