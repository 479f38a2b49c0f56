"""Profiles: numbers along a line, which pictures, films and pages draw as a curve.

    a field over a grid of one axis         over the places of its cells
    a field of nodes without positions      over the numbers of its nodes; so with positions on a line

Of vectors and matrices their norm is drawn.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...files import h5md, trajectory
from ...files.h5md import Raster
from ...scene import units
from .. import readings
from ..views import dimension

COORDINATES = ("place", "distance")
"""Series of the places of points along a line that an observer looks at."""


def drawable(run: Path, names: Sequence[str]) -> list[str]:
    """The series that are profiles: over grids of one axis, and of nodes unless they have places.

    names: of the recorded series.
    """
    lines = {grid for grid, raster in trajectory.grids(run).items() if len(raster.shape) == 1}
    found = [name for name in names if h5md.grid_of(name) in lines and not _is_coordinate(name, names)]
    if dimension(run, names) < 2:
        found += [name for name in names if h5md.is_of_nodes(name) and name != h5md.POSITION]
    return found


def _is_coordinate(name: str, names: Sequence[str]) -> bool:
    """True for the places of the points of an observer's line, and their distances, which are its axis."""
    line = f"{h5md.GRIDS}/{h5md.grid_of(name)}"
    return h5md.label(name) in COORDINATES and {f"{line}/{one}" for one in COORDINATES} <= {*names}


def is_looked_at(run: Path, name: str) -> bool:
    """True for a series along a line, or on a side, that an observer looks at."""
    line = f"{h5md.GRIDS}/{h5md.grid_of(name)}"
    return bool(h5md.grid_of(name)) and {f"{line}/{one}" for one in COORDINATES} <= {*trajectory.names(run)}


def has_one_place(run: Path, name: str) -> bool:
    """True for a series (T, 1, ...) of one node or one cell: its numbers make a curve over time alone."""
    return raster(run, name).cells == 1


def raster(run: Path, name: str) -> Raster:
    """The grid of a series; of nodes one with a cell for each node, a number apart."""
    if grid := h5md.grid_of(name):
        return trajectory.grids(run)[grid]
    return Raster((next(trajectory.pieces(run, name)).value.shape[1],), 1.0, None)


def along(of: Raster) -> np.ndarray:
    """The places of the cells (n,), the first one at 0."""
    return np.arange(of.cells) * of.spacing


def axis(run: Path, name: str) -> str:
    """The label of the axis along the line: `node`, or `x [m]`."""
    if not h5md.grid_of(name):
        return "node"
    unit, line = raster(run, name).unit, h5md.grid_of(name)
    if is_looked_at(run, name):
        return units.with_unit("distance", unit[0]) if unit else f"number of the node of '{line}'"
    return units.with_unit("x", unit[0] if unit else "")


def values(name: str, rows: np.ndarray) -> np.ndarray:
    """Rows (T, n, ...) as numbers (T, n); of positions on a line their only coordinate."""
    rows = np.asarray(rows, float).reshape(*rows.shape[:2], -1)
    return rows[..., 0] if rows.shape[2] == 1 or name == h5md.POSITION else np.linalg.norm(rows, axis=2)


def text(run: Path, name: str) -> str:
    """The label of the numbers: `phi`, `|momentum| [kg m/s]`, of positions `x [m]`."""
    shape = next(trajectory.pieces(run, name)).value.shape
    label = "x" if name == h5md.POSITION else h5md.label(name).replace("_", " ")
    is_norm = name != h5md.POSITION and int(np.prod(shape[2:])) > 1
    return units.with_unit(f"|{label}|" if is_norm else label, readings.symbols(run, name)[0])
