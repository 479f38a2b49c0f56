"""Plot of a field over a grid with three axes: its middle layers across each axis, at the last recorded step.

Layers of an even number of cells lie just above the middle. Of vectors and matrices the norm is drawn.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files import h5md, trajectory
from ..scene import units
from . import mesh_artists, style
from .grids import advances
from .moments import moments

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = "zyx"
"""The coordinates along the axes of a grid."""


def drawable(run: Path, names: Iterable[str]) -> list[str]:
    """The series over grids with three axes."""
    solid = {grid for grid, raster in trajectory.grids(run).items() if len(raster.shape) == len(AXES)}
    return [name for name in names if h5md.grid_of(name) in solid]


def draw(figure: "Figure", run: Path, name: str) -> None:
    """Draw the middle layers of the last frame (z, y, x) of a series beside each other."""
    raster = trajectory.grids(run)[h5md.grid_of(name)]
    frame = moments(run, name, between=0)[-1]
    values, label = frame.value, h5md.label(name).replace("_", " ")
    if values.ndim > len(AXES):
        values, label = np.linalg.norm(values.reshape(*raster.shape, -1), axis=-1), f"|{label}|"
    layers = [np.take(values, count // 2, axis) for axis, count in enumerate(raster.shape)]
    scale = mesh_artists.colours(np.concatenate([layer.ravel() for layer in layers]), "maps")
    length = raster.unit[0] if raster.unit else ""
    unit, clock = trajectory.symbols(run, name)
    when = style.moment(frame.step, frame.time, clock, advances(run, name))
    figure.set_layout_engine("compressed")
    figure.set_size_inches(10.0, 4.2)
    panels = list(figure.subplots(1, len(AXES)))
    for axis, (axes, layer) in enumerate(zip(panels, layers, strict=True)):
        (bottom, top), (left, right) = (edge for k, edge in enumerate(raster.edges) if k != axis)
        extent = (left, right, bottom, top)
        axes.imshow(layer, origin="lower", extent=extent, cmap=scale.cmap, norm=scale.norm, zorder=0)
        up, across = (letter for k, letter in enumerate(AXES) if k != axis)
        axes.set(xlabel=units.with_unit(across, length), ylabel=units.with_unit(up, length))
        place = units.number_with_unit(raster.shape[axis] // 2 * raster.spacing, length)
        axes.set_title(f"{when}, {AXES[axis]} = {place}", loc="left")
    mesh_artists.draw_bar(figure, panels, scale, units.with_unit(label, unit))
