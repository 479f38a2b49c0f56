"""The order of strokes, and the direction of each, with short travels between them.

    travel = sum_k |begin_{k+1} - end_k|          over the strokes in their order

A tour that goes on to the nearest end of a stroke, or the given order if that is shorter, is improved by
2-opt (Croes 1958: a part of the order is reversed, and each stroke in it) and Or-opt (Or 1976: up to three
strokes are moved to another place), as long as this shortens the travel. No random numbers; ties go to the
lower number.
"""

from collections.abc import Sequence

import numpy as np

from .stroke import Stroke

PAIRS = 500_000_000
"""Pairs of strokes that are looked at in all: some seconds."""
TOURS = 60
"""So many strokes in all tours that are tried: a few strokes are begun from several of them."""


def arranged(strokes: Sequence[Stroke]) -> list[Stroke]:
    """The strokes in an order, and each in a direction, of short travel: never longer than as given.

    A closed stroke is entered at the point that is best between its neighbours.
    """
    found = list(strokes)
    for _ in range(2):
        order, turned = improved(np.stack([stroke.points[[0, -1]] for stroke in found]))
        found = [found[k].reversed if flip else found[k] for k, flip in zip(order, turned, strict=True)]
        for k, stroke in enumerate(found):
            if stroke.closed and len(found) > 1:
                found[k] = stroke.entered(_entry(stroke, found[k - 1 : k], found[k + 1 : k + 2]))
    return found


def improved(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order (n,) of strokes, and whether each is reversed (n,).

    ends (n, 2, 2): begin and end of each stroke.
    """
    n = len(ends)
    begins = np.linspace(0, 2 * n - 1, min(2 * n, max(1, TOURS // n))).astype(int)
    tours = [np.arange(n) * 2, *(_by_neighbours(ends, begin) for begin in begins)]
    if len(begins) == 1:
        tours = [min(tours, key=lambda tour: _length(ends, tour))]
    best = min((_shortened(ends, tour) for tour in tours), key=lambda tour: _length(ends, tour))
    return best // 2, best % 2 == 1


def travel(ends: np.ndarray, order: np.ndarray, turned: np.ndarray) -> float:
    """Length of all travels between strokes (n, 2, 2) in an order (n,), some of them reversed (n,)."""
    return _length(ends, 2 * order + turned)


# A tour is a list of the ends at which strokes are entered: 2 k, or 2 k + 1 if stroke k is reversed.


def _places(ends: np.ndarray, tour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each stroke of a tour begins and ends (n, 2)."""
    flat = ends.reshape(-1, 2)
    return flat[tour], flat[tour ^ 1]


def _length(ends: np.ndarray, tour: np.ndarray) -> float:
    begins, finishes = _places(ends, tour)
    return float(_apart(begins[1:], finishes[:-1]).sum())


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.hypot(a[..., 0] - b[..., 0], a[..., 1] - b[..., 1])


def _by_neighbours(ends: np.ndarray, begin: int) -> np.ndarray:
    """The tour that enters a stroke at `begin`, and goes on to the nearest end that is left."""
    flat = ends.reshape(-1, 2)
    tour, left = np.full(len(ends), begin), np.ones(len(flat), bool)
    for k in range(1, len(tour)):
        left[[tour[k - 1], tour[k - 1] ^ 1]] = False
        tour[k] = np.where(left, _apart(flat, flat[tour[k - 1] ^ 1]), np.inf).argmin()
    return tour


def _shortened(ends: np.ndarray, tour: np.ndarray) -> np.ndarray:
    """By 2-opt and Or-opt, until neither shortens it; strokes with new neighbours are looked at again."""
    n, looks = len(tour), PAIRS // (4 * len(tour))
    least = 1e-12 * float(np.ptp(ends, axis=(0, 1)).max())
    begun = None
    while tour is not begun and looks > 0:
        begun, awake = tour, np.ones(n, bool)
        while awake.any() and looks > 0:
            for i in range(n):
                if awake[tour[i] // 2] and looks > 0:
                    shorter = _changed(ends, tour, i, least)
                    awake[tour[i] // 2] = False
                    awake[_renewed(tour, shorter)] = True
                    tour, looks = shorter, looks - 1
    return tour


def _changed(ends: np.ndarray, tour: np.ndarray, i: int, least: float) -> np.ndarray:
    """A shorter tour by one change at place i; the same array if there is none."""
    changed = _reversal(ends, tour, i, least)
    for count in (1, 2, 3):
        if changed is tour and i + count < len(tour):
            changed = _move(ends, tour, i, count, least)
    return changed


def _renewed(tour: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The strokes that have another neighbour in the other tour."""
    return np.array([], int) if tour is other else np.flatnonzero(_links(tour) != _links(other)) // 2


def _links(tour: np.ndarray) -> np.ndarray:
    """The end that is travelled to or from each end (2 n,); -1 for none."""
    links = np.full(2 * len(tour), -1)
    links[tour[1:]], links[tour[:-1] ^ 1] = tour[:-1] ^ 1, tour[1:]
    return links


def _reversal(ends: np.ndarray, tour: np.ndarray, i: int, least: float) -> np.ndarray:
    """With the part i..j reversed that gains most; the same array if none gains."""
    begins, finishes = _places(ends, tour)
    gain = np.zeros(len(tour) - i)
    if i > 0:
        gain += _apart(begins[i], finishes[i - 1]) - _apart(finishes[i:], finishes[i - 1])
    gain[:-1] += _apart(begins[i + 1 :], finishes[i:-1]) - _apart(begins[i + 1 :], begins[i])
    j = i + int(gain.argmax())
    if gain[j - i] <= least:
        return tour
    return np.concatenate([tour[:i], tour[i : j + 1][::-1] ^ 1, tour[j + 1 :]])


def _move(ends: np.ndarray, tour: np.ndarray, i: int, count: int, least: float) -> np.ndarray:
    """With the strokes i..i + count - 1 at the place, and in the direction, that gain most."""
    rest, best = np.delete(tour, np.s_[i : i + count]), tour
    begins, finishes = _places(ends, rest)
    gap = np.append(0.0, np.append(_apart(begins[1:], finishes[:-1]), 0.0))
    shortest = None
    for part in (tour[i : i + count], tour[i : i + count][::-1] ^ 1):
        (first, _), (_, last) = _places(ends, part[:1]), _places(ends, part[-1:])
        way = -gap
        way[1:] += _apart(finishes, first)
        way[:-1] += _apart(begins, last)
        shortest = way[i] - least if shortest is None else shortest  # where they are
        k = int(way.argmin())
        if way[k] < shortest:
            shortest = way[k]
            best = np.concatenate([rest[:k], part, rest[k:]])
    return best


def _entry(stroke: Stroke, before: Sequence[Stroke], after: Sequence[Stroke]) -> int:
    """The point of a closed stroke with the shortest way from the stroke before and to the one after."""
    ring, way = stroke.points[:-1], np.zeros(len(stroke.points) - 1)
    for other in before:
        way += np.hypot(*(ring - other.points[-1]).T)
    for other in after:
        way += np.hypot(*(ring - other.points[0]).T)
    return int(way.argmin())
