"""Tabs and leads: bridges that hold a part, and starts and ends of cuts in the waste.

A tab is a dark move of a loop. Beyond its ends the kerf goes on by `kerf.reach_beyond`, so that the move is
as much longer on both sides than the bridge that is left. A lead begins in the waste beside the path, at half
a right angle, and joins it at a point that the cut leaves by another one; what leads add at the edge, the
search takes away.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from .kerf import Pair, reach_beyond
from .path import Line, Path
from .rings import Ring
from .samples import Samples, sharp_corners

AWAY = 2.0
"""Distance of tabs from corners, in half kerfs."""
BESIDE, INSIDE = 2.5, 1.2
"""Samples beside a dark move and, in waists, within its ends are not counted; half kerfs from the path."""
AROUND = np.array([0.5, 1.1, 1.8, 2.8, 4.2])
"""Further points of the path on both sides of where leads join, in half kerfs."""
SHRINKS = 4
"""How often a lead that has no room is halved."""


@dataclass(frozen=True)
class Tabs:
    """Tabs of each part: how many, or how far apart [m] at most; how wide the bridge is [m]."""

    count: int
    spacing: float
    width: float


@dataclass(frozen=True, eq=False)
class Gap:
    """A dark move of a loop, from and to (2,) [m], beside a ring by its number."""

    begin: np.ndarray
    end: np.ndarray
    ring: int

    def beside(self, samples: Samples, unit: np.ndarray, waists: Pair) -> np.ndarray:
        """Which samples (n,) of the ring lie beside it, or within its ends."""
        size = float(np.hypot(*(self.end - self.begin)))
        way = (self.end - self.begin) / size
        margin = INSIDE * float(np.hypot(*(way * waists)))
        off = samples.points - 0.5 * (self.begin + self.end)
        across = np.abs(off[:, 0] * way[1] - off[:, 1] * way[0]) / np.hypot(*(way[::-1] * unit))
        near = (np.abs(off @ way) < 0.5 * size + margin) & (across < BESIDE)
        return near & (samples.ring == self.ring)


def with_tabs(
    path: Path, rings: list[Ring], tabs: Tabs, unit: np.ndarray, density: float, waists: Pair, fluence: float
) -> tuple[Path, list[Gap], list[str]]:
    """The path with dark moves, these, and remarks about tabs that have no place."""
    lines, found = path.lines(), []
    remarks: list[str] = []
    corners = [ring.corners[sharp_corners(ring, unit)] / unit for ring in rings]
    known = np.concatenate(corners)
    tree = cKDTree(known) if len(known) else None
    for k, line in enumerate(lines):
        ring = rings[line.ring]
        if ring.depth % 2 or not line.closed:
            continue
        length = np.hypot(*(line.points - np.roll(line.points, 1, axis=0)).T)
        around = float(length.sum())
        count = max(tabs.count, int(np.ceil(around / tabs.spacing)) if tabs.spacing > 0.0 else 0)
        gaps: list[tuple[float, float]] = []
        for wanted in ((np.arange(count) + 0.5) * around / max(count, 1)).tolist():
            gap = _nearest_gap(line, length, wanted, tabs.width, gaps, tree, unit, density, waists, fluence)
            if gap is None:
                remarks.append(
                    f"outline {ring.number}: a tab has no straight place of {1e3 * tabs.width:g} mm"
                )
            else:
                gaps.append(gap)
        for gap in gaps:
            begin, end = _places_along(line, length, np.array(gap))
            found.append(Gap(begin, end, line.ring))
        if gaps:
            lines[k] = _with_dark_moves(line, length, sorted(gaps))
    return Path.of_lines(lines), found, remarks


def _nearest_gap(
    line: Line, length: np.ndarray, wanted: float, width: float, taken: list[tuple[float, float]],
    tree: cKDTree | None, unit: np.ndarray, density: float, waists: Pair, fluence: float,
) -> tuple[float, float] | None:  # fmt: skip
    """The dark stretch of the loop nearest to a place, from and to [m] along it; None if there is no room.

    It lies on one straight run of moves, away from corners and from other gaps.
    """
    around, ends = float(length.sum()), np.cumsum(length)
    best: tuple[float, float] | None = None
    for k in np.argsort(np.abs(ends - 0.5 * length - wanted)).tolist():
        begin, end = ends[k] - length[k], ends[k]
        if length[k] <= 0.0 or line.density[k] <= 0.0:
            continue
        if best is not None and max(begin - wanted, wanted - end, 0.0) > abs(0.5 * sum(best) - wanted):
            continue
        direction = (line.points[k] - line.points[k - 1]) / length[k]
        half = 0.5 * width + reach_beyond(density, waists, direction, fluence)
        low, high = _straight_run(line, length, k)
        at = float(np.clip(wanted, max(begin, low + half), min(end, high - half)))
        if at - half < low - 1e-12 or at + half > high + 1e-12 or at - half < 0.0 or at + half > around:
            continue
        place = line.points[k - 1] + (at - begin) * direction
        if tree is not None and tree.query(place / unit)[0] < AWAY + half / float(
            np.hypot(*(direction * unit))
        ):
            continue
        if any(at - half < b + width and at + half > a - width for a, b in taken):
            continue
        if best is None or abs(at - wanted) < abs(0.5 * sum(best) - wanted):
            best = at - half, at + half
    return best


def _straight_run(line: Line, length: np.ndarray, k: int) -> tuple[float, float]:
    """From and to [m] along a loop, how far the moves around move k go on nearly straight."""
    ends = np.cumsum(length)
    steps = line.points - np.roll(line.points, 1, axis=0)
    way = steps[k] / length[k]
    low, high = k, k
    for step in (-1, 1):
        j = k + step
        while 0 <= j < len(length) and length[j] > 0.0 and steps[j] @ way > 0.99 * length[j]:
            low, high = min(low, j), max(high, j)
            j += step
    return float(ends[low] - length[low]), float(ends[high])


def _places_along(line: Line, length: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Points (k, 2) at distances (k,) [m] along a loop, from its last point on."""
    ends = np.append(0.0, np.cumsum(length))
    loop = np.append(line.points[-1:], line.points, axis=0)
    return np.stack([np.interp(at, ends, loop[:, axis]) for axis in (0, 1)], axis=1)


