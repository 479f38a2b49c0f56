"""Artists for supports, as hatched walls or wedges at held nodes, and for loads, as arrows with values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scene import units
from ...scene.shapes import Acceleration, Force, Pressure
from ..style import INK
from .obstacle_artists import BEHIND, EDGE, SOLID
from .saved import Load, Support

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 12
"""Symbols of one support or load, at most."""
FLAT = 0.02
"""Held nodes are a wall if they lie in a plane to this part of their size."""
FEW_ARROWS = 7
LENGTH = 0.11
"""Of the longest arrow, by the size of the picture."""
PULL = "#b8433f"
ARROWS = "\u2192\u2197\u2191\u2196\u2190\u2199\u2193\u2198"
"""Arrows of text: to the right, and on by eighths of a turn."""


def draw_supports(axes: "Axes", supports: Sequence[Support], x: np.ndarray, view: np.ndarray) -> None:
    """Draw held nodes: a hatched wall where all components of a flat set are held, else symbols."""
    for support in supports:
        held = x[support.nodes[support.nodes < len(x)]]
        if not len(held):
            continue
        clamped = len(support.axes) == x.shape[1]
        if clamped and len(view) == 2 and (wall := _line(held, x)) is not None:
            _draw_wall(axes, *wall)
        elif clamped and len(view) == 3 and (face := _face(held, x)) is not None:
            _draw_face(axes, *face, view)
        else:
            _draw_symbols(axes, support, held, view)


def _line(held: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The ends of a straight row of nodes, and the normal away from the body; None if it is none."""
    spread = _spread(held)
    if spread is None or len(held) == len(x):
        return None
    middle, directions = spread
    along = (held - middle) @ directions[0]
    ends = middle + np.outer([along.min(), along.max()], directions[0])
    normal = directions[1] * (-1.0 if (x.mean(axis=0) - middle) @ directions[1] > 0 else 1.0)
    return ends[0], ends[1], normal


