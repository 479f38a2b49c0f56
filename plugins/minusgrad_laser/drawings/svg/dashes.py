"""Dashes of a line: the parts of a polyline that a pattern of lengths leaves drawn. Source: SVG 2, 13.5.6."""

from collections.abc import Sequence

import numpy as np

MOST_DASHES = 100_000
"""Of one line."""


def cut_dashes(
    line: np.ndarray, closed: bool, pattern: Sequence[float], offset: float
) -> list[tuple[np.ndarray, bool]]:
    """Open lines (k, 2) along a line; the first and the last of a closed one are one where both are drawn.

    pattern: lengths drawn and left out in turn, an even number of them, whose sum is above 0. Raises
    `ValueError` for more than `MOST_DASHES`.
    """
    points = np.concatenate([line, line[:1]]) if closed else line
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    whole, total = float(along[-1]), float(sum(pattern))
    if whole / total * len(pattern) > MOST_DASHES:
        raise ValueError(f"its dashes are more than {MOST_DASHES:,} along one line")
    ends = np.cumsum(pattern)
    first = np.floor(offset % total / total) - 1.0
    cycles = np.arange(first, np.ceil((whole + offset % total) / total) + 1.0)
    begins = (cycles[:, None] * total + np.concatenate([[0.0], ends[1:-1:2]]) - offset % total).ravel()
    stops = (cycles[:, None] * total + ends[::2] - offset % total).ravel()
    begins, stops = np.maximum(begins, 0.0), np.minimum(stops, whole)
    parts = [(a, b) for a, b in zip(begins.tolist(), stops.tolist(), strict=True) if b > a]
    if closed and len(parts) == 1 and parts[0] == (0.0, whole):
        return [(line, True)]
    found = [_line_between(points, along, a, b) for a, b in parts]
    if closed and len(parts) > 1 and parts[0][0] == 0.0 and parts[-1][1] == whole:
        found[0] = np.concatenate([found.pop(), found[0][1:]])
    return [(one, False) for one in found]


def _line_between(points: np.ndarray, along: np.ndarray, begin: float, end: float) -> np.ndarray:
    inside = points[(along > begin) & (along < end)]
    ends = [[np.interp(at, along, points[:, k]) for k in (0, 1)] for at in (begin, end)]
    return np.concatenate([ends[:1], inside, ends[1:]])
