"""What is around the bodies of a page: obstacles, the box, supports and loads."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plot import style
from ..plot.surroundings import obstacle_artists
from ..plot.surroundings.saved import Surroundings, surroundings
from ..scene.shapes import Pressure
from .drawings import line_bytes, rgb, rgb8
from .space import SIDE, Space

if TYPE_CHECKING:
    from viser import SceneApi

FAR = 1.5
"""An obstacle that would make the page larger by a larger factor does not count for its size."""
CLEAR = 0.35
"""How opaque obstacles are."""
ARROW = 0.1
"""The length of the largest load, in units of the longest side."""
ARROWS = 16


class Around:
    """The surroundings of a run on a page."""

    def __init__(self, run: Path):
        self.what: Surroundings = surroundings(run)
        self.parts: dict[str, Any] = {}

    def corners(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Points (n, d) that the page shows, too, beside bodies between two corners."""
        reach, shapes = float((high - low).max()), []
        for _, ball in self.what.spheres:
            centre = np.asarray(ball.centre, float)
            shapes.append(np.stack([centre - ball.radius, centre + ball.radius]))
        shapes += [np.array([block.low, block.high], float) for _, block in self.what.cuboids]
        shapes += [np.asarray(one.corners).reshape(-1, 3) for _, one in self.what.facets]
        near = [
            one for one in shapes if np.ptp(np.vstack([one, low, high]), axis=0).max() <= (1 + FAR) * reach
        ]
        if self.what.box is not None:
            near += [obstacle_artists.cube(len(low)) @ edges for edges in self.what.box.edges[[0, -1]]]
        return np.concatenate([np.stack([low, high]), *near])

    def put(self, scene: "SceneApi", space: Space) -> None:
        """Put them on a page."""
        self._space, self.parts = space, {}
        what = self.what
        pens: dict[str, Any] = {"color": rgb8(style.FAINT), "opacity": CLEAR, "side": "double"}
        pens |= {"cast_shadow": False, "receive_shadow": False}
        if what.planes or what.spheres or what.cuboids or what.facets:
            self.parts["obstacles"] = scene.add_frame("/obstacles", show_axes=False)
        for number, (_, plane) in enumerate(what.planes):
            corners, faces = _obstacle_sheet(
                space, np.asarray(plane.point, float), np.asarray(plane.normal, float)
            )
            scene.add_mesh_simple(f"/obstacles/plane {number}", corners, faces, **pens)
        for number, (_, ball) in enumerate(what.spheres):
            place, radius = space(np.asarray(ball.centre, float)), float(ball.radius) * space.scale
            scale = (radius, radius, 0.02 if space.is_flat else radius)
            scene.add_icosphere(
                f"/obstacles/ball {number}", 1.0, position=place, scale=scale, **_solid_pens(pens)
            )
        for number, (_, block) in enumerate(what.cuboids):
            low, high = space(np.array([block.low, block.high], float))
            size = tuple(np.maximum(high - low, 0.02))
            scene.add_box(
                f"/obstacles/block {number}", dimensions=size, position=(low + high) / 2, **_solid_pens(pens)
            )
        for number, (_, surface) in enumerate(what.facets):
            corners = space(np.asarray(surface.corners, float).reshape(-1, 3))
            faces = np.arange(len(corners)).reshape(-1, 3)
            scene.add_mesh_simple(f"/obstacles/surface {number}", corners, faces, **_solid_pens(pens))
        if what.box is not None:
            cube = obstacle_artists.cube(len(what.box.edges[0]))
            apart = np.abs(cube[:, None] - cube).sum(axis=-1)
            self._sides = np.argwhere(np.triu(apart == 1))
            points = np.zeros((len(self._sides), 2, 3), np.float32)
            pen: dict[str, Any] = {
                "colors": line_bytes(rgb(style.FAINT)),
                "thickness": 1.5,
                "thickness_units": "screen",
            }
            self.parts["box"] = scene.add_line_segments("/box", points, **pen)
        held = [support.nodes for support in what.supports]
        self._held = np.unique(np.concatenate(held)) if held else np.zeros(0, int)
        if len(self._held):
            self.parts["supports"] = scene.add_point_cloud(
                "/supports",
                np.zeros((len(self._held), 3)),
                rgb8(style.INK),
                point_size=float(np.clip(0.1 / len(self._held) ** 0.25, 0.03, 0.1)),
                point_shape="square",
                point_shading="flat",
                precision="float32",
            )
        self._loads = [load for load in what.loads if not isinstance(load.shape, Pressure)]
        self._arrows = []
        if self._loads:
            self.parts["loads"] = scene.add_frame("/loads", show_axes=False)
            for number, _ in enumerate(self._loads):
                arrow: dict[str, Any] = {"shaft_radius": 0.025, "head_radius": 0.07, "head_length": 0.16}
                points = np.zeros((1, 2, 3), np.float32)
                self._arrows.append(
                    scene.add_arrows(f"/loads/{number}", points, rgb8(style.COLOURS[3]), **arrow)
                )

    def show(self, x: np.ndarray, step: int) -> None:
        """Nodes x (N, 3) of the page at a step."""
        if self.what.box is not None:
            edges = self.what.box.at(step)
            self.parts["box"].points = self._space(obstacle_artists.cube(len(edges)) @ edges)[self._sides]
        if len(self._held):
            self.parts["supports"].points = x[self._held]
        for load, arrow in zip(self._loads, self._arrows, strict=True):
            arrow.points = _load_arrows(load, x)


def _load_arrows(load: Any, x: np.ndarray) -> np.ndarray:
    """Arrows (n, 2, 3) that end at the elements of a load; one at the centre for a load of all nodes."""
    vectors = np.atleast_2d(np.asarray(load.shape.vector, float))
    elements = load.elements
    places = x[elements].mean(axis=1) if elements.size else x.mean(axis=0, keepdims=True)
    vectors = np.broadcast_to(vectors, (len(places), vectors.shape[1])) if len(vectors) == 1 else vectors
    if len(vectors) != len(places):
        vectors = np.broadcast_to(vectors.mean(axis=0), (len(places), vectors.shape[1]))
    kept = np.unique(np.linspace(0, len(places) - 1, min(ARROWS, len(places))).astype(int))
    along = np.zeros((len(kept), 3))
    along[:, : vectors.shape[1]] = vectors[kept]
    along *= ARROW * SIDE / (np.linalg.norm(along, axis=1).max() or 1.0)
    return np.stack([places[kept] - along, places[kept]], axis=1).astype(np.float32)


def _obstacle_sheet(space: Space, point: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A square (4, 3) of a plane, or an upright strip of a line in the plane, with its faces (2, 3)."""
    normal = normal / np.linalg.norm(normal)
    centre = space.centre - ((space.centre - point) @ normal) * normal
    up = np.append(normal, 0.0)[:3]
    one = np.cross(up, [0.0, 0.0, 1.0] if space.is_flat or abs(up[2]) < 0.9 else [1.0, 0.0, 0.0])
    one /= np.linalg.norm(one)
    wide = 0.6 * SIDE * one
    if space.is_flat:
        deep = -0.03 * SIDE * up
        rim = np.stack([-wide, wide, wide + deep, -wide + deep])
    else:
        deep = 0.6 * SIDE * np.cross(up, one)
        rim = np.stack([-wide - deep, wide - deep, wide + deep, -wide + deep])
    return (space(centre) + rim).astype(np.float32), np.array([[0, 1, 2], [0, 2, 3]], np.uint32)


def _solid_pens(pens: dict[str, Any]) -> dict[str, Any]:
    return {name: pen for name, pen in pens.items() if name != "side"}