def _spread(held: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The middle of nodes that lie in a line or plane, and their directions, its normal last."""
    if len(held) <= held.shape[1]:
        return None
    middle = held.mean(axis=0)
    _, sizes, directions = np.linalg.svd(held - middle, full_matrices=False)
    flat = sizes[-1] <= FLAT * sizes[0] and sizes[-2] > FLAT * sizes[0]
    return (middle, directions) if flat else None


def _draw_wall(axes: "Axes", start: np.ndarray, end: np.ndarray, normal: np.ndarray) -> None:
    """Draw a line with hatching on its far side, somewhat longer than the row of nodes."""
    from matplotlib.collections import LineCollection

    along = end - start
    start, end = start - 0.12 * along, end + 0.12 * along
    size = float(np.ptp([axes.get_xlim(), axes.get_ylim()], axis=1).max())
    length = 0.022 * size
    unit = along / np.linalg.norm(along)
    count = max(3, int(np.linalg.norm(end - start) / (0.7 * length)))
    places = start + np.linspace(0.0, 1.0, count)[:, None] * (end - start)
    ticks = np.stack([places, places + length * (normal - 0.7 * unit)], axis=1)
    lines = [np.stack([start, end]), *ticks]
    pen: dict[str, Any] = {"colors": INK, "linewidths": [1.4, *[0.6] * count], "zorder": 2.7}
    axes.add_collection(LineCollection(lines, **pen), autolim=False)


def _face(held: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The corners (4, 3) of a wall around a flat set of nodes in space, and its normal to the body."""
    spread = _spread(held)
    if spread is None or len(held) == len(x):
        return None
    middle, (one, other, normal) = spread
    place = (held - middle) @ np.stack([one, other]).T
    along = _tightest(place)
    place = place @ along.T
    low, high = place.min(axis=0), place.max(axis=0)
    edge = 0.15 * float((high - low).max())
    low, high = low - edge, high + edge
    square = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
    towards = normal if (x.mean(axis=0) - middle) @ normal > 0 else -normal
    return middle + square @ along @ np.stack([one, other]), towards


def _tightest(place: np.ndarray) -> np.ndarray:
    """The axes (2, 2) along which the box around points (n, 2) has the least area."""
    from scipy.spatial import ConvexHull

    hull = place[ConvexHull(place).vertices]
    sides = np.diff(hull, axis=0, append=hull[:1])
    turned = [np.array([[c, s], [-s, c]]) for c, s in sides / np.linalg.norm(sides, axis=1, keepdims=True)]
    return min(turned, key=lambda axes: float(np.prod(np.ptp(place @ axes.T, axis=0))))


def _draw_face(axes: "Axes", wall: np.ndarray, normal: np.ndarray, view: np.ndarray) -> None:
    """Draw a wall behind all bodies: hatched where its free side faces the eye, else as its rim alone."""
    from matplotlib.patches import Polygon

    pen: dict[str, Any] = {"edgecolor": EDGE, "linewidth": 0.7, "zorder": BEHIND, "clip_on": False}
    seen = float(normal @ view[2]) > 0
    pen |= {"facecolor": SOLID, "hatch": "////"} if seen else {"facecolor": "none", "linestyle": (0, (4, 2))}
    axes.add_patch(Polygon((wall @ view.T)[:, :2], **pen))


def _draw_symbols(axes: "Axes", support: Support, held: np.ndarray, view: np.ndarray) -> None:
    """Draw wedges below nodes that are held, circles below those that can slide, diamonds if driven."""
    seen = (_few(held) @ view.T)[:, :2]
    fixed = len(support.axes) == held.shape[1]
    mark = "D" if support.moves else (6 if fixed else "o")  # 6: a wedge that points at its place
    size = 4.0 if support.moves else 8.0 if fixed else 4.5
    pen: dict[str, Any] = {"linestyle": "", "color": EDGE, "markeredgecolor": INK, "markeredgewidth": 0.5}
    axes.plot(*seen.T, marker=mark, markersize=size, zorder=4.5, label="_support", **pen)


def draw_loads(
    axes: "Axes", loads: Sequence[Load], x: np.ndarray, view: np.ndarray, sizes_above: bool = False
) -> None:
    """Draw forces and pressures as arrows where they act, with their size; accelerations above the axes.

    sizes_above: the sizes of forces stand there, too.
    """
    uniform = []
    for load in loads:
        if not isinstance(load.shape, Acceleration):
            largest = _draw_forces(axes, load, x, view, sizes_above)
            uniform += [f"force {largest}"] if largest and sizes_above else []
        elif size := float(np.linalg.norm(load.shape.vector)):
            what = units.number_with_unit(size, load.unit, digits=3)
            uniform.append(f"{_direction((np.asarray(load.shape.vector) @ view.T)[:2])} {what}")
    if uniform:
        axes.set_title(", ".join(uniform), loc="right", color=PULL)


def _few(rows: np.ndarray) -> np.ndarray:
    """So many rows as a picture can show, spread evenly."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), FEW)).round().astype(int))]


def _draw_forces(axes: "Axes", load: Load, x: np.ndarray, view: np.ndarray, bare: bool) -> str:
    """Draw arrows, with the size of the largest unless they are bare; returns this size."""
    elements = load.elements
    if not elements.size or elements.max() >= len(x):
        return ""
    every = x[elements].mean(axis=1)
    kept = _apart((every @ view.T)[:, :2])
    nodes = x[elements[kept]]
    if isinstance(load.shape, Force):
        given = np.broadcast_to(load.shape.vector, (len(elements), x.shape[1]))
        vectors, sizes = given[kept], np.linalg.norm(given, axis=1)
    elif isinstance(load.shape, Pressure) and elements.shape[1] >= x.shape[1]:
        sizes = np.full(len(elements), abs(float(load.shape.pressure)))
        vectors = -load.shape.pressure * _normals(nodes)
    else:
        return ""
    if not sizes.any():
        return ""
    feet, size = every[kept], float(np.ptp([axes.get_xlim(), axes.get_ylim()], axis=1).max())
    moved = LENGTH * size * vectors / sizes.max()
    push = float(np.einsum("ij,ij->i", moved, feet - x.mean(axis=0)).mean()) < -1e-9 * size**2
    starts, arrows = ((rows @ view.T)[:, :2] for rows in (feet - moved if push else feet, moved))
    _draw_arrows(axes, starts, arrows)
    size_of_largest = units.number_with_unit(float(sizes.max()), load.unit, digits=3)
    if bare:
        return size_of_largest
    far = starts if push else starts + arrows
    above = float(arrows[:, 1].mean()) > 0 or push
    place = float(far[:, 0].mean()), float(far[:, 1].max() if above else far[:, 1].min())
    pen: dict[str, Any] = {"xytext": (0, 3 if above else -3), "textcoords": "offset points", "ha": "center"}
    pen |= {"va": "bottom" if above else "top", "color": PULL, "fontsize": 8, "zorder": 7}
    axes.annotate(size_of_largest, place, **pen)
    return size_of_largest


def _apart(places: np.ndarray) -> np.ndarray:
    """The numbers of a few places (n, 2) that are far from each other, the farthest from the middle first."""
    chosen = [int(np.argmax(np.linalg.norm(places - places.mean(axis=0), axis=1)))]
    distance = np.full(len(places), np.inf)
    while len(chosen) < min(FEW_ARROWS, len(places)):
        distance = np.minimum(distance, np.linalg.norm(places - places[chosen[-1]], axis=1))
        chosen.append(int(np.argmax(distance)))
    return np.array(chosen)


def _normals(facets: np.ndarray) -> np.ndarray:
    """The outward unit normals (E, d) of facets, edges or polygons, with nodes at (E, k, d)."""
    along = facets[:, 1] - facets[:, 0]
    if facets.shape[2] == 2:
        normal = np.stack([along[:, 1], -along[:, 0]], axis=1)
    else:
        normal = np.cross(along, facets[:, 2] - facets[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return normal / np.where(length > 0, length, 1.0)


def _draw_arrows(axes: "Axes", starts: np.ndarray, arrows: np.ndarray) -> None:
    """Draw arrows in data coordinates."""
    pen: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "color": PULL, "zorder": 6}
    axes.quiver(*starts.T, *arrows.T, width=0.0045, headwidth=4.0, headlength=5.0, headaxislength=4.5, **pen)


def _direction(vector: np.ndarray) -> str:
    """An arrow of text that points like a vector (2,), to an eighth of a turn; a dot if along the eye."""
    if not np.linalg.norm(vector) > 0.0:
        return "\u2299"
    return ARROWS[round(np.arctan2(vector[1], vector[0]) / (np.pi / 4)) % 8]
