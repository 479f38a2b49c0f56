"""Matplotlib artists for bodies and networks: earlier states, shaded cells, lines, dots, axes, colour bar.

Nodes are in view coordinates, (N, 2), or (N, 3) with the depth towards the eye last; lists are `DrawnList`s.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..scene import units
from . import style
from .shapes import surfaces
from .style import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

CROWD = 250  # this many overlapping lines are as dark as one
JOINTS = 64  # networks of so many nodes or fewer show them
MANY = 20_000  # polygons so small that their own edges would only blur the colours
PALE, PLAIN = "#bfc6ce", "#a9c4de"
LIGHT = np.array([-0.5, 0.7, 0.75]) / np.linalg.norm([-0.5, 0.7, 0.75])  # right, up, towards the eye
Kind = Literal["cells", "lines", "paths", "maps", "fields", "lights"]
OFFSET = 0.2
"""The lowest value of a field, by its highest, from which on its colours begin there and not at zero."""
_WARM = {  # lines lie on white, and the palest must be visible
    "cells": ["#e3e7eb", "#f2d9a2", "#eda94f", "#d3622f", "#8e2434"],
    "lines": ["#b4bbc4", "#e3b768", "#dd8a3a", "#c4502f", "#8e2434"],
    "paths": ["#9aa4b01c", "#e0a94f99", "#dd8a3ad9", "#c4502fe6", "#8e2434"],  # zero is transparent
    "lights": ["#5b8cff", "#b9d4ff", "#fff3d6", "#ffb45e", "#ff5a42"],  # on black
}
_SIGNED = {
    "cells": ["#22578f", "#7fabd0", "#f3f4f5", "#e09a7d", "#a3303a"],
    "lines": ["#22578f", "#7ba3c8", "#b8bcc2", "#dd9a80", "#a3303a"],
    "paths": ["#22578f", "#5f90c0cc", "#9aa4b01c", "#d98568cc", "#a3303a"],
    "lights": ["#5b8cff", "#a9c8ff", "#ffffff", "#ffb39a", "#ff5a42"],
}


class DrawnList(NamedTuple):
    """The drawn parts of one list.

    shown (P, 2 or more): the nodes of lines or polygons; owner (P,): the tuple of each; inner (P,): in
    space, a node on its inner side. began (K, 2): edges drawn of the initial state; rim (K, 2): those around
    a body in the plane.
    """

    shown: np.ndarray
    owner: np.ndarray
    inner: np.ndarray
    began: np.ndarray
    rim: np.ndarray

    @property
    def is_filled(self) -> bool:
        return self.shown.shape[1] > 2


class Colours(NamedTuple):
    """Colour scale of values (E,): (E, 3), or (E, 4) with transparency; for a map, (H, W, 3)."""

    norm: "Normalize"
    cmap: "Colormap"
    beyond: Literal["neither", "min", "max", "both"] = "neither"  # where values lie beyond the colour bar
    channels: int = 3

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return self.cmap(self.norm(values))[..., : self.channels]


def colours(values: np.ndarray, kind: Kind) -> Colours:
    """The colour scale of values of any shape: centred on zero if the sign changes, else beginning at zero.

    Cells and lines have a logarithmic scale, over four decades at most, if no value is negative and most are
    far below the largest. On paths and maps, values near zero are nearly invisible. Fields over bodies, such
    as temperatures, begin at their lowest value where it is far from zero.
    """
    from matplotlib.colors import LogNorm, Normalize

    low, high = float(values.min()), float(values.max())
    reach, channels = max(-low, high), 4 if kind == "paths" else 3
    if style.is_signed(low, high):
        return Colours(Normalize(-reach, reach), _colormap(kind, signed=True), channels=channels)
    warm = _colormap(kind) if high >= -low else _colormap(kind).reversed()
    if kind in ("cells", "lines") and low > -1e-6 * high and np.median(values) < high / 50:
        least = max(low, 1e-4 * high)
        return Colours(LogNorm(least, high, clip=True), warm, "min" if low < least else "neither")
    if kind == "fields" and low > OFFSET * high:
        return Colours(Normalize(low, high if high > low else low + 1.0), warm, channels=channels)
    norm = Normalize(min(low, 0.0), max(high, 0.0) or float(low == 0))
    return Colours(norm, warm, channels=channels)


def _colormap(kind: Kind, signed: bool = False) -> "Colormap":
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if kind in ("maps", "fields"):
        return colormaps[style.DIVERGING if signed else style.SEQUENTIAL]
    return LinearSegmentedColormap.from_list("", (_SIGNED if signed else _WARM)[kind])


def draw_past(axes: "Axes", seen: Sequence[np.ndarray], parts: Sequence[DrawnList]) -> None:
    """Draw the first of some earlier states in pale lines, the others as pale outlines."""
    from matplotlib.collections import LineCollection

    for number, nodes in enumerate(seen):
        for part in parts:
            crowd = 1.0 if part.is_filled else min(1.0, (CROWD / len(part.began)) ** 0.5)
            edges = np.concatenate([part.rim, part.began]) if number == 0 else part.rim
            lines = LineCollection(nodes[edges][..., :2], colors=PALE, linewidths=0.6, alpha=crowd)
            _add(axes, lines, 1)


def draw_path(axes: "Axes", centre: np.ndarray) -> None:
    """Draw the path (T, 2) of a centre, from a hollow to a filled dot; nothing for an empty one."""
    if not len(centre):
        return
    colour = style.COLOURS[1]
    axes.plot(*centre.T, color=colour, linewidth=1.4, zorder=5)
    axes.plot(*centre[0], "o", markersize=5, markerfacecolor="white", markeredgecolor=colour, zorder=6)
    axes.plot(*centre[-1], "o", markersize=5, color=colour, zorder=6)


def draw_traces(axes: "Axes", traces: Sequence[np.ndarray]) -> None:
    """Draw where nodes have been, each (T, 2), in colours of their own."""
    for number, path in enumerate(traces):
        axes.plot(
            *path.T,
            color=style.COLOURS[(number + 1) % len(style.COLOURS)],
            linewidth=0.6,
            alpha=0.55,
            zorder=1.5,
        )


def draw_cells(
    axes: "Axes",
    seen: np.ndarray,
    parts: Mapping[str, DrawnList],
    rgb: Mapping[str, np.ndarray],
    outlines: DrawnList | None = None,
) -> None:
    """Draw polygons in the colours rgb (E, 3) of their lists, or plain; in space shaded, nearest last.

    outlines: in the plane, the polygons whose edges are drawn, of which those of `parts` are pieces.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    filled = {name: part for name, part in parts.items() if part.is_filled}
    if not filled:
        return
    most = max(part.shown.shape[1] for part in filled.values())
    shown = np.concatenate([_widened(part.shown, most) for part in filled.values()])
    fill = np.concatenate([_fill(part, rgb.get(name)) for name, part in filled.items()])
    flat, many = seen.shape[1] == 2, len(shown) > MANY
    if not flat:
        normal = surfaces.outward(seen, shown, np.concatenate([part.inner for part in filled.values()]))
        order = np.lexsort((_depth(seen, shown), normal[:, 2] > 0))  # those turned away are behind
        shown, fill = shown[order], _lit(fill[order], normal[order])
    corners = seen[shown][..., :2]
    if flat or many:  # without smoothing there are no seams; the rim covers the jags
        _add(axes, PolyCollection(corners, facecolors=fill, edgecolors="none", antialiaseds=False), 2)
    if outlines is not None and len(outlines.shown) <= MANY:
        edges = PolyCollection(
            seen[outlines.shown], facecolors="none", edgecolors=INK, linewidths=0.3, alpha=0.3
        )
        _add(axes, edges, 2.2)
    elif not many:
        edge = fill * (1 - 0.3 * max(0.0, 1 - len(shown) / 4000))
        _add(axes, PolyCollection(corners, facecolors=fill, edgecolors=edge, linewidths=0.4), 2)
    for part in filled.values():
        _add(axes, LineCollection(seen[part.rim][..., :2], colors=INK, linewidths=0.6), 2.5)


