"""Positions on a line: of all nodes in the last frame, and of a few over time."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md
from ...scene import units
from .. import readings, style
from ..moments import moments
from .energies import along, stands
from .swings import draw_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FEW = 10
"""So many nodes have curves over time, evenly spread over the numbers of the nodes."""


def draw(figure: "Figure", run: Path, until: int | None = None) -> None:
    """Draw x over the number of the node, last frame full and first pale; and x of a few nodes over time.

    Of one node x over time alone. until: the step of the last frame. Raises `UserError` if the first frame is
    after it.
    """
    frames = moments(run, h5md.POSITION, 0, until)
    seen = readings.series(run, h5md.POSITION)
    kept = seen.step <= frames[-1].step
    x = seen.value.reshape(len(seen.value), -1)[kept].astype(float)
    unit, clock = readings.symbols(run, h5md.POSITION)
    passes = frames[0].time != frames[-1].time or len(frames) == 1
    moved = len(x) > 1
    alone = moved and x.shape[1] == 1
    figure.set_size_inches(6.4, 5.6 if moved and not alone else 3.0)
    panels = figure.subplots(1 + (moved and not alone), 1, squeeze=False)[:, 0]
    if moved:
        then = style.moment(frames[0].step, frames[0].time, clock, passes)
        panels[-1].set(
            xlabel="iteration" if stands(seen) else units.with_unit("time", clock),
            ylabel=units.with_unit("x", unit),
        )
        for number, node in enumerate(np.unique(np.linspace(0, x.shape[1] - 1, FEW).round().astype(int))):
            pen = style.line_pen(number)
            draw_line(panels[-1], along(seen)[kept], x[:, node], label=f"node {node}", **pen)
        panels[-1].margins(x=0)
        if alone:
            return
        panels[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
        draw_nodes(panels[0], x[0], style.FAINT)
    draw_nodes(panels[0], x[-1], style.COLOURS[0])
    panels[0].set(xlabel="node", ylabel=units.with_unit("x", unit))
    now = style.moment(frames[-1].step, frames[-1].time, clock, passes)
    panels[0].set_title(f"{now}, pale: {then}" if moved else now, loc="left")


def draw_nodes(axes: "Axes", x: np.ndarray, colour: str, along: np.ndarray | None = None) -> "list[Line2D]":
    """Draw x (N,) over the number of the node; dots where they are few enough to be distinguished.

    along: places (N,) in place of numbers.
    """
    axes.locator_params(axis="x", integer=along is None or bool((along % 1.0 == 0.0).all()))
    dots: dict[str, Any] = {"marker": "o", "markersize": 4} if len(x) <= 100 else {}
    return axes.plot(np.arange(len(x)) if along is None else along, x, color=colour, linewidth=0.8, **dots)
