"""Where names stand beside their points: clear of other names and of points."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 8.0
"""Of the text, in points of print."""
AWAY = 5.0
"""From a point to its name."""
LETTER = 0.6
"""The mean width of a letter, by the size of the text."""
SHRUNK = 0.8
"""Axes are smaller by about this factor when all labels have their room."""


class NamePlace(NamedTuple):
    """The offset of a name from its point [points of print], and which of its edges is there."""

    offset: tuple[float, float]
    ha: str
    va: str


_PLACES = (
    NamePlace((AWAY, AWAY - 1), "left", "bottom"),
    NamePlace((-AWAY, AWAY - 1), "right", "bottom"),
    NamePlace((AWAY, 1 - AWAY), "left", "top"),
    NamePlace((-AWAY, 1 - AWAY), "right", "top"),
    NamePlace((0.0, AWAY + 1), "center", "bottom"),
    NamePlace((0.0, -AWAY - 1), "center", "top"),
    NamePlace((AWAY + 2, 0.0), "left", "center"),
    NamePlace((-AWAY - 2, 0.0), "right", "center"),
)


def places(axes: "Axes", points: np.ndarray, names: Sequence[str], others: np.ndarray) -> list[NamePlace]:
    """A place for each of the names of points (n, 2), such that names hide as little as can be.

    others (m, 2): more points to keep clear of. Limits of the axes are those of now. The first place that is
    free is taken, on the outer side of all points first.
    """
    scale = 72.0 / axes.figure.dpi
    axes.apply_aspect()
    scale *= SHRUNK
    at = axes.transData.transform(points) * scale
    dots = axes.transData.transform(np.concatenate([points, others])) * scale
    frame = np.asarray(axes.get_window_extent().extents) * scale
    middle = float(np.median(dots[:, 0]))
    taken: list[np.ndarray] = []
    found = []
    for point, name in zip(at, names, strict=True):
        order = _PLACES if point[0] >= middle else [_PLACES[k] for k in (1, 0, 3, 2, 4, 5, 7, 6)]
        boxes = [_box(point, name, place) for place in order]
        costs = [_hidden(box, taken, dots) + _outside(box, frame) for box in boxes]
        best = order[int(np.argmin(costs))]
        taken.append(_box(point, name, best))
        found.append(best)
    return found


def _box(point: np.ndarray, name: str, place: NamePlace) -> np.ndarray:
    """Left, lower, right and upper edge of a name."""
    size = np.array([LETTER * SIZE * len(name), 1.1 * SIZE])
    share = np.array([{"left": 0.0, "center": 0.5, "right": 1.0}[place.ha], 0.0])
    share[1] = {"bottom": 0.0, "center": 0.5, "top": 1.0}[place.va]
    low = point + place.offset - share * size
    return np.concatenate([low, low + size])


def _hidden(box: np.ndarray, taken: Sequence[np.ndarray], dots: np.ndarray) -> float:
    """How much of other names and of dots a box covers [square points of print]."""
    area = 0.0
    for other in taken:
        sides = np.minimum(box[2:], other[2:]) - np.maximum(box[:2], other[:2])
        area += float(np.prod(np.maximum(sides, 0.0)))
    inside = ((dots > box[:2] - 2.0) & (dots < box[2:] + 2.0)).all(axis=1)
    return area + 20.0 * float(inside.sum())


def _outside(box: np.ndarray, frame: np.ndarray) -> float:
    """How far a box reaches beyond the left and the lower edge of the axes, where their numbers stand."""
    return 20.0 * float(np.maximum(frame[:2] - box[:2], 0.0).sum())


def pen(place: NamePlace) -> dict[str, Any]:
    """The arguments of `annotate` for a place."""
    shown = {"xytext": place.offset, "textcoords": "offset points", "fontsize": SIZE}
    return shown | {"ha": place.ha, "va": place.va}
