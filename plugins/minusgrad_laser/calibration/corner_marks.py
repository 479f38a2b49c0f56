"""Corner marks in a photo: dark discs in dark rings about one centre, at any angle and in uneven light.

A copy of the photo with fewer pixels is divided by its paper, a closing over more than a mark, and cut at
several levels. A mark is a dark component with a hole in which another one lies: the outer rim is an ellipse
(area = 4 pi sqrt(det C), C the covariance of its points), the centres agree, areas are those of its radii.

Decisions 0178.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import pi, sqrt

import numpy as np
from scipy import ndimage

from .sheet import RADII

COARSE = 1600
"""Pixels along the longer side of the copy."""
PAPER = 0.2
"""Size of the closing, over the longer side."""
LEVELS = 0.9, 0.8, 0.65, 0.5
"""Light over that of the paper."""
SMALLEST = 5.0
"""Radius of a mark in pixels of the copy."""
ROUND, CENTRED = 0.1, 0.15
DISC, RING = (0.03, 0.3), (0.35, 0.9)
"""Parts of the area within the rim; by the radii, 0.10 and 0.61."""


@dataclass(frozen=True)
class Mark:
    """A mark at `place` (x, y) in pixels, row 0 at the bottom; `radius` of its rim in pixels."""

    place: tuple[float, float]
    radius: float


def find_marks(light: np.ndarray) -> list[Mark]:
    """All marks in a photo (rows, columns), in no order."""
    factor = max(1, -(-max(light.shape) // COARSE))
    copy = _reduced(light, factor)
    size = max(3, int(PAPER * max(copy.shape)))
    paper = ndimage.grey_closing(copy, (size, size))
    ratio = copy / np.maximum(paper, 1e-3)
    found: list[Mark] = []
    for level in LEVELS:
        for mark in _marks_at_level(ratio < level):
            if all(
                np.hypot(mark.place[0] - a.place[0], mark.place[1] - a.place[1]) > a.radius for a in found
            ):
                found.append(mark)
    shift = 0.5 * (factor - 1)
    return [
        _refined_mark(
            light, Mark((m.place[0] * factor + shift, m.place[1] * factor + shift), m.radius * factor)
        )
        for m in found
    ]


def _reduced(light: np.ndarray, factor: int) -> np.ndarray:
    """Means over factor x factor pixels."""
    rows, columns = (n // factor for n in light.shape)
    cut = light[: rows * factor, : columns * factor]
    return cut.reshape(rows, factor, columns, factor).mean(axis=(1, 3))


def _marks_at_level(dark: np.ndarray) -> list[Mark]:
    labels, _ = ndimage.label(dark, np.ones((3, 3), int))
    found = []
    for number, place in enumerate(ndimage.find_objects(labels), 1):
        high, wide = (one.stop - one.start for one in place)
        if min(high, wide) < 2.0 * SMALLEST or max(high, wide) > 4 * min(high, wide):
            continue
        ring = labels[place] == number
        filled = ndimage.binary_fill_holes(ring)
        area = np.count_nonzero(filled)
        disc = filled & ~ring & dark[place]
        parts = np.count_nonzero(disc) / area, np.count_nonzero(ring) / area
        if not (DISC[0] < parts[0] < DISC[1] and RING[0] < parts[1] < RING[1]):
            continue
        rows, columns = np.nonzero(filled)
        ellipse = 4.0 * pi * sqrt(max(np.linalg.det(np.cov(rows, columns)), 0.0))
        radius = sqrt(area / pi)
        centre = rows.mean(), columns.mean()
        inner = [one.mean() for one in np.nonzero(disc)]
        apart = np.hypot(inner[0] - centre[0], inner[1] - centre[1])
        if abs(ellipse / area - 1.0) < ROUND and apart < CENTRED * radius:
            found.append(Mark((columns.mean() + place[1].start, rows.mean() + place[0].start), radius))
    return found


def _refined_mark(light: np.ndarray, mark: Mark) -> Mark:
    """The mark with the centroid of the darkness of its disc, from all pixels."""
    (x, y), reach = mark.place, mark.radius * 0.5 * (RADII[0] + RADII[1]) / RADII[2]
    for _ in range(3):
        low = [max(0, int(np.floor(z - reach))) for z in (y, x)]
        part = light[low[0] : int(np.ceil(y + reach)) + 1, low[1] : int(np.ceil(x + reach)) + 1]
        rows, columns = np.indices(part.shape)
        rows, columns = rows + low[0], columns + low[1]
        inside = np.hypot(rows - y, columns - x) <= reach
        bright, dark = np.quantile(part[inside], [0.9, 0.05])
        weight = np.where(inside, np.clip((bright - part) / max(bright - dark, 1e-6), 0.0, 1.0), 0.0)
        weight = np.where(weight > 0.2, weight, 0.0)
        total = weight.sum()
        x, y = float((weight * columns).sum() / total), float((weight * rows).sum() / total)
    return Mark((x, y), mark.radius)


def turning_order(marks: list[Mark]) -> np.ndarray:
    """Places (4, 2) of four marks, counter-clockwise about their middle."""
    places = np.array([mark.place for mark in marks])
    away = places - places.mean(axis=0)
    return places[np.argsort(np.arctan2(away[:, 1], away[:, 0]))]


def convex(places: np.ndarray) -> bool:
    """True if places (4, 2) in turning order are the corners of a convex shape."""
    sides = np.diff(np.concatenate([places, places[:1]]), axis=0)
    turned = [a[0] * b[1] - a[1] * b[0] for a, b in pairwise([*sides, sides[0]])]
    return min(turned) > 0.0
