"""A picture of the sides of a state: each in a colour, with its name and its sizes in a legend.

In the plane sides of facets are thick lines along the mesh; in space bodies are seen from two opposite
places, so that no side is hidden. Sides of nodes are dots, pale where the body hides them. Of sides that
overlap the one with fewer facets or nodes lies on top.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...scene import units
from .. import mesh_artists, style
from ..shapes import surfaces
from ..style import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BODY = np.array([0.91, 0.925, 0.94])
"""The colour of what is in no side."""
LOOPS = {
    6: [0, 3, 1, 4, 2, 5],
    8: [0, 4, 1, 5, 2, 6, 3, 7],
    9: [0, 4, 1, 5, 2, 6, 3, 7],
}
"""The nodes around a facet in space, corners first in its row, by their number; of others in their order."""
MOST = 26
"""The most sides whose names stand below one another."""


class DrawnSide(NamedTuple):
    """A side: its name, its sizes in words, its nodes (k,), and its facets (F,) if it has some."""

    name: str
    sizes: str
    nodes: np.ndarray
    facets: np.ndarray | None

    @property
    def label(self) -> str:
        return f"{self.name}: {self.sizes}".replace("^2", "²")


class SideScenery(NamedTuple):
    """What is drawn: places x (n, d), the rows (F, k) of all facets, -1 where they are shorter, lines (K, 2),
    and the unit of length."""

    x: np.ndarray
    facets: np.ndarray | None
    lines: np.ndarray
    unit: str


def draw(figure: "Figure", scenery: SideScenery, sides: Sequence[DrawnSide]) -> None:
    """Draw all sides into a figure."""
    x = scenery.x
    pens = [_colour(k) for k in range(len(sides))]
    if x.shape[1] < 3:
        flat = x if x.shape[1] == 2 else np.column_stack([x, np.zeros(len(x))])
        wide, high = np.maximum(np.ptp(flat, axis=0), 0.02 * np.ptp(flat, axis=0).max() or 1.0)
        (axes,) = style.panels(figure, 1, wide, high, bar=False)
        _draw_plane(axes, scenery._replace(x=flat), sides, pens)
        axes.set(xlabel=units.with_unit("x", scenery.unit), ylabel=units.with_unit("y", scenery.unit))
    else:
        view = surfaces.sensible_view(x)
        opaque = scenery.facets is not None
        views = [view, np.diag([-1.0, 1.0, -1.0]) @ view][: 1 + opaque]
        seen = [x @ one.T for one in views]
        wide, high = np.maximum(np.ptp(seen[0][:, :2], axis=0), 0.02 * np.ptp(seen[0]) or 1.0)
        panels = _two(figure, wide, high) if opaque else style.panels(figure, 1, wide, high, bar=False)
        for axes, places, one in zip(panels, seen, views, strict=True):
            _draw_space(axes, scenery, places, sides, pens)
            mesh_artists.draw_compass(axes, one, scenery.unit)
    _draw_legend(figure, sides, pens)


def _two(figure: "Figure", wide: float, high: float) -> "list[Axes]":
    """Two panels beside each other, or below one another for what is wide."""
    figure.set_layout_engine("compressed")
    beside = wide < 2.2 * high
    inch = min((3.6 if beside else 6.4) / wide, 3.4 / high)
    size = (
        (2 * inch * wide + 0.8, inch * high + 0.8) if beside else (inch * wide + 0.8, 2 * inch * high + 1.0)
    )
    figure.set_size_inches(*size)
    return list(figure.subplots(1, 2) if beside else figure.subplots(2, 1))


def _colour(number: int) -> np.ndarray:
    """The colour of a side: after the first eight paler ones."""
    from matplotlib.colors import to_rgb

    pale = 0.55 * min(1, number // len(style.COLOURS))
    return np.array(to_rgb(style.COLOURS[number % len(style.COLOURS)])) * (1.0 - pale) + pale


def _order(sides: Sequence[DrawnSide]) -> list[int]:
    """The numbers of the sides, the largest first."""
    sizes = [len(one.nodes) if one.facets is None else len(one.facets) for one in sides]
    return sorted(range(len(sides)), key=lambda k: -sizes[k])


def _draw_plane(
    axes: "Axes", scenery: SideScenery, sides: Sequence[DrawnSide], pens: Sequence[np.ndarray]
) -> None:
    from matplotlib.collections import LineCollection

    x = scenery.x
    thin = float(np.clip(25.0 / np.sqrt(len(scenery.lines) or 1), 0.15, 0.6))
    axes.add_collection(LineCollection(x[scenery.lines], colors=FAINT, linewidths=thin, zorder=1))
    if scenery.facets is None:
        axes.plot(*x.T, "o", markersize=_dot(len(x)), markeredgewidth=0, color=FAINT, zorder=2)
    else:
        rim = LineCollection(_polylines(x, scenery.facets), colors=INK, linewidths=0.6, zorder=2)
        axes.add_collection(rim)
    widths = _widths(sides)
    for place, k in enumerate(_order(sides)):
        one = sides[k]
        if one.facets is None:
            _dots(axes, x[one.nodes], pens[k], 1.0)
        elif scenery.facets is not None:
            lines = _polylines(x, scenery.facets[one.facets])
            width, joined = widths[k], {"capstyle": "round", "joinstyle": "round"}
            axes.add_collection(
                LineCollection(lines, colors=[pens[k]], linewidths=width, zorder=3 + place / 100, **joined)
            )
    axes.set_aspect("equal")
    pad = 0.04 * np.ptp(x, axis=0).max() or 1.0
    low, high = x.min(axis=0) - pad, x.max(axis=0) + pad
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _widths(sides: Sequence[DrawnSide]) -> dict[int, float]:
    """The width of each side of facets: one that lies on a larger one is thinner, so that both are seen."""
    levels, drawn = dict[int, int](), dict[int, np.ndarray]()
    for k in _order(sides):
        if (own := sides[k].facets) is not None:
            below = [levels[j] for j, other in drawn.items() if np.isin(own, other).any()]
            levels[k], drawn[k] = max(below, default=-1) + 1, own
    return {k: max(1.2, 5.0 - 1.6 * level) for k, level in levels.items()}


def _polylines(x: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Facets of the plane as lines between their ends, over the middle where there is one."""
    found = []
    for length in np.unique((rows >= 0).sum(axis=1)):
        own = rows[(rows >= 0).sum(axis=1) == length, :length]
        found += [*x[own[:, [0, 2, 1] if length == 3 else [0, 1]]]]
    return found


