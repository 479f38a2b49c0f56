"""Surroundings as a picture shows them: obstacles, the box, supports and loads, in a view of the bodies."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import obstacle_artists, support_artists
from .saved import Surroundings, surroundings

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

NEAR = 1.5
"""An obstacle that would widen the picture by a larger factor is drawn as far as it lies within."""


class DrawnSurroundings:
    """The surroundings of a run, seen in a view: (2, 2) for the plane, else (3, 3) with the depth last."""

    def __init__(self, run: Path | Surroundings, view: np.ndarray):
        self.around = run if isinstance(run, Surroundings) else surroundings(run)
        self.view = view
        self._drawn: set[Artist] = set()

    def __bool__(self) -> bool:
        return bool(self.around)

    def widened(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The corners (2,) of a picture of bodies, moved apart so that obstacles and the box are seen."""
        for _, one in self.around.spheres:
            centre = (np.asarray(one.centre) @ self.view.T)[:2]
            low, high = self._reached(low, high, centre - one.radius, centre + one.radius)
        for _, cuboid in self.around.cuboids:
            seen = obstacle_artists.corners(cuboid.low, cuboid.high) @ self.view.T
            low, high = self._reached(low, high, seen[:, :2].min(axis=0), seen[:, :2].max(axis=0))
        for _, surface in self.around.facets:
            seen = np.asarray(surface.corners).reshape(-1, 3) @ self.view.T
            low, high = self._reached(low, high, seen[:, :2].min(axis=0), seen[:, :2].max(axis=0))
        if self.around.box is not None:
            for edges in self.around.box.edges[[0, -1]]:
                seen = (obstacle_artists.cube(len(edges)) @ edges @ self.view.T)[:, :2]
                low, high = np.minimum(low, seen.min(axis=0)), np.maximum(high, seen.max(axis=0))
        if len(self.view) == 2:
            return self._beside_planes(low, high)
        edge = 0.05 * float((high - low).max()) * bool(self.around.supports or self.around.loads)
        return low, high + np.array([0.0, edge])

    def _reached(
        self, low: np.ndarray, high: np.ndarray, least: np.ndarray, most: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The corners with a shape inside, unless it is so large that the bodies would be small."""
        size = max(float((high - low).max()), 1e-300)
        allowed = NEAR * size
        return np.maximum(np.minimum(low, least), low - allowed), np.minimum(
            np.maximum(high, most), high + allowed
        )

    def _beside_planes(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The corners moved to just behind planes along the axes that are near."""
        reach = float((high - low).max())
        edge = 0.05 * reach
        low, high = low.copy(), high.copy()
        for _, plane in self.around.planes:
            normal = np.asarray(plane.normal) / np.linalg.norm(plane.normal)
            axis = int(np.argmax(np.abs(normal)))
            if abs(normal[axis]) < 0.999:
                continue
            at = float(plane.point[axis])
            if normal[axis] > 0 and at > low[axis] - NEAR * reach:
                low[axis] = at - edge if at - edge > low[axis] else min(low[axis], at - edge)
            elif normal[axis] < 0 and at < high[axis] + 0.5 * reach:
                high[axis] = at + edge if at + edge < high[axis] else max(high[axis], at + edge)
        return low, high

    def draw(
        self, axes: "Axes", x: np.ndarray, step: int, sizes_above: bool = False, among: bool = False
    ) -> None:
        """Draw everything around nodes x (N, d) at a step, within the limits of the axes.

        sizes_above: sizes of forces stand above the axes, clear of names beside nodes. among: obstacles with
        a volume are drawn already, among the bodies (`plot.solids`).
        """
        obstacle_artists.draw_planes(axes, self.around.planes, x, self.view)
        if not among:
            obstacle_artists.draw_spheres(axes, self.around.spheres, x, self.view)
            obstacle_artists.draw_cuboids(axes, self.around.cuboids, x, self.view)
            obstacle_artists.draw_facets(axes, self.around.facets, x, self.view)
        self.draw_box(axes, step)
        support_artists.draw_supports(axes, self.around.supports, x, self.view)
        support_artists.draw_loads(axes, self.around.loads, x, self.view, sizes_above)

    def redraw(self, axes: "Axes", x: np.ndarray, step: int) -> None:
        """`draw` in a picture that changes: what was drawn before is taken away."""
        for artist in self._drawn:
            artist.remove()
        before = set(axes.get_children())
        self.draw(axes, x, step)
        self._drawn = set(axes.get_children()) - before

    def draw_box(self, axes: "Axes", step: int, colour: str = "") -> None:
        """Draw the edges of the box at a step, if there is one."""
        if self.around.box is not None:
            obstacle_artists.draw_box(axes, self.around.box.at(step), self.view, colour)

    def shortened(self, x: np.ndarray, tuples: np.ndarray, step: int) -> np.ndarray:
        """Mask (E,) of tuples (E, k) whose nodes are beside each other, not at opposite faces of the box."""
        if self.around.box is None or not len(tuples):
            return np.ones(len(tuples), bool)
        edges, nodes = self.around.box.at(step), x[tuples]
        within = (nodes - nodes[:, :1]) @ np.linalg.inv(edges)
        apart = np.abs(within).max(axis=1) > 0.5
        return ~(apart & np.asarray(self.around.box.periodic)).any(axis=1)
