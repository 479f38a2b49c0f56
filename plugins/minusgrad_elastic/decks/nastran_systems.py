"""Coordinate systems of Nastran: by three points of another one (CORD2), or by three GRIDs (CORD1).

The first point is the origin, the second on the z axis, the third in the plane of x and z, at positive x.
Source: MSC Nastran Quick Reference Guide (CORD1R, CORD1C, CORD1S, CORD2R, CORD2C, CORD2S, GRID, GRDSET).
"""

import numpy as np

from .bulk_lines import Card
from .coordinate_systems import Axes, axes_z, cylinder_points, sphere_points


class Systems:
    """Coordinate systems by number, and the places of points in them."""

    def __init__(
        self, grids: dict[int, Card], systems: dict[int, tuple[Card, int]], default: Card | None
    ) -> None:
        self.grids, self.systems, self.default = grids, systems, default
        self.found: dict[int, tuple[str, Axes]] = {}
        self.raw = {n: np.array([card.real(k) for k in (2, 3, 4)]) for n, card in grids.items()}

    def points(self) -> np.ndarray:
        """X (n, 3) of all points, in their order."""
        raw = np.array([*self.raw.values()]).reshape(-1, 3)
        systems = np.array([self._system_of(card) for card in self.grids.values()], int)
        cards = [*self.grids.values()]
        for number in np.unique(systems):
            own = systems == number
            raw[own] = self._placed(int(number), raw[own], cards[int(np.argmax(own))], ())
        return raw

    def _system_of(self, card: Card) -> int:
        default = self.default.whole(1, 0) if self.default is not None else 0
        return card.whole(1, default)

    def _placed(self, number: int, points: np.ndarray, by: Card, above: tuple[int, ...]) -> np.ndarray:
        if number == 0:
            return points
        form, axes = self._axes(number, by, above)
        local = {"C": cylinder_points, "S": sphere_points}.get(form, lambda same: same)(points)
        return axes.placed(local)

    def _axes(self, number: int, by: Card, above: tuple[int, ...]) -> tuple[str, Axes]:
        if number in self.found:
            return self.found[number]
        if number not in self.systems:
            by.fail(f"is in the coordinate system {number}, which is not there")
        card, start = self.systems[number]
        if number in above:
            card.fail(f"system {number} is defined by itself")
        above = (*above, number)
        if card.name.startswith("CORD1"):
            three = np.array([self._place_of(card.whole(start + k), card, above) for k in (1, 2, 3)])
        else:
            three = np.array([[card.real(2 + 3 * k + i) for i in range(3)] for k in range(3)])
            three = self._placed(card.whole(1, 0), three, card, above)
        axes = axes_z(*three)
        if axes is None:
            card.fail(f"the three points of system {number} lie on a line")
        self.found[number] = card.name[-1], axes
        return self.found[number]

    def _place_of(self, point: int, card: Card, above: tuple[int, ...]) -> np.ndarray:
        if point not in self.raw:
            card.fail(f"is defined by point {point}, which is not there")
        grid = self.grids[point]
        return self._placed(self._system_of(grid), self.raw[point][None], grid, above)[0]