def _draw_space(
    axes: "Axes",
    scenery: SideScenery,
    seen: np.ndarray,
    sides: Sequence[DrawnSide],
    pens: Sequence[np.ndarray],
) -> None:
    from matplotlib.collections import LineCollection, PolyCollection

    visible = np.ones(len(seen), bool)
    if scenery.facets is not None:
        fill, inside = np.tile(BODY, (len(scenery.facets), 1)), np.zeros(len(scenery.facets), bool)
        for k in _order(sides):
            if (facets := sides[k].facets) is not None:
                fill[facets], inside[facets] = pens[k], True
        polygons = _polygons(scenery.facets)
        corners = seen[polygons]
        normal = np.cross(*(np.roll(corners, -s, axis=1) for s in (0, 1))).sum(axis=1)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        front = np.flatnonzero(normal[:, 2] > 0.0)
        front = front[np.argsort(corners[front, :, 2].mean(axis=1))]
        light = 0.75 + 0.25 * np.clip(normal[front] @ mesh_artists.LIGHT, 0.0, 1.0)
        shade = fill[front] * light[:, None]
        thin = float(np.clip(25.0 / np.sqrt(len(front) or 1), 0.1, 0.5))
        faces = PolyCollection(
            corners[front][..., :2], facecolors=shade, edgecolors=0.8 * shade, linewidths=thin, zorder=2
        )
        axes.add_collection(faces, autolim=False)
        visible = np.zeros(len(seen), bool)
        visible[polygons[front]] = True
    else:
        axes.add_collection(LineCollection(seen[scenery.lines][..., :2], colors=FAINT, linewidths=0.6))
        axes.plot(*seen[:, :2].T, "o", markersize=_dot(len(seen)), markeredgewidth=0, color=FAINT, zorder=2)
    for k in _order(sides):
        if sides[k].facets is None:
            nodes = sides[k].nodes
            _dots(axes, seen[nodes[visible[nodes]]][:, :2], pens[k], 1.0)
            _dots(axes, seen[nodes[~visible[nodes]]][:, :2], pens[k], 0.3)
    axes.set_aspect("equal")
    pad = 0.05 * np.ptp(seen, axis=0).max() or 1.0
    low, high = seen.min(axis=0) - pad, seen.max(axis=0) + pad
    axes.set(xlim=(low[0], high[0]), ylim=(low[1] - 1.5 * pad, high[1]))


def _polygons(rows: np.ndarray) -> np.ndarray:
    """The nodes around each facet in space, (F, l); shorter ones repeat their last one."""
    counts = (rows >= 0).sum(axis=1)
    loops = {int(n): LOOPS.get(int(n), list(range(int(n)))) for n in np.unique(counts)}
    most = max(map(len, loops.values()))
    found = np.zeros((len(rows), most), rows.dtype)
    for count, loop in loops.items():
        own = counts == count
        found[own] = rows[own][:, [*loop, *loop[-1:] * (most - len(loop))]]
    return found


def _dots(axes: "Axes", places: np.ndarray, colour: np.ndarray, alpha: float) -> None:
    pen: dict[str, Any] = {"markeredgewidth": 0.5, "markeredgecolor": "white", "color": colour}
    size = max(3.0, _dot(len(places)))
    axes.plot(*places.T, "o", markersize=size, alpha=alpha, zorder=5, **pen)


def _dot(count: int) -> float:
    """The size of dots of so many nodes."""
    return float(np.clip(90 / np.sqrt(count or 1), 1.0, 5.0))


def _draw_legend(figure: "Figure", sides: Sequence[DrawnSide], pens: Sequence[np.ndarray]) -> None:
    """Names and sizes beside the drawing, a filled mark for facets and a dot for nodes."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D

    if not sides:
        return
    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o" if one.facets is None else "s",
            markersize=6,
            color=to_hex(tuple(pens[k])),
        )
        for k, one in enumerate(sides)
    ]
    columns = -(-len(sides) // MOST)
    wide = 0.075 * max(len(one.label) for one in sides) * columns + 0.5
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + wide, max(height, 0.18 * min(len(sides), MOST) + 0.6))
    labels = [one.label for one in sides]
    figure.legend(handles, labels, loc="outside right upper", fontsize=8, ncols=columns)
