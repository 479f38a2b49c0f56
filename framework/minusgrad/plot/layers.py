"""Plot of a field over a grid with three axes: its middle layers across each axis, at the last recorded step.

Layers of an even number of cells lie just above the middle. Of vectors and matrices the norm is drawn.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..files import h5md, trajectory
from ..files.h5md import Raster
from ..scene import units
from . import mesh_artists, readings, style
from .grids import advances, scalar
from .moments import moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = "zyx"
"""The coordinates along the axes of a grid."""


def drawable(run: Path, names: Iterable[str]) -> list[str]:
    """The series over grids with three axes."""
    solid = {grid for grid, raster in trajectory.grids(run).items() if len(raster.shape) == len(AXES)}
    return [name for name in names if h5md.grid_of(name) in solid]


class GridLayer(NamedTuple):
    """The middle layer of a grid across one of three axes; or, with axis None, a plane grid as it is."""

    raster: Raster
    axis: int | None

    def of(self, values: np.ndarray) -> np.ndarray:
        """The layer (rows, columns) of a field over the grid."""
        return values if self.axis is None else np.take(values, self.raster.shape[self.axis] // 2, self.axis)

    @property
    def _within(self) -> list[int]:
        return [k for k in range(len(self.raster.shape)) if k != self.axis]

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Its left, right, lower and upper edge."""
        (bottom, top), (left, right) = (self.raster.edges[k] for k in self._within)
        return left, right, bottom, top

    @property
    def letters(self) -> tuple[str, str]:
        """The coordinates to the right and upwards."""
        up, right = (AXES[k - len(self.raster.shape)] for k in self._within)
        return right, up

    def place(self, length: str) -> str:
        """`, z = 3 mm`; nothing for a plane grid."""
        if self.axis is None:
            return ""
        along = self.raster.shape[self.axis] // 2 * self.raster.spacing
        return f", {AXES[self.axis]} = {units.number_with_unit(along, length)}"


def cuts(raster: Raster) -> list[GridLayer]:
    """The drawn layers of a grid: one across each axis in space, the whole of a plane grid."""
    across: Iterable[int | None] = range(len(AXES)) if len(raster.shape) == len(AXES) else [None]
    return [GridLayer(raster, axis) for axis in across]


def panels(figure: "Figure", drawn: Sequence[GridLayer], length: str) -> "list[Axes]":
    """Axes for layers beside each other, with their coordinates in this unit."""
    if len(drawn) == 1:
        left, right, bottom, top = drawn[0].extent
        found = [style.panel(figure, right - left, top - bottom, bar=True)]
    else:
        figure.set_layout_engine("compressed")
        figure.set_size_inches(10.0, 4.2)
        found = list(figure.subplots(1, len(drawn)))
    for axes, cut in zip(found, drawn, strict=True):
        across, up = cut.letters
        axes.set(xlabel=units.with_unit(across, length), ylabel=units.with_unit(up, length))
    return found


def draw(figure: "Figure", run: Path, name: str, until: int | None = None) -> None:
    """Draw the middle layers of the last frame (z, y, x) of a series beside each other."""
    raster = trajectory.grids(run)[h5md.grid_of(name)]
    frame = moments(run, name, between=0, until=until)[-1]
    values, label = scalar(frame.value, raster), h5md.label(name).replace("_", " ")
    drawn = cuts(raster)
    shown = [cut.of(values) for cut in drawn]
    scale = mesh_artists.colours(np.concatenate([layer.ravel() for layer in shown]), "maps")
    length = raster.unit[0] if raster.unit else ""
    unit, clock = readings.symbols(run, name)
    when = style.moment(frame.step, frame.time, clock, advances(run, name))
    axes_of = panels(figure, drawn, length)
    for axes, cut, layer in zip(axes_of, drawn, shown, strict=True):
        axes.imshow(layer, origin="lower", extent=cut.extent, cmap=scale.cmap, norm=scale.norm, zorder=0)
        axes.set_title(when + cut.place(length), loc="left")
    label = label if values is frame.value else f"|{label}|"
    mesh_artists.draw_bar(figure, axes_of, scale, units.with_unit(label, unit))
