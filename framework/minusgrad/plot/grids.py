"""Plot of a field over a plane grid at the last recorded step: row 0 at the bottom, lengths to scale.

The colour scale begins at zero for values of one sign, and is centred on zero for values of both signs. Of
vectors and matrices their norm is drawn.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files import h5md, trajectory
from ..scene import units
from . import mesh_artists, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawable(run: Path, names: Iterable[str]) -> list[str]:
    """The series over grids with two axes."""
    plane = {grid for grid, raster in trajectory.grids(run).items() if len(raster.shape) == 2}
    return [name for name in names if h5md.grid_of(name) in plane]


def draw(figure: "Figure", run: Path, name: str) -> None:
    """Draw the last frame (rows, columns) of a series over a grid."""
    raster = trajectory.grids(run)[h5md.grid_of(name)]
    first, last = next(trajectory.pieces(run, name)), trajectory.last(run, name)
    value, label = last.value[0].astype(float), h5md.label(name).replace("_", " ")
    if value.ndim > 2:
        value, label = np.linalg.norm(value.reshape(*value.shape[:2], -1), axis=2), f"|{label}|"
    scale = mesh_artists.colours(value, "maps")
    (bottom, top), (left, right) = raster.edges
    axes = style.panel(figure, right - left, top - bottom, bar=True)
    axes.imshow(
        value, origin="lower", extent=(left, right, bottom, top), cmap=scale.cmap, norm=scale.norm, zorder=0
    )
    length = raster.unit[0] if raster.unit else ""
    axes.set(xlabel=units.with_unit("x", length), ylabel=units.with_unit("y", length))
    unit, clock = trajectory.symbols(run, name)
    passes = first.time[0] != last.time[0] or first.step[0] == last.step[0]
    axes.set_title(style.moment(int(last.step[0]), float(last.time[0]), clock, passes), loc="left")
    mesh_artists.draw_bar(figure, scale, units.with_unit(label, unit))
