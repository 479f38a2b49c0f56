"""Plot of many moving points: a panel for each of a few times, and a colour for each body."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import h5md, trajectory
from ..files.node_ranges import nodes
from . import style
from .moments import Moment, moments
from .style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bodies = Mapping[str, Sequence[Sequence[int]]]  # ranges of node numbers by name
STRAYS = 1.3  # strays that widen the view by a smaller factor are shown
WIDE = 1.8  # panels that are wider than this times their height stand in one column


def draw(figure: "Figure", run: Path, bodies: Bodies) -> None:
    """Draw the first and the last frame, viewed along z; with bodies, two frames between them as well.

    All panels have the same limits. Where a few points fly far away, as from a cluster of stars, the farthest
    two in a hundred are left out.
    """
    frames = [
        frame._replace(value=frame.value[:, :2])
        for frame in moments(run, h5md.POSITION, between=2 if bodies else 0)
    ]
    (left, right), (bottom, top) = edges = limits(np.concatenate([frame.value for frame in frames]))
    panels = _panels(figure, len(frames), (right - left) / (top - bottom))
    clock, passes = trajectory.symbols(run, h5md.POSITION)[1], frames[0].time != frames[-1].time
    for axes, frame in zip(panels, frames, strict=False):
        _draw_points(axes, frame, bodies)
        axes.set(xlim=edges[0], ylim=edges[1])
        axes.set_title(style.moment(frame.step, frame.time, clock, passes))
    if len(bodies) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), markerscale=3)


def _draw_points(axes: "Axes", frame: Moment, bodies: Bodies) -> None:
    """Points of no body in the first colour, below those of bodies."""
    x = frame.value
    size = float(np.clip(2e4 / len(x), 0.3, 6))
    alpha = float(np.clip(30 / np.sqrt(len(x)), 0.08, 0.6))
    owned = {name: nodes(ranges) for name, ranges in bodies.items()}
    rest = np.ones(len(x), bool)
    rest[nodes([r for ranges in bodies.values() for r in ranges])] = False
    pen: dict[str, Any] = {"s": size, "alpha": alpha, "linewidths": 0}
    axes.scatter(*x[rest].T, color=COLOURS[0], **pen)
    for number, (name, listed) in enumerate(owned.items(), start=1):
        colour = COLOURS[number % len(COLOURS)]
        axes.scatter(*x[listed].T, color=colour, label=name.replace("_", " "), **pen)


def limits(points: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    """The limits in x and y of all points (n, 2), or of a square without strays."""
    low, high = points.min(axis=0), points.max(axis=0)
    centre = np.median(points, axis=0)
    reach = 1.1 * np.percentile(np.abs(points - centre).max(axis=1), 98)
    if np.max(high - low) > STRAYS * 2 * reach:
        low, high = centre - reach, centre + reach
    else:
        edge = 0.05 * max(np.max(high - low), np.finfo(float).tiny)
        low, high = low - edge, high + edge
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def _panels(figure: "Figure", count: int, ratio: float) -> list["Axes"]:
    """So many panels of this width over height."""
    columns = 1 if ratio > WIDE else 2
    rows = -(-count // columns)
    width, wide = (6.4, 6.4) if columns == 1 else (4.6, 9.2)
    figure.set_size_inches(wide, rows * float(np.clip(width / ratio, 1.2, 6.0)) + 0.6)
    return list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
