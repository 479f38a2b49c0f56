"""Bodies and networks that move: cells and lines, coloured by values of their tuples or nodes."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import h5md
from .. import clouds, mesh_artists, meshes, readings
from ..shapes import surfaces
from ..solids.solid_artists import DrawnSolids
from ..surroundings.scenery import DrawnSurroundings
from .reel import ReelFrame
from .stage import stage
from .subject import ColourSample, Extent, numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Network:
    """Lists of cells and lines of a run; `coloured` has a series by the name of its list, or is empty.

    view (3, 3): that of bodies in space (default: a sensible one for the first frame).
    """

    def __init__(
        self,
        run: Path,
        lists: Mapping[str, np.ndarray],
        coloured: Mapping[str, str],
        view: np.ndarray | None = None,
    ):
        self.run, self.lists, self.coloured = run, lists, coloured
        x = next(readings.pieces(run, h5md.POSITION)).value[0].astype(float)
        usual = np.eye(2) if x.shape[1] == 2 else surfaces.sensible_view(x)
        self.view = usual if view is None else view
        self._solids = DrawnSolids(run, lists, self.view)
        every = meshes.parts(x, lists, self.view)
        self._cells = {n: p for n, p in every.items() if p.is_filled and n not in self._solids.looks}
        self._cells = self._cells if self._solids else {}
        own_image = {*self._solids.looks, *self._cells}
        self._parts = {n: p for n, p in every.items() if n not in own_image}
        self._filled = {n for n, p in every.items() if p.is_filled}
        self._free = np.setdiff1d(np.arange(len(x)), np.concatenate([t.ravel() for t in lists.values()]))
        self.stem = "mesh" + "".join({f"_{h5md.label(name).replace('/', '_')}" for name in coloured.values()})
        own = list(dict.fromkeys(coloured.values()))
        turned = [name for name in dict.fromkeys(self._solids.series.values()) if name not in own]
        self.series = (h5md.POSITION, *own, *turned)
        self._place = {tuples: 1 + own.index(name) for tuples, name in coloured.items()}
        self._extent, self._sample = Extent(), ColourSample()

    def survey(self, frame: ReelFrame) -> None:
        seen = (frame.values[0].astype(float) @ self.view.T)[:, :2]
        self._extent.add(np.concatenate([seen - self._solids.reach, seen + self._solids.reach]))
        for values in self._values(frame).values():
            self._sample.add(values)

    def prepare(self, figure: "Figure") -> None:
        self.scenery = DrawnSurroundings(self.run, self.view)
        low, high = self.scenery.widened(*self._extent.widened(0.04))
        filled = any(name in self._filled for name in self.coloured)
        kind: mesh_artists.Kind = "cells" if filled else "lines"
        self.scale = self._sample.scale(kind) if self.coloured else None
        self._axes = axes = stage(figure, self.run, low, high, self.view, bar=bool(self.scale))
        if self.scale:
            mesh_artists.draw_bar(figure, [axes], self.scale, clouds.series_label(self.run, self.series[1]))
        self._still = set(axes.get_children())

    def show(self, frame: ReelFrame, when: str) -> None:
        for artist in set(self._axes.get_children()) - self._still:
            artist.remove()
        seen = frame.values[0].astype(float) @ self.view.T
        rgb = {name: self.scale(values) for name, values in self._values(frame).items()} if self.scale else {}
        mesh_artists.draw_cells(self._axes, seen, self._parts, rgb)
        x = frame.values[0]
        whole = {n: self.scenery.shortened(x, tuples, frame.step) for n, tuples in self.lists.items()}
        if self._solids:
            turned = self._solids.frames_at(dict(zip(self.series, frame.values, strict=True)))
            around = self.scenery.around
            thicker = self._solids.draw(self._axes, x.astype(float), turned, rgb, around, self._cells, whole)
            when += meshes.thickness_label(thicker)
        mesh_artists.draw_lines(self._axes, seen, self._parts, rgb, whole)
        mesh_artists.draw_free(self._axes, seen[self._free])
        mesh_artists.draw_joints(self._axes, seen, self._parts)
        self.scenery.draw(self._axes, x.astype(float), frame.step, among=bool(self._solids))
        self._axes.set_title(when, loc="left")

    def _values(self, frame: ReelFrame) -> dict[str, np.ndarray]:
        """The values (E,) by list; those of nodes are means over each tuple."""
        return {
            tuples: meshes.of_tuples(self.coloured[tuples], numbers(frame.values[place]), self.lists[tuples])
            for tuples, place in self._place.items()
        }
