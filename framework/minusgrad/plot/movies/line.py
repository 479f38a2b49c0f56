"""Positions on a line as they change: x over the number of the node."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import h5md
from ...scene import units
from .. import readings, style
from ..curves.line import draw_nodes
from .reel import ReelFrame
from .subject import Extent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Line:
    """All nodes of a run whose positions are numbers, or vectors of one component."""

    stem = "line"
    series = (h5md.POSITION,)

    def __init__(self, run: Path):
        self.run, self._extent = run, Extent()

    def survey(self, frame: ReelFrame) -> None:
        self._extent.add(frame.values[0].reshape(-1, 1).astype(float))

    def prepare(self, figure: "Figure") -> None:
        figure.set_size_inches(6.4, 3.6)
        self._axes = axes = figure.subplots()
        (low,), (high,) = self._extent.widened(0.06)
        nodes = next(readings.pieces(self.run, h5md.POSITION)).value.shape[1]
        (self._drawn,) = draw_nodes(axes, np.zeros(nodes), style.COLOURS[0])
        unit = readings.symbols(self.run, h5md.POSITION)[0]
        axes.set(xlabel="node", ylabel=units.with_unit("x", unit), ylim=(low, high))

    def show(self, frame: ReelFrame, when: str) -> None:
        self._drawn.set_ydata(frame.values[0].reshape(-1).astype(float))
        self._axes.set_title(when, loc="left")
