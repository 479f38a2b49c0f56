"""Plot of a few moving points: their paths and names; of many, `clouds`.

Up to eight points have colours of their own, more have markers, too, and a legend where they have no names;
beyond 24 the colour is the number of the node.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md, trajectory
from ...scene import units
from .. import clouds, mesh_artists, moments, readings, style
from ..style import COLOURS, FAINT
from ..surroundings.scenery import DrawnSurroundings
from . import name_places

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
        scenery.draw(axes, x[-1], step, sizes_above=True)


def _paths(figure: "Figure", x: np.ndarray, names: list[str]) -> None:
    """Paths x (T, N, 2) from hollow to filled dots; a crowd inside a much wider system gets its own panel."""
    crowd = _crowd(x)
    if not crowd.any():
        width, height = np.ptp(x, axis=(0, 1)).tolist()
        figure.set_size_inches(6.0, float(np.clip(5.2 * height / (width or 1) + 0.8, 2.4, 6.4)))
        axes = figure.subplots()
        axes.set_aspect("equal")
        _draw_paths(axes, x, names, ~crowd)
        _draw_key(figure, [axes], x.shape[1], names)
        return
    figure.set_size_inches(9.6, 4.9)
    whole, near = figure.subplots(1, 2)
    for axes, shown in ((whole, ~crowd), (near, crowd)):
        _square(axes, _centre(x), 1.1 * np.abs(x[:, shown] - _centre(x)).max())
        _draw_paths(axes, x, names, shown)
    whole.indicate_inset(_limits(near), edgecolor=FAINT, alpha=1.0, zorder=4)
    near.set_title(f"the middle, {_times(whole, near)}", loc="left")
    _draw_key(figure, [whole, near], x.shape[1], names)


def _limits(axes: "Axes") -> tuple[float, float, float, float]:
    """Left, lower edge, width and height of axes."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    return left, low, right - left, high - low


def _times(whole: "Axes", near: "Axes") -> str:
    return f"{_limits(whole)[2] / _limits(near)[2]:.2g} × enlarged"


def _draw_paths(axes: "Axes", x: np.ndarray, names: list[str], marked: np.ndarray) -> None:
    """All paths x (T, N, 2); dots and names for the marked (N,) only."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white", alpha=0.8)]
    drawn = style.node_pens(x.shape[1])
    for node, path in enumerate(x.swapaxes(0, 1)):
        colour, marker = drawn[node].values()
        axes.plot(*path.T, color=colour, alpha=0.7, linewidth=0.8)
        if marked[node]:
            hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": colour}
            axes.plot(*path[0], marker, markersize=4, zorder=3, **hollow)
            axes.plot(*path[-1], marker, markersize=4.5, color=colour, zorder=3)
    named = [node for node in np.flatnonzero(marked).tolist() if node < len(names)]
    if named:
        shown = [names[node] for node in named]
        found = name_places.places(axes, x[-1, named], shown, x[0, named])
        for node, place in zip(named, found, strict=True):
            pen = name_places.pen(place) | {"color": drawn[node]["color"], "path_effects": halo}
            axes.annotate(names[node], x[-1, node], zorder=2.5, **pen)


def _draw_key(figure: "Figure", panels: "list[Axes]", nodes: int, names: list[str]) -> None:
    """Which node is which, where they have no names and more than a few colours are needed."""
    if len(names) >= nodes or nodes <= len(COLOURS):
        return
    if nodes > style.TOLD_APART:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, Normalize

        shades = ListedColormap([pen["color"] for pen in style.node_pens(nodes)])
        numbers = ScalarMappable(Normalize(-0.5, nodes - 0.5), shades)
        bar = figure.colorbar(numbers, ax=panels, pad=0.02, aspect=30)
        bar.set_label("node")
        bar.outline.set_visible(False)
        return
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], linestyle="", markersize=4.5, **pen) for pen in style.node_pens(nodes)]
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "handletextpad": 0.2}
    panels[-1].legend(dots, [str(node) for node in range(nodes)], title="node", **place)


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
