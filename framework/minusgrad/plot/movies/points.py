"""Moving points: dots on paper, or, of a crowd, light on black; coloured by bodies, speed or a field."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md
from .. import clouds, mesh_artists, readings
from ..bodies.light import Light
from ..shapes import surfaces
from ..surroundings.saved import surroundings
from ..surroundings.scenery import DrawnSurroundings
from .reel import ReelFrame
from .stage import stage
from .subject import ColourSample, Extent, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 720
"""Of a picture of light, in pixels."""


class MoviePoints:
    """The nodes of a run, or those of some bodies, seen along z or in a view.

    bodies: ranges of nodes by name; the others are drawn if `every` is True. colour: a series with a number
    for each node, that of velocities, whose norm is taken, or "" for a colour of each body. view: (3, 3).
    """

    def __init__(
        self,
        run: Path,
        bodies: clouds.Bodies,
        colour: str = "",
        view: np.ndarray | None = None,
        every: bool = True,
    ):
        self.run, self.colour, self.view = run, colour, view
        self.series = (h5md.POSITION, *((colour,) if colour else ()))
        self.stem = "points" if every else "_".join(name.replace("/", "_") for name in bodies)
        nodes = next(readings.pieces(run, h5md.POSITION)).value.shape[1]
        self.look = clouds.look(nodes, bodies, every)
        self._sample, self._extent = ColourSample(), Extent()
        around, x = surroundings(run), next(readings.pieces(run, h5md.POSITION)).value
        if view is None and x.shape[2] == 3 and around.box is not None:
            self.view = surfaces.sensible_view(around.box.edges[0])
        self.scenery = DrawnSurroundings(around, np.eye(x.shape[2]) if self.view is None else self.view)

    def survey(self, frame: ReelFrame) -> None:
        x = self._projected(frame)
        self._extent.add(np.transpose(clouds.limits(x[:: 1 + len(x) // clouds.SAMPLED])))
        if self.colour:
            self._sample.add(self._values(frame))

    def prepare(self, figure: "Figure") -> None:
        self.low, self.high = self.scenery.widened(*self._extent.widened(0.0))
        kind: mesh_artists.Kind = "lights" if self.look.is_crowd else "lines"
        self.scale = self._sample.scale(kind) if self.colour else None
        self._rgb = self.look.rgb
        self._axes = self._black(figure) if self.look.is_crowd else self._paper(figure)

    def show(self, frame: ReelFrame, when: str) -> None:
        x = self._projected(frame)
        rgb = self.scale(self._values(frame)) if self.scale else self._rgb
        if self.look.is_crowd:
            self._glow.show(x, rgb)
            self._time.set_text(when)
        else:
            self.scenery.redraw(self._axes, frame.values[0].astype(float), frame.step)
            self._dots.set_offsets(x)
            self._dots.set_facecolors(rgb)
            self._axes.set_title(when, loc="left")

    def _projected(self, frame: ReelFrame) -> np.ndarray:
        x = frame.values[0][self.look.shown].astype(float)
        return x[:, :2] if self.view is None else (x @ self.view.T)[:, :2]

    def _values(self, frame: ReelFrame) -> np.ndarray:
        return numbers(frame.values[1][self.look.shown])

    def _paper(self, figure: "Figure") -> "Axes":
        axes = stage(figure, self.run, self.low, self.high, self.view, bar=bool(self.scale))
        count = len(self.look.owner)
        size, opaque = float(np.clip(3e4 / count, 1.0, 24.0)), float(np.clip(60 / np.sqrt(count), 0.4, 0.9))
        nowhere = np.full((count, 2), np.nan)
        self._dots: Any = axes.scatter(nowhere[:, 0], nowhere[:, 1], s=size, alpha=opaque, linewidths=0)
        if self.scale:
            mesh_artists.draw_bar(figure, [axes], self.scale, clouds.series_label(self.run, self.colour))
        elif self.look.names:
            self.look.draw_legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return axes

    def _black(self, figure: "Figure") -> "Axes":
        light = Light(self.low, self.high, WIDTH)
        rows, columns = light.shape
        figure.set_layout_engine("none")
        figure.set_size_inches(columns / figure.dpi, rows / figure.dpi)
        figure.set_facecolor("black")
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self._glow = clouds.Glow(axes, light)
        self._time: Any = axes.text(0.02, 0.975, "", transform=axes.transAxes, color="white", va="top")
        mesh_artists.draw_length(axes, readings.symbols(self.run, h5md.POSITION)[0], "white")
        if self.scale:
            least, most = self.scale.norm.vmin, self.scale.norm.vmax
            above = "and more " * (self.scale.beyond != "neither")
            text = f"{clouds.series_label(self.run, self.colour)}: {least:.3g} blue, {most:.3g} {above}red"
            axes.text(0.02, 0.025, text, transform=axes.transAxes, color="white", fontsize=8)
        elif self.look.names:
            self.look.draw_legend(axes, loc="lower left", labelcolor="white")
        return axes
