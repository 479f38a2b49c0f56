"""A few moving points, with the paths that they have just taken and their names."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md
from .. import readings, style
from ..surroundings.scenery import DrawnSurroundings
from .reel import ReelFrame
from .stage import stage
from .subject import Extent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAIL = 0.25
"""The part of a run for which a path is drawn behind its point."""


class MoviePaths:
    """All nodes of a run, of which there are few, seen along z or in a view (3, 3)."""

    stem = "orbits"
    series = (h5md.POSITION,)

    def __init__(self, run: Path, names: Sequence[str], view: np.ndarray | None = None):
        self.run, self.names, self.view = run, names, view
        whole = readings.series(run, h5md.POSITION)
        self.steps, self.x = whole.step, self._projected(whole.value)
        self.scenery = DrawnSurroundings(run, np.eye(whole.value.shape[2]) if view is None else view)

    def survey(self, frame: ReelFrame) -> None:
        """Nothing: the paths are known."""

    def prepare(self, figure: "Figure") -> None:
        extent = Extent()
        extent.add(self.x.reshape(-1, 2))
        low, high = self.scenery.widened(*extent.widened(0.06))
        self._axes = axes = stage(figure, self.run, low, high, self.view)
        self._drawn: list[tuple[Any, Any, Any]] = []
        pens = style.node_pens(self.x.shape[1])
        for node in range(self.x.shape[1]):
            colour, marker = pens[node].values()
            (trail,) = axes.plot([], [], color=colour, alpha=0.6, linewidth=1.0)
            (dot,) = axes.plot([], [], marker, color=colour, markersize=5, zorder=3)
            name = self.names[node] if node < len(self.names) else ""
            pen: dict[str, Any] = {"xytext": (5, 4), "textcoords": "offset points", "fontsize": 8}
            self._drawn.append((trail, dot, axes.annotate(name, (0.0, 0.0), color=colour, **pen)))

    def show(self, frame: ReelFrame, when: str) -> None:
        first, last = self.steps[0], self.steps[-1]
        until = int(np.searchsorted(self.steps, frame.step, "right"))
        since = int(np.searchsorted(self.steps, frame.step - TRAIL * (last - first)))
        for node, (trail, dot, name) in enumerate(self._drawn):
            path = self.x[since:until, node]
            trail.set_data(*path.T)
            dot.set_data(*path[-1:].T)
            name.xy = path[-1]
        self.scenery.redraw(self._axes, frame.values[0].astype(float), frame.step)
        self._axes.set_title(when, loc="left")

    def _projected(self, x: np.ndarray) -> np.ndarray:
        return (x if self.view is None else x @ self.view.T)[..., :2].astype(float)
