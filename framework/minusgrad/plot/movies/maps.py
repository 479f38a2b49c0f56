"""A field over a grid as it changes: the whole of a plane one, the middle layers of one in space."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md, trajectory
from ...scene import units
from .. import grids, layers, mesh_artists, readings
from .reel import ReelFrame
from .subject import ColourSample

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Map:
    """A series over a grid of two or three axes; of vectors and matrices their norm."""

    def __init__(self, run: Path, name: str):
        self.run, self.series = run, (name,)
        self.raster = trajectory.grids(run)[h5md.grid_of(name)]
        self.length = self.raster.unit[0] if self.raster.unit else ""
        self.stem = h5md.label(name).replace("/", "_")
        self._sample, self._is_scalar = ColourSample(), True
        self._images: list[tuple[Axes, layers.GridLayer, Any]] = []

    def survey(self, frame: ReelFrame) -> None:
        values = grids.scalar(frame.values[0], self.raster)
        self._is_scalar = values is frame.values[0]
        self._sample.add(values)

    def prepare(self, figure: "Figure") -> None:
        scale = mesh_artists.colours(self._sample.values, "maps")
        drawn, blank = layers.cuts(self.raster), np.zeros(self.raster.shape)
        panels = layers.panels(figure, drawn, self.length)
        for axes, cut in zip(panels, drawn, strict=True):
            pen: dict[str, Any] = {"cmap": scale.cmap, "norm": scale.norm, "extent": cut.extent}
            self._images.append((axes, cut, axes.imshow(cut.of(blank), origin="lower", zorder=0, **pen)))
        (name,) = self.series
        label = h5md.label(name).replace("_", " ")
        label = label if self._is_scalar else f"|{label}|"
        text = units.with_unit(label, readings.symbols(self.run, name)[0])
        mesh_artists.draw_bar(figure, panels, scale, text)

    def show(self, frame: ReelFrame, when: str) -> None:
        values = grids.scalar(frame.values[0], self.raster)
        for axes, cut, image in self._images:
            image.set_data(cut.of(values))
            axes.set_title(when + cut.place(self.length), loc="left")
