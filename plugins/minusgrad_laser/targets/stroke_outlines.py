"""The outline of a stroke: polygons whose union is what a pen of some width covers along a line.

Each segment gives a rectangle, each corner its join (miter, round, bevel) and each open end its cap (butt,
round, square), as in section 11 of SVG 1.1. All turn the same way, so their union is where the winding number
is not 0.
"""

import numpy as np


def outline(
    lines: list[np.ndarray], width: float, cap: str, join: str, limit: float, tolerance: float
) -> list[np.ndarray]:
    """Polygons (k, 2) of strokes along polylines (k, 2); limit: of the miter's length over the width."""
    found: list[np.ndarray] = []
    for line in lines:
        line = line[np.append(True, (np.diff(line, axis=0) != 0.0).any(axis=1))]
        found += _outline_stroke(line, width / 2.0, cap, join, limit, tolerance)
    return [_counterclockwise_polygon(polygon) for polygon in found]


def _outline_stroke(
    line: np.ndarray, half: float, cap: str, join: str, limit: float, tolerance: float
) -> list[np.ndarray]:
    if len(line) == 1:  # a dot, which only caps make visible
        square = line + half * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
        return {"round": [_disc_polygon(line[0], half, tolerance)], "square": [square]}.get(cap, [])
    closed = bool((line[0] == line[-1]).all())
    along = np.diff(line, axis=0)
    along /= np.hypot(*along.T)[:, None]
    begins, ends = line[:-1].copy(), line[1:].copy()
    if cap == "square" and not closed:
        begins[0] -= half * along[0]
        ends[-1] += half * along[-1]
    across = half * np.stack([-along[:, 1], along[:, 0]], axis=1)
    found = [np.stack([a - n, b - n, b + n, a + n]) for a, b, n in zip(begins, ends, across, strict=True)]
    if cap == "round" and not closed:
        found += [_disc_polygon(line[0], half, tolerance), _disc_polygon(line[-1], half, tolerance)]
    corners = [(line[k], along[k - 1], along[k]) for k in range(1, len(along))]
    if closed:
        corners.append((line[0], along[-1], along[0]))
    for corner, before, after in corners:
        found += _outline_join(corner, before, after, half, join, limit, tolerance)
    return found


def _outline_join(
    corner: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    half: float,
    join: str,
    limit: float,
    tolerance: float,
) -> list[np.ndarray]:
    """Of two segments with unit directions `before` and `after`."""
    turn = before[0] * after[1] - before[1] * after[0]
    cosine = float(before @ after)
    if abs(turn) < 1e-12 and cosine > 0.0:
        return []
    sine, half_angle = np.sqrt(max(0.0, (1.0 - cosine) / 2.0)), np.sqrt(max(0.0, (1.0 + cosine) / 2.0))
    smooth = half * (1.0 - half_angle) <= 4.0 * tolerance * half_angle  # a corner of the chords of a curve
    if join == "round" and not smooth:
        return [_disc_polygon(corner, half, tolerance)]
    side = -half if turn > 0.0 else half  # the outer side of the corner
    a = corner + side * np.array([-before[1], before[0]])
    b = corner + side * np.array([-after[1], after[0]])
    if not smooth and (join == "bevel" or half_angle * limit < 1.0):
        return [np.stack([corner, a, b])]
    return [np.stack([corner, a, a + half * sine / half_angle * before, b])]


def _disc_polygon(centre: np.ndarray, radius: float, tolerance: float) -> np.ndarray:
    steps = max(8, min(720, int(np.ceil(np.pi / np.arccos(max(0.0, 1.0 - tolerance / radius))))))
    angle = 2.0 * np.pi * np.arange(steps) / steps
    return centre + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _counterclockwise_polygon(polygon: np.ndarray) -> np.ndarray:
    x, y = polygon.T
    return polygon if x @ np.roll(y, -1) - y @ np.roll(x, -1) >= 0.0 else polygon[::-1]
