"""Numbers of one node or one cell as they change: their curves over time, drawn up to the present."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md
from ...scene import units
from .. import readings, style
from ..curves import observables
from ..curves.energies import along, stands
from .reel import ReelFrame
from .subject import Extent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Traces:
    """A series (T, 1, ...) of one place: a curve of each of its numbers, which ends in a dot."""

    def __init__(self, run: Path, name: str):
        self.run, self.series = run, (name,)
        self.stem = "line" if name == h5md.POSITION else h5md.label(name).replace("/", "_")
        self.rows = readings.series(run, name)
        self.lines = observables.components(self.rows.value.astype(float), "", in_space=False)

    def survey(self, frame: ReelFrame) -> None:
        """Nothing: the curves are known."""

    def prepare(self, figure: "Figure") -> None:
        figure.set_size_inches(6.4, 3.6)
        axes = self._axes = figure.subplots()
        (name,), time, extent = self.series, along(self.rows), Extent()
        self._drawn: list[tuple[Any, Any]] = []
        for number, (values, label) in enumerate(self.lines[: observables.LINES]):
            extent.add(np.stack([time, values], axis=1)[np.isfinite(values)])
            pen = style.line_pen(number)
            axes.plot(time, values, linewidth=0.6, alpha=0.25, **pen)
            (curve,) = axes.plot([], [], label=label or "_", **pen)
            (dot,) = axes.plot([], [], "o", color=pen["color"], markersize=5, zorder=3)
            self._drawn.append((curve, dot))
        edge = 0.06 * (extent.high - extent.low)
        edge[edge == 0.0] = 1.0
        (left, low), (right, high) = extent.low - edge, extent.high + edge
        clock = readings.symbols(self.run, name)[1]
        times = "iteration" if stands(self.rows) else units.with_unit("time", clock)
        label = "x" if name == h5md.POSITION else h5md.label(name).replace("_", " ")
        label = units.with_unit(label, readings.symbols(self.run, name)[0])
        axes.set(xlabel=times, ylabel=label, xlim=(left, right), ylim=(low, high))
        if len(self.lines) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)

    def show(self, frame: ReelFrame, when: str) -> None:
        until = int(np.searchsorted(self.rows.step, frame.step, "right"))
        time = along(self.rows)[:until]
        for (curve, dot), (values, _) in zip(self._drawn, self.lines, strict=False):
            curve.set_data(time, values[:until])
            dot.set_data(time[-1:], values[until - 1 : until])
        self._axes.set_title(when, loc="left")
