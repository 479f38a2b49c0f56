"""A run as drawings on a page: which there are, by the rules of movies; and how they look in each frame.

Decisions 0395.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UserError, unknown
from ..files import h5md, trajectory
from ..files.frames import series_names
from ..plot import clouds, grids, layers, mesh_artists, meshes, pictures, style
from ..plot.bodies import orbits
from ..plot.curves import profiles
from ..plot.movies import subjects
from ..plot.movies.subject import ColourSample, Extent, numbers
from ..plot.solids.solid_artists import DrawnSolids
from ..plot.surroundings.scenery import DrawnSurroundings as Surrounded
from ..plot.views import dimension
from . import drawings, legend
from .around import Around
from .drawings import Cells, Dots, DrawnPaths, Lines, Names, dot_size
from .frames import RunFrames
from .live_rows import LiveRows
from .maps import Images, Profile, Surface, corners
from .solids import Solids
from .space import Space

if TYPE_CHECKING:
    from viser import SceneApi

OWN = "none"
"""The choice of no field: everything has its own colour."""
MOST_BODIES = 40
"""So many bodies have dots of their own, which can be hidden."""


class Scenery:
    """What a page shows of a run, with a field that colours bodies and one over a grid.

    field: as for movies, "" for the usual one. bodies: names of those that are shown alone. every: which of
    the recorded frames. live: rows of a run in this process. Raises `UserError` if nothing can be shown, or
    for names that do not exist.
    """

    def __init__(
        self,
        run: Path,
        field: str = "",
        bodies: Sequence[str] = (),
        every: int | None = None,
        live: LiveRows | None = None,
    ):
        self.run, self.meta = run, pictures.meta(run)
        names = trajectory.names(run)
        if not names:
            raise UserError(f"{run}: no frame is recorded yet; come back after the first save of the run")
        over_grids = [name for kind in (grids, layers, profiles) for name in kind.drawable(run, names)]
        over_grids += [h5md.POSITION] if dimension(run, names) == 1 else []
        self.maps: dict[str, str] = {}
        for name in subjects.ordered_by_motion(self.meta, over_grids):
            self.maps.setdefault(h5md.label(name), name)
        self.moves = _has_motion(run, names)
        self._lists = meshes.drawable(run) if self.moves and not bodies else {}
        self.colourings = subjects.colourings(run, names, self._lists) if self.moves else {}
        if not self.moves and not self.maps:
            raise UserError(
                f"{run}: nothing to show, because no frames were recorded; record them with [[observe]]"
                ' kind = "frames"'
            )
        field = series_names.label_of(run, field, names) if field not in ("", OWN) else field
        if field not in {"", OWN, *self.colourings, *self.maps}:
            raise UserError(f"{run}: {unknown('field to show', field, [OWN, *self.colourings, *self.maps])}")
        self._bodies = clouds.chosen(run, self.meta.get("bodies") or {}, bodies)
        self._only = bool(bodies)
        self.maps = {
            name: series
            for name, series in self.maps.items()
            if self._fits_dimension(self._series_raster(series))
        }
        clock = h5md.POSITION if self.moves else next(iter(self.maps.values()))
        self.frames = RunFrames(run, clock, every, live)
        if self.moves:
            self._nodes = self.frames.values(h5md.POSITION)[0].shape[0]
        self._few = self.moves and self._nodes <= orbits.FEW and not self._lists and not bodies
        by_body = len(self._bodies) > 1 or self._few
        scalars = meshes.node_colourings(run, names, self._lists) if self._lists else {}
        usual = subjects.usual(self.colourings, self._lists, by_body, scalars)
        self.field = field if field in self.colourings or field == OWN else usual or OWN
        self.map = field if field in self.maps else next(iter(self.maps), "")
        self.high, self.every_point = False, 1
        self._roams = live is not None  # where to is not known yet
        self._around = Around(run)
        self.space = Space(*self._scene_box())
        self._drawn: dict[str, Any] = {}
        self._scales: dict[str, mesh_artists.Colours] = {}
        self.longest = max(map(abs, self.frames.times))

    @property
    def title(self) -> str:
        """Of the scene."""
        return str(self.meta.get("title") or self.run.name)

    @property
    def has_points(self) -> bool:
        """True if there are many dots, of which some may be left out."""
        return self.moves and not self._lists and not self._few

    @property
    def has_surface(self) -> bool:
        """True if a field over a plane grid is recorded."""
        return any(len(self._series_raster(series).shape) == 2 for series in self.maps.values())

    @property
    def is_crowd(self) -> bool:
        """True for so many points that they are light on black."""
        return self.moves and not self._lists and self._nodes > clouds.CROWD

    @property
    def view(self) -> np.ndarray:
        """The usual view (3, 3)."""
        if self.moves:
            return self.space.view(self.frames.values(h5md.POSITION)[0].astype(float))
        low, high = corners(self._series_raster(self.frames.clock))
        return self.space.view(np.stack([low, high]))

    @property
    def drawings(self) -> dict[str, Any]:
        """The drawings of bodies by the names that a page gives them; each has its `node` there."""
        return self._drawn

    @property
    def switches(self) -> dict[str, Any]:
        """The nodes of a page that can be hidden, by name: of bodies, then of their surroundings."""
        return {name: drawing.node for name, drawing in self._drawn.items()} | self._around.parts

    def put(self, scene: "SceneApi") -> None:
        """Put all drawings on a page; of many dots every `every_point`-th."""
        self._drawn.clear()
        scene.set_up_direction("+y" if self.space.is_flat else "+z")
        if self.moves:
            self._put_bodies(scene)
            self._around.put(scene, self.space)
        self._images: dict[str, Images | Profile] = {}
        self._surfaces: dict[str, Surface] = {}
        for series in self.maps.values():
            name, raster = h5md.grid_of(series), self._series_raster(series)
            if name not in self._images:
                kind = Profile if len(raster.shape) == 1 else Images
                self._images[name] = kind(scene, f"/grids/{name or 'nodes'}", raster, self.space)
                if len(raster.shape) == 2:
                    self._surfaces[name] = Surface(scene, f"/surfaces/{name}", raster, self.space)

    def show(self, number: int) -> None:
        """Draw a frame."""
        if self.moves:
            x = self.space(self.frames.values(h5md.POSITION)[number])
            self._around.show(x, self.frames.steps[number])
            series = self.colourings.get(self.field, {})
            scale = self.scale(self.field) if series else None
            for name, drawing in self._drawn.items():
                if isinstance(drawing, Lines):
                    drawing.whole = self._lines_within_box(name, number)
                values = self._of_drawing(name, series, number)
                if isinstance(drawing, Solids) and name in self._solids.series:
                    drawing.turned = self._turned(name, number)
                drawing.show(x, values, scale)
        shown = self.maps.get(self.map, "")
        for name, image in self._images.items():
            has = bool(shown) and h5md.grid_of(shown) == name
            high = self.high and name in self._surfaces
            image.node.visible = has and not high
            if name in self._surfaces:
                self._surfaces[name].node.visible = has and high
            if has:
                values = self._over_grid(shown, self.frames.values(shown)[number])
                (self._surfaces[name] if high else image).show(values, self.scale(self.map))

    def scale(self, field: str) -> mesh_artists.Colours:
        """The colours of a field in all frames."""
        if field not in self._scales:
            sample = ColourSample()
            if field in self.maps:
                for row in self.frames.values(self.maps[field]):
                    sample.add(self._over_grid(self.maps[field], row))
                self._scales[field] = mesh_artists.colours(sample.values, "maps")
            else:
                series = self.colourings[field]
                for number in range(len(self.frames)):
                    for tuples, name in series.items():
                        sample.add(self._tuple_values(name, tuples, number))
                self._scales[field] = sample.scale(self._drawing_kind(series))
        return self._scales[field]

    def legend(self) -> str:
        """HTML of what the colours mean."""
        text = ""
        if series := self.colourings.get(self.field):
            text += legend.legend(
                self.scale(self.field), clouds.series_label(self.run, next(iter(series.values())))
            )
        elif self.has_points and len(self._bodies) > 1:
            look = clouds.look(self._nodes, self._bodies, every=not self._only)
            pens = {name: look.palette[(k + 1) % len(look.palette)] for k, name in enumerate(look.names)}
            text += legend.names(pens)
        if self.map:
            text += legend.legend(self.scale(self.map), clouds.series_label(self.run, self.maps[self.map]))
        return text

    def time_label(self, number: int) -> str:
        """The label of a frame's time."""
        times = self.frames.times
        clock = trajectory.symbols(self.run, self.frames.clock)[1]
        passes = times[0] != times[-1] or len(times) == 1
        return style.rounded_moment(self.frames.steps[number], times[number], self.longest, clock, passes)

    def refresh(self) -> int:
        """Take in the frames that were recorded since; returns how many."""
        new = self.frames.refresh()
        if new:
            self._scales.clear()
            self.longest = max(map(abs, self.frames.times))
            if isinstance(paths := self._drawn.get("paths"), DrawnPaths):
                paths.lay(self.space(np.stack(self.frames.values(h5md.POSITION))))
        return new

    def _put_bodies(self, scene: "SceneApi") -> None:
        first = self.frames.values(h5md.POSITION)[0]
        inside = np.zeros(self._nodes, bool)
        axes = np.eye(2) if self.space.is_flat else self.view
        self._solids = DrawnSolids(self.run, self._lists, axes)
        for name, part in meshes.parts(first, self._lists, axes).items() if self._lists else ():
            if name in self._solids.looks:
                alone = self._solids.of_list(name, self.space.scale)
                self._drawn[name] = Solids(scene, f"/bodies/{name}", alone, name)
                inside[self._lists[name]] = True
                continue
            kind: Any = Cells if part.is_filled else Lines
            self._drawn[name] = kind(scene, f"/bodies/{name}", part if part.is_filled else part.shown)
            if not part.is_filled and self._around.what.box is not None:
                self._drawn[name].stand_back()
            inside[self._lists[name]] = True
        look = clouds.look(self._nodes, self._bodies, every=not self._only)
        rgb = np.zeros((self._nodes, 3))
        rgb[look.shown] = look.rgb
        if self._few:
            pens = [style.COLOURS[node % len(style.COLOURS)] for node in range(self._nodes)]
            rgb = np.array([drawings.rgb(pen) for pen in pens])
            x = self.space(np.stack(self.frames.values(h5md.POSITION)))
            self._drawn["paths"] = DrawnPaths(scene, "/paths", x, rgb)
            if names := (self.meta.get("names") or [])[: self._nodes]:
                self._drawn["names"] = Names(scene, "/names", names)
        atoms = self._around.what.box is not None and all(t.shape[1] == 2 for t in self._lists.values())
        if self._lists and atoms:  # balls and sticks
            inside[:] = False
        free = np.flatnonzero(~inside) if self._lists else np.flatnonzero(look.shown)
        owner = np.full(self._nodes, -1)
        owner[look.shown] = look.owner
        groups: Mapping[str, np.ndarray] = {"nodes": free}
        if not self._lists and 1 < len(look.names) <= MOST_BODIES:
            groups = {"others": free[owner[free] < 0]}
            groups |= {name: free[owner[free] == k] for k, name in enumerate(look.names)}
        if self._lists:
            rgb[:] = drawings.rgb(style.COLOURS[0] if atoms else style.INK)
        size = dot_size(self.space, len(free) // self.every_point, self.is_crowd)
        for name, nodes in groups.items():
            nodes = nodes[:: self.every_point]
            if len(nodes):
                self._drawn[name] = Dots(scene, f"/points/{name}", nodes, rgb[nodes], size)

    def _turned(self, name: str, number: int) -> np.ndarray | None:
        """The frames (E, 4) of the tubes of a list in a frame."""
        series = self._solids.series[name]
        return self._solids.frames_at({one: self.frames.values(one)[number] for one in (series,)}).get(name)

    def _tuple_values(self, name: str, tuples: str, number: int) -> np.ndarray:
        """The numbers (E,) of the tuples of a list in a frame, or (N,) of all nodes."""
        values = numbers(self.frames.values(name)[number])
        return meshes.of_tuples(name, values, self._lists[tuples]) if tuples in self._lists else values

    def _of_drawing(self, name: str, series: Mapping[str, str], number: int) -> np.ndarray | None:
        """The values that colour a drawing in a frame: of the tuples of its list, or of all nodes."""
        if name in self._lists:
            return self._tuple_values(series[name], name, number) if name in series else None
        own = next((one for one in series.values() if not h5md.list_of(one)), None)
        return None if own is None else self._tuple_values(own, "", number)

    def _lines_within_box(self, name: str, number: int) -> np.ndarray:
        """Mask (E,) of lines that do not go through the box from one face to the other."""
        x, pairs = self.frames.values(h5md.POSITION)[number], self._lists[name]
        return Surrounded(self._around.what, self.view).shortened(
            x.astype(float), pairs, self.frames.steps[number]
        )

    def _drawing_kind(self, series: Mapping[str, str]) -> mesh_artists.Kind:
        if any(self._lists[name].shape[1] > 2 for name in series if name in self._lists):
            return "cells"
        return "lights" if self.is_crowd else "lines"

    def _over_grid(self, name: str, row: np.ndarray) -> np.ndarray:
        """The numbers (*shape) of a row of a series over a grid or a line."""
        raster = self._series_raster(name)
        return grids.scalar(row, raster) if len(raster.shape) > 1 else profiles.values(name, row[None])[0]

    def _series_raster(self, name: str) -> h5md.Raster:
        return profiles.raster(self.run, name)

    def _scene_box(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of all that is shown in any frame."""
        extent = Extent()
        if self.moves:
            for x in self.frames.values(h5md.POSITION):
                many = not self._lists and len(x) > orbits.FEW
                extent.add(
                    np.stack(clouds.box(x[:: 1 + len(x) // clouds.SAMPLED])) if many else x.astype(float)
                )
        if self.moves:
            extent.add(self._around.corners(extent.low, extent.high))
            if self._roams:
                room = float(np.max(extent.high - extent.low)) / 2
                extent.add(np.stack([extent.low - room, extent.high + room]))
        for raster in dict.fromkeys(map(self._series_raster, self.maps.values())):
            extent.add(np.stack(corners(raster)))
        return extent.low, extent.high

    def _fits_dimension(self, raster: h5md.Raster) -> bool:
        """True for a grid of the dimension of the positions, or where nothing moves, of the first grid."""
        if self.moves:
            axes = dimension(self.run, [h5md.POSITION])
        else:
            axes = len(self._series_raster(next(iter(self.maps.values()))).shape)
        return len(raster.shape) == axes


def _has_motion(run: Path, names: Sequence[str]) -> bool:
    """True if positions in a plane or in space are recorded."""
    return dimension(run, names) in (2, 3)