def _with_dark_moves(line: Line, length: np.ndarray, gaps: list[tuple[float, float]]) -> Line:
    """A loop with dark moves in place of stretches of it."""
    at = np.cumsum(length)
    inside = np.zeros(len(at), bool)
    for begin, end in gaps:
        inside |= (at > begin - 1e-9) & (at < end + 1e-9)
    extra = np.array(gaps).ravel()
    places = np.append(at[~inside], extra)
    order = np.argsort(places, kind="stable")
    move = np.minimum(np.searchsorted(at, extra, side="left"), len(at) - 1)
    density = np.append(line.density[~inside], np.where(np.arange(len(extra)) % 2, 0.0, line.density[move]))
    points = np.append(line.points[~inside], _places_along(line, length, extra), axis=0)
    held = np.append(line.held[~inside], np.ones(len(extra), bool))
    return replace(line, points=points[order], density=density[order], held=held[order])


def with_leads(
    path: Path, rings: list[Ring], lead: float, unit: np.ndarray
) -> tuple[Path, np.ndarray, list[str]]:
    """The path whose loops begin and end in the waste, a length [m] away; the places (k, 2) [m] where leads
    join; remarks where there is no room. Loops with tabs begin and end at these.
    """
    lines: list[Line] = []
    places = [np.zeros((0, 2))]
    remarks: list[str] = []
    tree = cKDTree(np.concatenate([_close_points(ring, unit) for ring in rings]))
    for line in path.lines():
        if not line.closed or (line.density == 0.0).any():
            lines.append(line)
            continue
        added = _led_line(line, lead, tree, unit)
        if added is None:
            remarks.append(f"outline {rings[line.ring].number}: a lead of {1e3 * lead:g} mm has no room")
        else:
            places.append(added.points[1:2])
        lines.append(added or line)
    return Path.of_lines(lines), np.concatenate(places), remarks


def _led_line(line: Line, lead: float, tree: cKDTree, unit: np.ndarray) -> Line | None:
    """A loop with leads at the middle of its longest move, in which there are further points."""
    steps = line.points - np.roll(line.points, 1, axis=0)
    length = np.hypot(*steps.T)
    k = int(np.argmax(length))
    way = steps[k] / length[k]
    waste = np.array([way[1], -way[0]])
    opened = line.opened_at(k, 0.5)
    join, q = opened.points[0], opened.density[1]
    away = AROUND * float(np.hypot(*(way * unit)))
    away = away[away < 0.5 * length[k]]
    after, before = join + away[:, None] * way, join - away[::-1, None] * way
    for size in lead * 0.5 ** np.arange(SHRINKS):
        ends = join + size * np.sqrt(0.5) * np.array([waste - way, waste + way])
        if (tree.query(ends / unit)[0] > 1.0).all():
            ours, added, free = slice(1, -1), np.full(len(away), q), np.zeros(len(away), bool)
            last = opened.density[-1]
            return Line(
                np.concatenate([ends[:1], [join], after, opened.points[ours], before, [join], ends[1:]]),
                np.concatenate([[0.0, q], added, opened.density[ours], added, [last, q]]),
                line.ring,
                np.concatenate([[True, True], free, opened.held[ours], free, [True, True]]),
                False,
            )
    return None


def _close_points(ring: Ring, unit: np.ndarray) -> np.ndarray:
    """Points along a ring, in half kerfs, half of one apart."""
    edges, corners = ring.edges / unit, ring.corners / unit
    count = np.maximum(np.ceil(2.0 * np.hypot(*edges.T)).astype(int), 1)
    edge = np.repeat(np.arange(len(corners)), count)
    part = (np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)) / count[edge]
    return np.asarray(corners[edge] + part[:, None] * edges[edge])
