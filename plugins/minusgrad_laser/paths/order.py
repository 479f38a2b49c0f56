"""The order of strokes, and the direction of each, with short travels between them.

    travel = sum_k |begin_{k+1} - end_k|          over the strokes in their order

A tour that goes on to the nearest end of a stroke, or the given order if that is shorter, is improved by
2-opt (Croes 1958: a part of the order is reversed, and each stroke in it) and Or-opt (Or 1976: up to three
strokes are moved to another place), as long as this shortens the travel. No random numbers; ties go to the
lower number.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.spatial import cKDTree

from .stroke import Stroke

PAIRS = 500_000_000
"""Pairs of strokes that are looked at in all: some seconds."""
TOURS = 60
"""So many strokes in all tours that are tried: a few strokes are begun from several of them."""


def arrange_strokes(strokes: Sequence[Stroke]) -> list[Stroke]:
    """The strokes in an order, and each in a direction, of short travel: never longer than as given.

    A closed stroke is entered at the point that is best between its neighbours.
    """
    found = list(strokes)
    for _ in range(2 if any(stroke.is_closed for stroke in found) else 1):
        order, turned = improve_order(np.stack([stroke.points[[0, -1]] for stroke in found]))
        found = [found[k].reversed if flip else found[k] for k, flip in zip(order, turned, strict=True)]
        for k, stroke in enumerate(found):
            if stroke.is_closed and len(found) > 1:
                found[k] = stroke.entered_at(_entry_point(stroke, found[k - 1 : k], found[k + 1 : k + 2]))
    return found


def improve_order(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order (n,) of strokes, and whether each is reversed (n,).

    ends (n, 2, 2): begin and end of each stroke.
    """
    n, z = len(ends), _complex_ends(ends)
    begins = np.linspace(0, 2 * n - 1, min(2 * n, max(1, TOURS // n))).astype(int)
    tours = [np.arange(n) * 2, *(_by_neighbours(z, begin) for begin in begins)]
    if len(begins) == 1:
        tours = [min(tours, key=lambda tour: _tour_length(z, tour))]
    best = min((_shorten_tour(z, tour) for tour in tours), key=lambda tour: _tour_length(z, tour))
    return best // 2, best % 2 == 1


def travel(ends: np.ndarray, order: np.ndarray, turned: np.ndarray) -> float:
    """Length of all travels between strokes (n, 2, 2) in an order (n,), some of them reversed (n,)."""
    return _tour_length(_complex_ends(ends), 2 * order + turned)


# Below, z (2 n,) are the ends as complex numbers, begin and end of each stroke in turn. A tour (n,) is a list
# of the ends at which strokes are entered: 2 k, or 2 k + 1 if stroke k is reversed. The other is tour ^ 1.


def _complex_ends(ends: np.ndarray) -> np.ndarray:
    return np.ravel(ends[..., 0] + 1j * ends[..., 1])


def _tour_length(z: np.ndarray, tour: np.ndarray) -> float:
    return float(abs(z[tour[1:]] - z[tour[:-1] ^ 1]).sum())


def _by_neighbours(z: np.ndarray, begin: int) -> np.ndarray:
    """The tour that enters a stroke at `begin`, and goes on to the nearest end that is left."""
    tour, left = np.full(len(z) // 2, begin), z.copy()
    for k in range(1, len(tour)):
        left[[tour[k - 1], tour[k - 1] ^ 1]] = np.inf
        tour[k] = abs(left - z[tour[k - 1] ^ 1]).argmin()
    return tour


def _shorten_tour(z: np.ndarray, tour: np.ndarray) -> np.ndarray:
    """By 2-opt and Or-opt, until neither shortens it.

    Tried are the travels that are longer than the way from one of their ends to another stroke; one that
    failed is tried again only after all the others have failed, too.
    """
    n, near, least = len(tour), _nearest_ends(z), 1e-12 * float(abs(z - z[0]).max())
    looks, begun = PAIRS // (8 * n), None
    while tour is not begun and looks > 0:
        begun, before, tried = tour, None, set[tuple[int, int]]()
        while tour is not before:
            before = tour
            for k in range(1, n):
                a, b = int(tour[k - 1] ^ 1), int(tour[k])
                if looks > 0 and (a, b) not in tried:
                    tried |= {(a, b), (b, a)}
                    if abs(z[a] - z[b]) > min(near[a], near[b]) + least:
                        tour, looks = _changed_tour(z, tour, k, least), looks - 1
    return tour


def _nearest_ends(z: np.ndarray) -> np.ndarray:
    """The distance (2 n,) from each end to the nearest end of another stroke."""
    places, own = np.stack([z.real, z.imag], axis=1), np.arange(len(z)) // 2
    apart, found = cKDTree(places).query(places, min(3, len(z)))
    return np.where(found // 2 == own[:, None], np.inf, apart).min(axis=1)


def _changed_tour(z: np.ndarray, tour: np.ndarray, k: int, least: float) -> np.ndarray:
    """A shorter tour without the travel to place k; the same array if there is none."""
    views = [(tour, k), (tour[::-1] ^ 1, len(tour) - k)]
    changes: list[Callable[..., np.ndarray]] = [_reversed_part, *MOVES]
    for change in changes:
        for view, i in views:
            changed = change(z, view, i, least)
            if changed is not view:
                return changed if view is tour else changed[::-1] ^ 1
    return tour


def _reversed_part(z: np.ndarray, tour: np.ndarray, i: int, least: float) -> np.ndarray:
    """With the part i..j reversed that gains most, i > 0; the same array if none gains."""
    begins, finishes, last = z[tour[i:]], z[tour[i:] ^ 1], z[tour[i - 1] ^ 1]
    gain = abs(begins[0] - last) - abs(finishes - last)
    gain[:-1] += abs(begins[1:] - finishes[:-1]) - abs(begins[1:] - begins[0])
    j = int(gain.argmax())
    if gain[j] <= least:
        return tour
    return np.concatenate([tour[:i], tour[i : i + j + 1][::-1] ^ 1, tour[i + j + 1 :]])


def _moved_strokes(count: int, z: np.ndarray, tour: np.ndarray, i: int, least: float) -> np.ndarray:
    """With the strokes i..i + count - 1 at the place, and in the direction, that gain most."""
    part, rest = tour[i : i + count], np.concatenate([tour[:i], tour[i + count :]])
    if len(part) < count or not len(rest):
        return tour
    begins, finishes = z[rest], z[rest ^ 1]
    gap = np.zeros(len(rest) + 1)
    gap[1:-1] = abs(begins[1:] - finishes[:-1])
    best, shortest = tour, np.inf
    for piece in (part, part[::-1] ^ 1):
        way = -gap
        way[1:] += abs(finishes - z[piece[0]])
        way[:-1] += abs(begins - z[piece[-1] ^ 1])
        shortest = way[i] - least if piece is part else shortest  # where they are
        k = int(way.argmin())
        if way[k] < shortest:
            shortest, best = way[k], np.concatenate([rest[:k], piece, rest[k:]])
    return best


MOVES = [partial(_moved_strokes, count) for count in (1, 2, 3)]


def _entry_point(stroke: Stroke, before: Sequence[Stroke], after: Sequence[Stroke]) -> int:
    """The point of a closed stroke with the shortest way from the stroke before and to the one after."""
    ring, way = stroke.points[:-1], np.zeros(len(stroke.points) - 1)
    for other in before:
        way += np.hypot(*(ring - other.points[-1]).T)
    for other in after:
        way += np.hypot(*(ring - other.points[0]).T)
    return int(way.argmin())
