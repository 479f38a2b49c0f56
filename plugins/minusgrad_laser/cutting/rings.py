"""Rings: outlines of parts as closed lines with a waste side, and what is inside of what.

A ring at an even depth bounds a part, with the waste outside; at an odd depth it bounds a hole, with the
waste inside. The depth is the number of rings around it. Of rings that are drawn twice, one is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError

from ..drawings.drawing import Outline
from ..drawings.polygons import holds_point, signed_area

SAME = 2e-6
"""Rings are drawn twice where no point of one is farther from the other than this [m]."""
SHORT = 1e-7
"""Points of a ring that are closer [m] are one."""


@dataclass(frozen=True, eq=False)
class Ring:
    """A closed line: corners (k, 2) [m], with the waste to the right of its direction; its depth.

    number: of the outline that it comes from. group: of the outline around it that has none around it.
    """

    corners: np.ndarray
    depth: int
    number: int
    group: int

    @property
    def edges(self) -> np.ndarray:
        """The edges (k, 2) [m], from each corner to the next."""
        return np.roll(self.corners, -1, axis=0) - self.corners

    @property
    def normals(self) -> np.ndarray:
        """Unit normals (k, 2) of the edges, towards the waste."""
        edges = self.edges
        return np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.hypot(*edges.T)[:, None]


def rings_of(outlines: Sequence[Outline]) -> tuple[list[Ring], list[str]]:
    """The rings of closed outlines, and remarks about those that are drawn twice.

    Raises `UserError` for an outline without an area.
    """
    shapes: list[np.ndarray] = []
    remarks: list[str] = []
    numbers: list[int] = []
    for number, outline in enumerate(outlines):
        if not outline.closed:
            continue
        corners = _without_repeats(np.asarray(outline.points, float))
        if len(corners) < 3 or abs(signed_area(corners)) < SHORT**2:
            raise UserError(
                f"cut: outline {number} encloses no area, got {len(corners)} corners; take it out"
            )
        twin = next((k for k, other in zip(numbers, shapes, strict=True) if _are_same(corners, other)), None)
        if twin is not None:
            remarks.append(f"outline {number} is outline {twin} once more: it is cut once")
            continue
        shapes.append(corners)
        numbers.append(number)
    found = []
    for k, corners in enumerate(shapes):
        turned = corners if signed_area(corners) > 0.0 else corners[::-1]
        point = _inner_point(turned)
        around = [j for j, other in enumerate(shapes) if j != k and holds_point(other, point)]
        depth, largest = len(around), max(around, key=lambda j: abs(signed_area(shapes[j])), default=k)
        found.append(Ring(turned if depth % 2 == 0 else turned[::-1], depth, numbers[k], numbers[largest]))
    return found, remarks


def _without_repeats(points: np.ndarray) -> np.ndarray:
    """Without points that repeat the one before."""
    return points[np.hypot(*(points - np.roll(points, 1, axis=0)).T) > SHORT]


def _inner_point(corners: np.ndarray) -> np.ndarray:
    """A point inside, a micrometre or less from the longest edge, of a ring that turns to the left."""
    edges = np.roll(corners, -1, axis=0) - corners
    k = int(np.argmax(np.hypot(*edges.T)))
    inwards = np.array([-edges[k, 1], edges[k, 0]]) / np.hypot(*edges[k])
    aside = min(1e-6, 1e-3 * float(np.hypot(*edges[k])))
    return np.asarray(corners[k] + 0.47 * edges[k] + aside * inwards)


def _are_same(one: np.ndarray, other: np.ndarray) -> bool:
    """True if the corners of each lie on the other."""
    if np.abs(one.min(axis=0) - other.min(axis=0)).max() > SAME:
        return False
    return max(distances(one, other).max(), distances(other, one).max()) < SAME


def distances(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Of points (n, 2) to the nearest edge of a ring [m]."""
    a, edge = corners, np.roll(corners, -1, axis=0) - corners
    square = (edge**2).sum(axis=1)
    best = np.full(len(points), np.inf)
    for begin in range(0, len(points), 512):
        off = points[begin : begin + 512, None] - a
        part = np.clip((off * edge).sum(axis=2) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
        best[begin : begin + 512] = np.hypot(*(off - part[:, :, None] * edge).transpose(2, 0, 1)).min(axis=1)
    return best
