"""Plot of many moving points: a panel for each of a few times, and a colour for each body.

A crowd is drawn as light on black, in which cores and tails are both seen.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import UserError
from ..files import h5md, node_ranges, trajectory
from . import mesh_artists, style
from .light import Light
from .moments import Moment, moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bodies = Mapping[str, Sequence[Sequence[int]]]  # ranges of node numbers by name
STRAYS = 1.3  # strays that widen the view by a smaller factor are shown
WIDE = 1.8  # panels that are wider than this times their height stand in one column
CROWD = 10_000  # more points are drawn as light
PIXELS = 640  # along the longer side of a picture of light
SAMPLED = 2_000  # points from which the limits of a frame are found


class Look(NamedTuple):
    """The nodes that are drawn, shown (N,), and of each of these n its body, owner (n,): -1 for none."""

    shown: np.ndarray
    owner: np.ndarray
    names: list[str]

    @property
    def is_crowd(self) -> bool:
        return len(self.owner) > CROWD

    @property
    def palette(self) -> list[str]:
        """The colours of points of no body, and of each body."""
        return style.LIGHTS if self.is_crowd else style.COLOURS

    @property
    def rgb(self) -> np.ndarray:
        """The colour (n, 3) of each point."""
        from matplotlib.colors import to_rgb

        return np.array([to_rgb(colour) for colour in self.palette])[(self.owner + 1) % len(self.palette)]

    def draw_legend(self, axes: "Axes", **place: Any) -> None:
        """Draw the bodies' names and colours."""
        from matplotlib.lines import Line2D

        pens = [self.palette[(k + 1) % len(self.palette)] for k in range(len(self.names))]
        dots = [Line2D([], [], color=pen, marker="o", markersize=4, linewidth=0) for pen in pens]
        axes.legend(dots, self.names, handletextpad=0.2, **place)


def look(nodes: int, bodies: Bodies, every: bool = True) -> Look:
    """The look of so many nodes, or only of those in bodies."""
    owner = np.full(nodes, -1)
    for number, ranges in enumerate(bodies.values()):
        owner[node_ranges.nodes(ranges)] = number
    shown = np.ones(nodes, bool) if every else owner >= 0
    return Look(shown, owner[shown], [name.replace("_", " ") for name in bodies])


def chosen(run: Path, bodies: Bodies, names: Sequence[str]) -> Bodies:
    """Of the bodies of a run those of these names, or all. Raises `UserError` for a name of none."""
    if unknown := [name for name in names if name not in bodies]:
        known = ", ".join(bodies) or "none"
        raise UserError(f"{run}: no bodies of this name, got {unknown[0]!r}; there are: {known}")
    return {name: bodies[name] for name in names or bodies}


class Glow:
    """Axes on which points are light, in pictures that replace one another."""

    def __init__(self, axes: "Axes", light: Light):
        self._light = light
        axes.set_axis_off()
        (left, bottom), (right, top) = light.low, light.high
        pen: dict[str, Any] = {"origin": "lower", "interpolation": "nearest", "aspect": "equal"}
        black = np.zeros((*light.shape, 3))
        self._image: Any = axes.imshow(black, extent=(left, right, bottom, top), **pen)

    def show(self, points: np.ndarray, rgb: np.ndarray) -> None:
        """Points (n, 2) in the colours rgb (n, 3)."""
        self._image.set_data(self._light.picture(points, rgb))


def draw(figure: "Figure", run: Path, bodies: Bodies, every: bool = True) -> None:
    """Draw the first and the last frame, viewed along z; with bodies, two frames between them as well.

    All panels have the same limits. Where a few points of a frame are far away, as from a cluster of stars,
    the farthest two in a hundred are left out. every: also nodes of none of the bodies.
    """
    frames = moments(run, h5md.POSITION, between=2 if bodies else 0)
    seen = look(len(frames[0].value), bodies, every)
    frames = [frame._replace(value=frame.value[seen.shown, :2]) for frame in frames]
    corners = [corner for frame in frames for corner in np.transpose(limits(frame.value))]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    panels = _panels(figure, len(frames), float(np.divide(*(high - low))))
    unit, clock = trajectory.symbols(run, h5md.POSITION)
    passes = frames[0].time != frames[-1].time
    light = Light(low, high, PIXELS) if seen.is_crowd else None
    for axes, frame in zip(panels, frames, strict=False):
        if light:
            Glow(axes, light).show(frame.value, seen.rgb)
        else:
            _draw_points(axes, frame, seen)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        title = style.moment(frame.step, frame.time, clock, passes)
        axes.set_title(title, color="white" if light else style.INK)
    if light:
        figure.set_facecolor("black")
        mesh_artists.draw_length(panels[0], unit, "white")
        if len(bodies) > 1:
            seen.draw_legend(panels[0], loc="lower left", labelcolor="white")
    elif len(bodies) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), markerscale=3)


def _draw_points(axes: "Axes", frame: Moment, seen: Look) -> None:
    """Points of no body in the first colour, below those of bodies."""
    x = frame.value
    size = float(np.clip(2e4 / len(x), 0.3, 6))
    alpha = float(np.clip(30 / np.sqrt(len(x)), 0.08, 0.6))
    pen: dict[str, Any] = {"s": size, "alpha": alpha, "linewidths": 0}
    for number, name in enumerate(["", *seen.names]):
        colour = seen.palette[number % len(seen.palette)]
        axes.scatter(*x[seen.owner == number - 1].T, color=colour, label=name or None, **pen)


def limits(points: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    """The limits in x and y of all points (n, 2), or of a square without strays."""
    low, high = box(points)
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def box(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners (d,) of a box around all points (n, d), or of a cube without strays."""
    low, high = points.min(axis=0), points.max(axis=0)
    centre = np.median(points, axis=0)
    reach = 1.1 * np.percentile(np.abs(points - centre).max(axis=1), 98)
    if np.max(high - low) > STRAYS * 2 * reach:
        low, high = centre - reach, centre + reach
    else:
        edge = 0.05 * max(np.max(high - low), np.finfo(float).tiny)
        low, high = low - edge, high + edge
    return low, high


def _panels(figure: "Figure", count: int, ratio: float) -> list["Axes"]:
    """So many panels of this width over height."""
    columns = 1 if ratio > WIDE else 2
    rows = -(-count // columns)
    width, wide = (6.4, 6.4) if columns == 1 else (4.6, 9.2)
    figure.set_size_inches(wide, rows * float(np.clip(width / ratio, 1.2, 6.0)) + 0.6)
    return list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
