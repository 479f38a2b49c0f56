"""Strokes of a cut: lines that are drawn without a stop, in the order in which they are cut.

A part is cut after all that is inside of it, so that it lies still; parts follow by short travels. Points
that neither the place nor the energy of a line needs are left out.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .path import Line, Path
from .rings import Ring

STRAIGHT = 3e-7
"""Points that are nearer to the line without them [m] are left out."""
ALIKE = 0.01
"""Energies that differ by this part are one."""


@dataclass(frozen=True, eq=False)
class Stroke:
    """Points (k, 2) [m], and the energy on a length (k,) [J/m] of the move that ends at each; depth and group
    of its ring.
    """

    points: np.ndarray
    density: np.ndarray
    depth: int
    group: int


def strokes_of(path: Path, rings: list[Ring], finer: float = 1.0) -> list[Stroke]:
    """The strokes of a path, in the order of its points; loops begin in the middle of their longest move.

    finer: below 1, more points are left out.
    """
    found = []
    for line in path.lines():
        ring = rings[line.ring]
        opened = _opened_loop(line) if line.closed else line
        for points, density in _lit_parts(opened.points, opened.density):
            found.append(Stroke(*_needed_points(points, density, finer), ring.depth, ring.group))
    return found


def _opened_loop(loop: Line) -> Line:
    """A loop that begins in the middle of its longest move, or at the end of a dark one."""
    dark = np.flatnonzero(loop.density == 0.0)
    length = np.hypot(*(loop.points - np.roll(loop.points, 1, axis=0)).T)
    return loop.opened_at(int(dark[0]), 1.0) if len(dark) else loop.opened_at(int(np.argmax(length)), 0.5)


def _lit_parts(points: np.ndarray, density: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The parts of a line between dark moves."""
    found, begin = [], 0
    for k in [*np.flatnonzero(density[1:] <= 0.0).tolist(), len(points) - 1]:
        if k > begin:
            found.append((points[begin : k + 1], density[begin : k + 1]))
        begin = k + 1
    return found


def _needed_points(points: np.ndarray, density: np.ndarray, finer: float) -> tuple[np.ndarray, np.ndarray]:
    """A line without points that are not needed; the energy of each move stays."""
    steps = np.append(0.0, np.hypot(*np.diff(points, axis=0).T))
    energy, length = np.cumsum(density * steps), np.cumsum(steps)
    change = np.abs(np.diff(density[1:])) > ALIKE / finer * np.maximum(density[1:-1], density[2:])
    stops = [0, *(np.flatnonzero(change) + 1).tolist(), len(points) - 1]
    kept = np.zeros(len(points), bool)
    kept[stops] = True
    pairs = list(pairwise(stops))
    while pairs:
        a, b = pairs.pop()
        if b - a < 2:
            continue
        way = points[b] - points[a]
        size = float(np.hypot(*way))
        off = points[a + 1 : b] - points[a]
        apart = np.abs(off[:, 0] * way[1] - off[:, 1] * way[0]) / size if size > 0.0 else np.hypot(*off.T)
        k = a + 1 + int(np.argmax(apart))
        if apart[k - a - 1] > STRAIGHT / finer:
            kept[k] = True
            pairs += [(a, k), (k, b)]
    some = np.flatnonzero(kept)
    span = np.diff(length[some])
    q = np.append(0.0, np.diff(energy[some]) / np.where(span > 0.0, span, 1.0))
    return points[some], q


def ordered_strokes(strokes: list[Stroke], start: tuple[float, float] = (0.0, 0.0)) -> list[Stroke]:
    """The strokes by groups, each from the inside outwards, always the nearest next."""
    here, left, found = np.array(start), list(strokes), []
    while left:
        group = min(left, key=lambda one: float(np.hypot(*(one.points[0] - here)))).group
        mine = [one for one in left if one.group == group]
        left = [one for one in left if one.group != group]
        while mine:
            deepest = max(one.depth for one in mine)
            k = min(
                (k for k, one in enumerate(mine) if one.depth == deepest),
                key=lambda k: float(np.hypot(*(mine[k].points[0] - here))),
            )
            found.append(mine.pop(k))
            here = found[-1].points[-1]
    return found


def repeat_stroke(stroke: Stroke, passes: int) -> Stroke:
    """A stroke so many times: round and round if it ends where it begins, else to and fro."""
    points, density = [stroke.points], [stroke.density]
    turns = bool((stroke.points[0] != stroke.points[-1]).any())
    for k in range(1, passes):
        back = turns and k % 2 == 1
        points.append(stroke.points[::-1][1:] if back else stroke.points[1:])
        density.append(stroke.density[1:][::-1] if back else stroke.density[1:])
    return Stroke(np.concatenate(points), np.concatenate(density), stroke.depth, stroke.group)
