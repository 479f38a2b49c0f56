"""A rectangle of square cells, each with a density: the domain of a topology optimisation in the plane.

    u (n, 2) [m]     displacements of the nodes, 0 at the start, numbered along x, then along y
    design (E,)      the design variable of each cell, numbered alike; all are `fraction` at the start

    list             rows                    data of its elements
    points           (4 E, 5): cell, nodes   slopes (4, 2) of the bilinear functions [1/m], volume [m^3]
    neighbours       (K, 2): cell, cell      share: H_ef / sum_f H_ef, H_ef = max(0, r - distance)

The grid "cells" has the design, and the density that a filter makes of it, for pictures. The points are those
of Gauss's rule with 2 x 2. Distances are between the middles of cells, and the radius r of the filter is in
sides of a cell (Andreassen et al. 2011, Struct. Multidisc. Optim. 43, 1, equation 9).
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Body, Grid, Quantity, Record, State, StateContext, memory, quantities

Count = Annotated[int, Field(ge=1)]
CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
"""The corners of the reference square, in the order of a cell's nodes."""


class DesignDomain(Record):
    """A rectangle of square cells with a density each; sides left, right, bottom, top, and four corners.

    cells: along x and y. filter_radius: of the density filter, in sides of a cell. fraction: the density of
    every cell at the start.
    """

    cells: tuple[Count, Count]
    """Number of cells along x and along y."""
    side: Annotated[float | str, Quantity("m", "positive")] = 1.0
    """Side of a cell."""
    thickness: Annotated[float | str, Quantity("m", "positive")] = 1.0
    """Thickness of the plate."""
    filter_radius: Annotated[float, Field(gt=0.0)] = 1.5
    """Radius of the density filter, in sides of a cell."""
    fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    """Density of every cell at the start, above 0 and up to 1."""

    def make(self, context: StateContext) -> State:
        given, (columns, rows) = quantities(self, context.units), self.cells
        memory.require(2000 * columns * rows, f"{columns * rows} cells")
        side, nodes = given["side"], (columns + 1) * (rows + 1)
        points, slopes = corners(columns, rows), bilinear_slopes(side)
        cells = len(points)
        number = np.repeat(np.arange(cells), 4)
        tuples = np.column_stack([number, points[number]])
        volume = np.full(4 * cells, 0.25 * side * side * given["thickness"])
        pairs, share = neighbours(columns, rows, self.filter_radius)
        return State(
            fields={"u": np.zeros((nodes, 2)), "design": np.full(cells, self.fraction)},
            units={"u": "m", "design": "1"},
            bodies=tuple(Body(name, where) for name, where in sides(columns, rows).items()),
            tuples={"points": tuples, "neighbours": pairs},
            data={
                "points": {"slopes": np.tile(slopes, (cells, 1, 1)), "volume": volume},
                "neighbours": {"share": share},
            },
            labels={"u": "displacement"},
            grids={"cells": Grid((rows, columns), side, ("design", "density"))},
        )


def corners(columns: int, rows: int) -> np.ndarray:
    """The nodes of each cell (E, 4), counterclockwise from the lower left one."""
    row, column = np.divmod(np.arange(columns * rows), columns)
    first = row * (columns + 1) + column
    return np.column_stack([first, first + 1, first + columns + 2, first + columns + 1])


def sides(columns: int, rows: int) -> dict[str, np.ndarray]:
    """The nodes of the four sides, and of the four corners."""
    node = np.arange((columns + 1) * (rows + 1)).reshape(rows + 1, columns + 1)
    found = {"left": node[:, 0], "right": node[:, -1], "bottom": node[0], "top": node[-1]}
    for y, row in (("bottom", 0), ("top", -1)):
        for x, column in (("left", 0), ("right", -1)):
            found[f"{y}_{x}"] = node[row, column : column + 1 or None]
    return {name: nodes.astype(np.int32) for name, nodes in found.items()}


def bilinear_slopes(side: float) -> np.ndarray:
    """The slopes (4, 4, 2) of the four bilinear functions of a square, at the points of Gauss's rule."""
    at = CORNERS / np.sqrt(3.0)
    x, y = at[:, None, 0], at[:, None, 1]
    along = CORNERS[:, 0] * (1.0 + CORNERS[:, 1] * y), CORNERS[:, 1] * (1.0 + CORNERS[:, 0] * x)
    return np.stack(along, axis=2) / (2.0 * side)


def neighbours(columns: int, rows: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of cells within the radius (K, 2), in order, and the share of the second in the first."""
    reach = int(np.ceil(radius)) - 1
    row, column = np.divmod(np.arange(columns * rows), columns)
    pairs, weights = [], []
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            inside = (row + dy >= 0) & (row + dy < rows) & (column + dx >= 0) & (column + dx < columns)
            weight = radius - np.hypot(dx, dy)
            if weight > 0.0:
                one = np.flatnonzero(inside)
                pairs.append(np.column_stack([one, one + dy * columns + dx]))
                weights.append(np.full(len(one), weight))
    rows_of, weight = np.concatenate(pairs), np.concatenate(weights)
    order = np.lexsort(rows_of.T[::-1])
    rows_of, weight = rows_of[order], weight[order]
    total = np.bincount(rows_of[:, 0], weights=weight)
    return rows_of.astype(np.int32), weight / total[rows_of[:, 0]]
