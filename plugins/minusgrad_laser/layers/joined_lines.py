"""Lines that meet at their ends are one line: DXF files have the sides of a part one by one.

Only where exactly two ends meet, within `NEAR`, they are joined: at a fork nobody knows which way to go on.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from ..drawings.polygons import signed_area

NEAR = 1e-5
"""Distance of ends that meet [m]."""
STRAIGHT = 1e-9
"""Part of its length that a straight line may be wide."""


def join_lines(lines: Sequence[np.ndarray]) -> list[tuple[np.ndarray, bool]]:
    """Open lines (k, 2) [m] joined as far as they go: points, and whether they close to a ring.

    A ring does not repeat its first point. A line whose own ends meet is a ring.
    """
    if not lines:
        return []
    partner = _meeting_ends(np.concatenate([line[[0, -1]] for line in lines]))
    found: list[tuple[np.ndarray, bool]] = []
    used = np.zeros(len(lines), bool)
    starts = [end for end in range(2 * len(lines)) if partner[end] < 0]
    for entered in [*starts, *range(0, 2 * len(lines), 2)]:
        if used[entered // 2]:
            continue
        pieces, end = list[np.ndarray](), entered
        while end >= 0 and not used[end // 2]:
            used[end // 2] = True
            line = lines[end // 2] if end % 2 == 0 else lines[end // 2][::-1]
            pieces.append(line if not pieces else line[1:])
            end = int(partner[end ^ 1])
        points = np.concatenate(pieces)
        closed = end == entered and len(points) > 3
        found.append((points[:-1] if closed else points, closed))
    return found


def bounds_area(points: np.ndarray) -> bool:
    """True if a line (k, 2) bounds an area once it is closed, also by loops of two senses, as of an 8.

    It bounds none if it is straight, or if each of its sides is there in both directions.
    """
    if signed_area(points) != 0.0:
        return True
    way = points - points[0]
    far = way[int(np.hypot(*way.T).argmax())]
    if not (np.abs(way[:, 0] * far[1] - way[:, 1] * far[0]) > STRAIGHT * (far @ far)).any():
        return False
    sides = Counter(
        zip(map(tuple, points.tolist()), map(tuple, np.roll(points, -1, axis=0).tolist()), strict=True)
    )
    return any(begin != end and count != sides[end, begin] for (begin, end), count in sides.items())


def _meeting_ends(ends: np.ndarray) -> np.ndarray:
    """Of each end (2 n, 2) the number of the one other end that is there, -1 for none or for several."""
    near = cKDTree(ends).query_ball_point(ends, NEAR)
    partner = np.full(len(ends), -1)
    for k, others in enumerate(near):
        rest = [j for j in others if j != k]
        if len(rest) == 1 and len(near[rest[0]]) == 2:
            partner[k] = rest[0]
    return partner
