"""Plot of a few moving points: their paths and names; of many, `clouds`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import h5md, trajectory
from ..scene import units
from . import clouds, mesh_artists, moments, readings
from .style import COLOURS
from .surroundings.scenery import DrawnSurroundings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 64  # up to this many nodes have paths and names; more are a cloud


def draw(
    figure: "Figure",
    run: Path,
    names: list[str],
    bodies: clouds.Bodies,
    every: bool = True,
    until: int | None = None,
    view: np.ndarray | None = None,
    colour: str = "",
) -> None:
    """Draw the nodes, viewed along z: paths of a few with their names, or many coloured by their bodies.

    until: the last step that is drawn. view (3, 3): another eye. colour: a series of numbers of nodes.
    """
    seen = trajectory.steps(run, h5md.POSITION)
    if until is not None and until < seen[0]:
        moments.moments(run, h5md.POSITION, 0, until)  # names the recorded steps
    nodes = next(readings.pieces(run, h5md.POSITION)).value.shape[1]
    few = nodes <= FEW and every and not colour
    if few:
        kept = len(seen) if until is None else int(np.searchsorted(seen, until, "right"))
        x = readings.series(run, h5md.POSITION).value[:kept].astype(float)
        turned = x if view is None else x @ view.T
        _paths(figure, turned[..., :2], names)
        _surround(figure, run, x, int(seen[kept - 1]), view)
    else:
        clouds.draw(figure, run, bodies, every, until, view, colour)
    unit = readings.symbols(run, h5md.POSITION)[0]
    for axes in figure.axes:
        if not axes.axison or axes.get_label() == "<colorbar>":
            continue
        if few and view is not None:
            mesh_artists.draw_compass(axes, view, unit)
            continue
        axes.set(xlabel=units.with_unit("x", unit), ylabel=units.with_unit("y", unit), aspect="equal")
        if nodes > FEW:
            axes.label_outer()


def _surround(figure: "Figure", run: Path, x: np.ndarray, step: int, view: np.ndarray | None) -> None:
    """Draw the surroundings of paths x (T, N, d), in all panels."""
    scenery = DrawnSurroundings(run, np.eye(x.shape[-1]) if view is None else view)
    if not scenery:
        return
    for axes in figure.axes:
        low, high = scenery.widened(*np.transpose([axes.get_xlim(), axes.get_ylim()]))
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        scenery.draw(axes, x[-1], step)


def _paths(figure: "Figure", x: np.ndarray, names: list[str]) -> None:
    """Paths x (T, N, 2) from hollow to filled dots; a crowd inside a much wider system gets its own panel."""
    crowd = _crowd(x)
    if not crowd.any():
        width, height = np.ptp(x, axis=(0, 1)).tolist()
        figure.set_size_inches(6.0, float(np.clip(5.2 * height / (width or 1) + 0.8, 2.4, 6.4)))
        _draw_paths(figure.subplots(), x, names, ~crowd)
        return
    figure.set_size_inches(9.6, 4.9)
    for axes, shown in zip(figure.subplots(1, 2), (~crowd, crowd), strict=True):
        _draw_paths(axes, x, names, shown)
        _square(axes, _centre(x), 1.1 * np.abs(x[:, shown] - _centre(x)).max())


def _draw_paths(axes: "Axes", x: np.ndarray, names: list[str], marked: np.ndarray) -> None:
    """All paths x (T, N, 2); dots and names for the marked (N,) only."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white", alpha=0.8)]
    middle = _centre(x[-1:])
    for node, path in enumerate(x.swapaxes(0, 1)):
        colour = COLOURS[node % len(COLOURS)]
        axes.plot(*path.T, color=colour, alpha=0.7, linewidth=0.8)
        if not marked[node]:
            continue
        axes.plot(*path[0], "o", markersize=4, markerfacecolor="white", markeredgecolor=colour, zorder=3)
        axes.plot(*path[-1], "o", markersize=4.5, color=colour, zorder=3)
        if node < len(names):
            right = path[-1, 0] >= middle[0]  # names stand on the outer side, clear of the others
            place: dict[str, Any] = {
                "xytext": (5 if right else -5, 4),
                "textcoords": "offset points",
                "ha": "left" if right else "right",
                "path_effects": halo,
                "zorder": 2.5,
            }
            axes.annotate(names[node], path[-1], color=colour, fontsize=8, **place)


def _square(axes: "Axes", centre: np.ndarray, reach: float) -> None:
    (x, y) = centre
    axes.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach))


def _centre(x: np.ndarray) -> np.ndarray:
    return np.median(x.reshape(-1, 2), axis=0)


def _crowd(x: np.ndarray) -> np.ndarray:
    """Mask (N,) of nodes of x (T, N, 2) that a plot of all would shrink to a dot; mostly empty.

    The three or more innermost, up to the widest gap in radius, if the whole is over four times as wide.
    """
    radius = np.linalg.norm(x - _centre(x), axis=-1).max(axis=0)
    far = np.sort(radius[radius > 1e-3 * radius.max()])
    gaps = [(far[i] / far[i - 1], far[i - 1]) for i in range(3, len(far)) if far[-1] > 4 * far[i - 1]]
    return radius <= max(gaps)[1] if gaps else np.zeros(len(radius), bool)
