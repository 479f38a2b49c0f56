"""Lines and polygons cut by a convex region.

A polygon is cut by one side of the region after another (Sutherland and Hodgman 1974). Where it crosses a
side more than twice, its parts would hang together along that side, so it is refused.
"""

import numpy as np

from .faults import refuse
from .regions import Region


def cut_polygon(points: np.ndarray, region: Region, slack: float) -> np.ndarray:
    """The part (k, 2) of a polygon within a region; k < 3 where there is none. Raises `SvgError`."""
    for a, b in region.sides():
        if len(points) < 3:
            break
        out = region.distance(points, a, b)
        outside = out > slack
        after, out_after = np.roll(points, -1, axis=0), np.roll(out, -1)
        crosses = outside != np.roll(outside, -1)
        if crosses.sum() > 2:
            refuse(
                f"is cut into pieces by {region.name}; cut the shape itself, or engrave the file as a picture"
                " (kind = 'svg')"
            )
        part = np.where(crosses, out / np.where(crosses, out - out_after, 1.0), 0.0)[:, None]
        both = np.stack([points, points + np.clip(part, 0.0, 1.0) * (after - points)], axis=1).reshape(-1, 2)
        points = both[np.stack([~outside, crosses], axis=1).ravel()]
    return points


def cut_line(points: np.ndarray, closed: bool, region: Region, slack: float) -> list[tuple[np.ndarray, bool]]:
    """The parts of a line within a region, and whether they are closed: only a whole closed line is."""
    line = np.concatenate([points, points[:1]]) if closed else points
    begin, step = line[:-1], np.diff(line, axis=0)
    low, high = np.zeros(len(step)), np.ones(len(step))
    for a, b in region.sides():
        out = region.distance(begin, a, b) - slack
        slope = region.distance(line[1:], a, b) - slack - out
        at = -out / np.where(slope == 0.0, 1.0, slope)
        high = np.where(slope > 0.0, np.minimum(high, at), high)
        low = np.where(slope < 0.0, np.maximum(low, at), low)
        high = np.where((slope == 0.0) & (out > 0.0), -1.0, high)
    kept = high > low
    if kept.all() and (low == 0.0).all() and (high == 1.0).all():
        return [(points, closed)]
    found: list[np.ndarray] = []
    for k in np.flatnonzero(kept):
        ends = begin[k] + np.stack([low[[k]], high[[k]]], axis=0) * step[k]
        if found and low[k] == 0.0 and kept[k - 1] and high[k - 1] == 1.0 and k > 0:
            found[-1] = np.concatenate([found[-1], ends[1:]])
        else:
            found.append(ends)
    if closed and len(found) > 1 and kept[0] and low[0] == 0.0 and kept[-1] and high[-1] == 1.0:
        found[0] = np.concatenate([found.pop(), found[0][1:]])
    return [(one, False) for one in found]
