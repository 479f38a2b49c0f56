"""Plot of many moving points: a panel for each of a few times, and a colour for each body.

A crowd is drawn as light on black, in which cores and tails are both seen.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import UserError
from ..files import h5md
from ..scene import units
from . import mesh_artists, readings, style
from .bodies.light import Light
from .moments import ShownMoment, moments, newest
from .shapes import surfaces
from .surroundings.saved import surroundings
from .surroundings.scenery import DrawnSurroundings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bodies = Mapping[str, Sequence[Sequence[int]]]  # ranges of node numbers by name
STRAYS = 1.3  # strays that widen the view by a smaller factor are shown
WIDE = 1.8  # panels that are wider than this times their height stand in one column
CROWD = 10_000  # more points are drawn as light
FEW_ATOMS = 3_000  # up to this many points in space are drawn as balls
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
        """The colours of points of no body, and of each body; of many bodies shades by their numbers."""
        few = style.LIGHTS if self.is_crowd else style.COLOURS
        if len(self.names) < len(few):
            return few
        return [few[0], *style.shades(len(self.names))]

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
        for first, end in ranges:
            owner[first:end] = number
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


def draw(
    figure: "Figure",
    run: Path,
    bodies: Bodies,
    every: bool = True,
    until: int | None = None,
    view: np.ndarray | None = None,
    colour: str = "",
) -> None:
    """Draw the first and the last frame; with bodies, two frames between them as well.

    All panels have the same limits. Where a few points of a frame are far away, as from a cluster of stars,
    the farthest two in a hundred are left out. every: also nodes of none of the bodies. until: the step of
    the last frame. view (3, 3): the eye, else along z; in a box the usual view of bodies in space. colour: a
    series with numbers of nodes.
    """
    frames = moments(run, h5md.POSITION, between=2 if bodies else 0, until=until)
    seen = look(len(frames[0].value), bodies, every)
    dimension = frames[0].value.shape[1]
    around = surroundings(run)
    if view is None and dimension == 3 and around.box is not None:
        view = surfaces.sensible_view(around.box.edges[0])
    scenery = DrawnSurroundings(around, np.eye(dimension) if view is None else view)
    turned = scenery.view if dimension == 3 else None
    places = [frame.value[seen.shown] @ scenery.view.T for frame in frames]
    corners = [corner for x in places for corner in np.transpose(limits(x[:, :2]))]
    low, high = scenery.widened(np.min(corners, axis=0), np.max(corners, axis=0))
    if view is not None:
        low = low - [0.0, 0.14 * float((high - low).max())]  # for the compass
    panels = _panels(figure, len(frames), float(np.divide(*(high - low))))
    unit, clock = readings.symbols(run, h5md.POSITION)
    passes = frames[0].time != frames[-1].time
    light = Light(low, high, PIXELS) if seen.is_crowd else None
    values = [_values(run, colour, frame, seen) for frame in frames] if colour else []
    scale = mesh_artists.colours(np.concatenate(values), "lights" if light else "lines") if colour else None
    for number, (axes, frame, x) in enumerate(zip(panels, frames, places, strict=False)):
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        rgb = scale(values[number]) if scale else None
        if light:
            Glow(axes, light).show(x[:, :2], seen.rgb if rgb is None else rgb)
            scenery.draw_box(axes, frame.step)
        else:
            scenery.draw(axes, frame.value, frame.step)
            _draw_points(axes, x, seen, rgb, turned is not None and view is not None)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        title = style.moment(frame.step, frame.time, clock, passes)
        axes.set_title(title, color="white" if light else style.INK)
        if view is not None and not light:
            mesh_artists.draw_compass(axes, view, unit)
    if light:
        figure.set_facecolor("black")
        mesh_artists.draw_length(panels[0], unit, "white")
        if len(bodies) > 1 and not colour:
            seen.draw_legend(panels[0], loc="lower left", labelcolor="white")
    elif scale:
        mesh_artists.draw_bar(figure, panels, scale, series_label(run, colour))
    elif len(bodies) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), markerscale=3)


def _values(run: Path, name: str, frame: ShownMoment, seen: Look) -> np.ndarray:
    """The newest numbers of a series at a frame, of the nodes that are seen: of vectors their norm."""
    value = newest(run, name, frame.step).value[seen.shown]
    return value if value.ndim == 1 else np.linalg.norm(value.reshape(len(value), -1), axis=1)


def series_label(run: Path, name: str) -> str:
    """The words of a colour bar: `speed [m s⁻¹]`."""
    words = "speed" if name == h5md.VELOCITY else h5md.label(name).replace("_", " ")
    return units.with_unit(words.replace("von mises", "von Mises"), readings.symbols(run, name)[0])


def _draw_points(axes: "Axes", x: np.ndarray, seen: Look, rgb: np.ndarray | None, deep: bool) -> None:
    """Points x (n, 2 or 3) of no body in the first colour, below those of bodies; or in colours rgb (n, 3).

    deep: the nearest come last, and have rims.
    """
    size = float(np.clip(2e4 / len(x), 0.3, 6))
    alpha = float(np.clip(30 / np.sqrt(len(x)), 0.08, 0.6))
    pen: dict[str, Any] = {"s": size, "alpha": alpha, "linewidths": 0}
    order = np.argsort(x[:, 2], kind="stable") if deep else np.arange(len(x))
    if deep and len(x) <= FEW_ATOMS:
        pen = {"s": float(np.clip(3e3 / len(x), 4, 40)), "edgecolors": "white", "linewidths": 0.4}
    if rgb is not None:
        axes.scatter(x[order, 0], x[order, 1], color=rgb[order], zorder=2, **pen)
        return
    for number, name in enumerate(["", *seen.names]):
        own = order[seen.owner[order] == number - 1]
        colour = seen.palette[number % len(seen.palette)]
        axes.scatter(*x[own, :2].T, color=colour, label=name or None, zorder=2, **pen)


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