def draw_lines(
    axes: "Axes",
    seen: np.ndarray,
    parts: Mapping[str, DrawnList],
    rgb: Mapping[str, np.ndarray],
    whole: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Draw lines in the colours (E, 3 or 4) of their lists, or plain; only those where `whole` (E,).

    In space the nearest come last, and at equal depth the most opaque ones.
    """
    from matplotlib.collections import LineCollection

    for name, part in parts.items():
        if part.is_filled:
            continue
        seen_through = 1 - rgb[name][:, 3:].sum(axis=1) if name in rgb else np.zeros(len(part.shown))
        order = np.lexsort((-seen_through, _depth(seen, part.shown)))
        if whole is not None:
            order = order[whole[name][order]]
        pen: dict[str, Any] = {
            "colors": rgb[name][order] if name in rgb else INK if rgb else style.COLOURS[0]
        }
        pen["linewidths"] = float(np.clip(30 / np.sqrt(len(order)), 0.5, 1.6))
        _add(axes, LineCollection(seen[part.shown[order]][..., :2], capstyle="round", **pen), 3)


def draw_free(axes: "Axes", nodes: np.ndarray) -> None:
    """Draw nodes (N, 2 or 3) that are in no list, as dots."""
    size = float(np.clip(60 / np.sqrt(len(nodes) or 1), 0.5, 3.5))
    axes.plot(*nodes[:, :2].T, "o", markersize=size, markeredgewidth=0, color=INK, zorder=4)


def draw_joints(axes: "Axes", seen: np.ndarray, parts: Mapping[str, DrawnList]) -> None:
    """Draw the ends of lines as dots, in a network of so few nodes that they can be told apart."""
    lines = [part.shown.ravel() for part in parts.values() if not part.is_filled]
    nodes = np.unique(np.concatenate(lines)) if lines else np.arange(0)
    if 0 < len(nodes) <= JOINTS:
        pen: dict[str, Any] = {"markersize": 4.0, "markerfacecolor": "white", "markeredgecolor": INK}
        axes.plot(*seen[nodes][:, :2].T, "o", markeredgewidth=0.8, zorder=4, **pen)


def draw_compass(axes: "Axes", view: np.ndarray, unit: str) -> None:
    """Replace the axes by arrows for x, y and z and a scale bar, along the lower edge."""
    axes.set_axis_off()
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    reach = max(right - left, high - low)
    text: dict[str, Any] = {"color": INK, "fontsize": 8, "ha": "center", "zorder": 8}
    for along, up, name in zip(*(reach * view.T[:, :2]).T, "xyz", strict=True):
        x, y = left + 0.06 * reach, low + 0.06 * reach
        axes.plot([x, x + 0.06 * along], [y, y + 0.06 * up], color=FAINT, linewidth=0.8, zorder=8)
        axes.text(x + 0.085 * along, y + 0.085 * up, name, va="center", **text)
    draw_length(axes, unit, INK)


def draw_length(axes: "Axes", unit: str, colour: str) -> None:
    """Draw a scale bar in the lower right corner."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    reach = max(right - left, high - low)
    length, end, floor = _round(0.25 * (right - left)), right - 0.04 * reach, low + 0.04 * reach
    axes.plot(
        [end - length, end], [floor, floor], color=colour, linewidth=1.2, solid_capstyle="butt", zorder=8
    )
    place = (end - 0.5 * length, floor + 0.01 * reach)
    text: dict[str, Any] = {"color": colour, "fontsize": 8, "ha": "center", "va": "bottom", "zorder": 8}
    axes.text(*place, units.number_with_unit(length, unit), **text)


def draw_bar(figure: "Figure", panels: Sequence["Axes"], scale: Colours, label: str) -> None:
    """Draw a colour bar beside some panels."""
    from matplotlib.cm import ScalarMappable

    mappable = ScalarMappable(scale.norm, scale.cmap)
    bar = figure.colorbar(mappable, ax=panels, pad=0.02, aspect=30, shrink=0.85, extend=scale.beyond)
    bar.set_label(label)
    bar.outline.set_visible(False)


def _add(axes: "Axes", collection: "Collection", zorder: float) -> None:
    """Add a collection without computing its limits, which takes long for many thousand polygons."""
    collection.set_zorder(zorder)
    collection.set_in_layout(False)
    axes.add_collection(collection, autolim=False)


def _widened(polygons: np.ndarray, most: int) -> np.ndarray:
    """Polygons that repeat their last node up to this length."""
    return np.concatenate([polygons, np.repeat(polygons[:, -1:], most - polygons.shape[1], axis=1)], axis=1)


def _fill(part: DrawnList, rgb: np.ndarray | None) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.tile(to_rgb(PLAIN), (len(part.owner), 1)) if rgb is None else rgb[part.owner]


def _depth(seen: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Depth of each line or polygon towards the eye; 0 in the plane."""
    return seen[shown][..., 2:].sum(axis=(1, 2))


def _lit(rgb: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Colours (P, 3) under light from the upper left; a facet is lit on the side that the eye sees."""
    facing = normals * np.where(normals[:, 2:] < 0, -1, 1)
    light = np.clip(facing @ LIGHT, 0.0, 1.0)[:, None]
    dim = rgb * (0.66 + 0.34 * light)
    return dim + (1 - dim) * 0.12 * light**2


def _round(length: float) -> float:
    """1, 2 or 5 times a power of ten, at most this length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(digit for digit in (1, 2, 5) if digit * power <= length))
