"""A profile as it changes: positions on a line, fields of nodes without positions, fields along a grid."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import h5md
from .. import style
from ..curves import profiles
from ..curves.line import draw_nodes
from .reel import ReelFrame
from .subject import Extent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Line:
    """A series of a profile (`curves.profiles`): a curve over the nodes, or over the cells of a grid."""

    def __init__(self, run: Path, name: str = h5md.POSITION):
        self.run, self.series, self._extent = run, (name,), Extent()
        self.stem = "line" if name == h5md.POSITION else h5md.label(name).replace("/", "_")

    def survey(self, frame: ReelFrame) -> None:
        self._extent.add(self._numbers(frame)[:, None])

    def _numbers(self, frame: ReelFrame) -> np.ndarray:
        """The numbers (n,) of a frame."""
        return profiles.values(self.series[0], frame.values[0][None])[0]

    def prepare(self, figure: "Figure") -> None:
        figure.set_size_inches(6.4, 3.6)
        self._axes = axes = figure.subplots()
        (low,), (high,) = self._extent.widened(0.06)
        (name,) = self.series
        along = profiles.along(profiles.raster(self.run, name))
        (self._drawn,) = draw_nodes(axes, np.zeros(len(along)), style.COLOURS[0], along)
        labels = {"xlabel": profiles.axis(self.run, name), "ylabel": profiles.text(self.run, name)}
        axes.set(**labels, ylim=(low, high))

    def show(self, frame: ReelFrame, when: str) -> None:
        self._drawn.set_ydata(self._numbers(frame))
        self._axes.set_title(when, loc="left")
