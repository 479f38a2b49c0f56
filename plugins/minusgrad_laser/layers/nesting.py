"""The order of lines of a layer: what lies inside of a closed line is before it, with short travels.

A part that is cut out may drop or move, so that holes come before the outline around them. Of the lines that
may be next, the nearest is; a closed one is entered at its nearest point.

Decisions 0187.
"""

from collections.abc import Sequence

import numpy as np

from ..drawings.polygons import holds_point, signed_area
from ..paths.stroke import Stroke

TOUCH = 1e-9
"""By which a line may reach out of one around it [m]."""
PLACES, ENTRIES = 5, 8
"""Places of a line that are asked whether they are inside, and those from which the nearest is taken."""


def holders_of(strokes: Sequence[Stroke]) -> list[list[int]]:
    """Of each stroke the numbers of the closed ones around it; of equal ones neither is around the other.

    Lines may touch, so that a few places along the inner one decide by their majority.
    """
    low, high = (np.array([f(stroke.points, axis=0) for stroke in strokes]) for f in (np.min, np.max))
    closed = np.array([stroke.is_closed for stroke in strokes])
    area = np.array([abs(signed_area(stroke.points)) for stroke in strokes])
    found: list[list[int]] = []
    for k, inner in enumerate(strokes):
        near = closed & (low - TOUCH <= low[k]).all(axis=1) & (high + TOUCH >= high[k]).all(axis=1)
        near &= area > (area[k] if closed[k] else 0.0)
        near[k] = False
        middle = 0.5 * (inner.points[1:] + inner.points[:-1])
        tried = middle[np.linspace(0, len(middle) - 1, min(PLACES, len(middle))).astype(int)]
        around = [
            j
            for j in np.flatnonzero(near).tolist()
            if 2 * sum(holds_point(strokes[j].points[:-1], one) for one in tried) > len(tried)
        ]
        found.append(around)
    return found


def order_inside_first(strokes: Sequence[Stroke], start: np.ndarray) -> list[Stroke]:
    """The strokes from a place (2,) on, each after all that lie inside of it; open ones may be reversed."""
    holders = holders_of(strokes)
    waiting = np.zeros(len(strokes), int)
    for around in holders:
        waiting[around] += 1
    entries = np.array([_entry_points(stroke) for stroke in strokes])
    done, place, found = np.zeros(len(strokes), bool), np.asarray(start, float), []
    for _ in strokes:
        apart = np.hypot(*(entries - place).transpose(2, 0, 1)).min(axis=1)
        k = int(np.where(done | (waiting > 0), np.inf, apart).argmin())
        done[k] = True
        waiting[holders[k]] -= 1
        found.append(_entered_nearest(strokes[k], place))
        place = found[-1].points[-1]
    return found


def _entry_points(stroke: Stroke) -> np.ndarray:
    """Some places (n, 2) at which a stroke may be entered: both ends, or a few along a closed one."""
    if not stroke.is_closed:
        return stroke.points[[0, -1]].repeat(ENTRIES // 2, axis=0)
    return stroke.points[np.linspace(0, len(stroke.points) - 2, ENTRIES).astype(int)]


def _entered_nearest(stroke: Stroke, place: np.ndarray) -> Stroke:
    if stroke.is_closed:
        return stroke.entered_at(int(np.hypot(*(stroke.points[:-1] - place).T).argmin()))
    apart = np.hypot(*(stroke.points[[0, -1]] - place).T)
    return stroke.reversed if apart[1] < apart[0] else stroke
