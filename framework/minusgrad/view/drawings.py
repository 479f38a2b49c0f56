"""Things on the page that change from frame to frame: filled cells, lines, dots, and paths with names.

Each has a node of its own in the tree of the page, by which it is shown and hidden. Colours come as values of
its elements with their scale, or as None for its own colour.

Decisions 0395.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..plot import mesh_artists, style
from ..plot.mesh_artists import Colours, DrawnList
from ..plot.shapes import surfaces
from .space import SIDE, Space

if TYPE_CHECKING:
    from viser import SceneApi

LEVELS = 32
"""A mesh of the page has one colour: cells of different colours are so many meshes."""
MANY_EDGES = 3_000


class Cells:
    """The polygons of a list of cells: flat faces in the colours of `LEVELS` levels of a scale."""

    def __init__(self, scene: "SceneApi", name: str, part: DrawnList, edged: bool = True):
        self.node = scene.add_frame(name, show_axes=False)
        self._faces, polygon = surfaces.fans(part.shown)
        self._owner = part.owner[polygon]
        nowhere, none = np.zeros((3, 3), np.float32), np.zeros((1, 3), np.uint32)
        self._meshes = [
            scene.add_mesh_simple(
                f"{name}/level {level}",
                nowhere,
                none,
                flat_shading=True,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
            for level in range(LEVELS)
        ]
        self._empty = [True] * LEVELS
        edges = part.rim if len(part.rim) else surfaces.sides(part.shown)
        self._edges = edges if edged and len(edges) <= MANY_EDGES else edges[:0]
        if len(self._edges):
            points = np.zeros((len(self._edges), 2, 3), np.float32)
            self._lines = scene.add_line_segments(
                f"{name}/edges", points, line_bytes(rgb(style.FAINT)), thickness=1.0, thickness_units="screen"
            )

    def show(self, x: np.ndarray, values: np.ndarray | None, scale: Colours | None) -> None:
        """Nodes x (N, 3) of the page; values (E,) of the cells."""
        if values is None or scale is None:
            self._fill_meshes(0, x, self._faces)
            self._paint_meshes([mesh_artists.PLAIN] * LEVELS)
            for level in range(1, LEVELS):
                self._fill_meshes(level, x, self._faces[:0])
        else:
            share = np.nan_to_num(np.ma.filled(scale.norm(values), 0.0))[self._owner]
            of_face = np.clip(LEVELS * share, 0, LEVELS - 1).astype(int)
            self._paint_meshes(scale.cmap((np.arange(LEVELS) + 0.5) / LEVELS)[:, :3])
            for level in range(LEVELS):
                self._fill_meshes(level, x, self._faces[of_face == level])
        if len(self._edges):
            self._lines.points = x[self._edges]

    def _fill_meshes(self, level: int, x: np.ndarray, faces: np.ndarray) -> None:
        mesh, empty = self._meshes[level], not len(faces)
        if empty and self._empty[level]:
            return
        self._empty[level] = empty
        used, corners = np.unique(faces if len(faces) else np.zeros((1, 3), int), return_inverse=True)
        mesh.vertices = np.repeat(x[used], 3, axis=0) if empty else x[used]
        mesh.faces = corners.reshape(-1, 3).astype(np.uint32)

    def _paint_meshes(self, pens: Iterable[object]) -> None:
        for mesh, pen in zip(self._meshes, pens, strict=True):
            if (colour := rgb8(pen)) != mesh.color:
                mesh.color = colour


class Lines:
    """The lines of a list of pairs of nodes; `whole` (E,) are those that are drawn."""

    def __init__(self, scene: "SceneApi", name: str, pairs: np.ndarray):
        self._pairs, self._pen = pairs, rgb(style.COLOURS[0])
        self.whole = np.ones(len(pairs), bool)
        points, colours = np.zeros((len(pairs), 2, 3), np.float32), np.zeros((len(pairs), 2, 3), np.uint8)
        width = float(np.clip(90 / np.sqrt(len(pairs)), 1.5, 5.0))
        self.node = scene.add_line_segments(name, points, colours, thickness=width, thickness_units="screen")

    def stand_back(self) -> None:
        """Draw thin grey lines, which do not hide the nodes."""
        self._pen, self.node.thickness = rgb(style.FAINT), 1.0

    def show(self, x: np.ndarray, values: np.ndarray | None, scale: Colours | None) -> None:
        """Nodes x (N, 3) of the page; values (E,) of the lines."""
        pens = line_bytes(np.tile(self._pen, (len(self._pairs), 1)))
        if values is not None and scale is not None:
            pens = line_bytes(scale(values)[:, :3])
        ends = np.where(self.whole[:, None], self._pairs, self._pairs[:, :1])  # others have no length
        self.node.points = x[ends]
        self.node.colors = np.repeat(pens[:, None], 2, axis=1)


class Dots:
    """Some of the nodes, as dots of one size, in a colour of their own (n, 3) or (3,)."""

    def __init__(self, scene: "SceneApi", name: str, nodes: np.ndarray, rgb: np.ndarray, size: float):
        self._nodes, self._rgb = nodes, bytes_of(np.broadcast_to(rgb, (len(nodes), 3)))
        self.node = scene.add_point_cloud(
            name,
            np.zeros((len(nodes), 3)),
            self._rgb,
            point_size=size,
            point_shape="circle",
            precision="float32",
        )

    def show(self, x: np.ndarray, values: np.ndarray | None, scale: Colours | None) -> None:
        """Nodes x (N, 3) of the page; values (N,) of all nodes."""
        self.node.points = x[self._nodes]
        self.node.colors = (
            self._rgb if values is None or scale is None else bytes_of(scale(values[self._nodes])[:, :3])
        )


class Names:
    """Names beside a few nodes."""

    def __init__(self, scene: "SceneApi", name: str, names: Sequence[str]):
        self.node = scene.add_frame(name, show_axes=False)
        self._labels = [
            scene.add_label(f"{name}/{number}", text, anchor="bottom-left", font_screen_scale=0.8)
            for number, text in enumerate(names)
        ]

    def show(self, x: np.ndarray, values: np.ndarray | None, scale: Colours | None) -> None:
        for label, place in zip(self._labels, x, strict=False):
            label.position = place


class DrawnPaths:
    """The paths of a few nodes, x (T, N, 3) on the page, in their colours (N, 3): they do not change."""

    LONGEST = 1_500

    def __init__(self, scene: "SceneApi", name: str, x: np.ndarray, rgb: np.ndarray):
        self._scene, self._name, self._rgb = scene, name, rgb
        self._width = float(np.clip(30 / np.sqrt(x.shape[1]), 1.0, 2.0))
        self.lay(x)

    def lay(self, x: np.ndarray) -> None:
        """Draw the paths; those that have grown are drawn again."""
        x = x[:: 1 + len(x) // self.LONGEST]
        points = np.stack([x[:-1], x[1:]], axis=2).reshape(-1, 2, 3)
        pale = line_bytes(0.45 + 0.55 * self._rgb)
        colours = np.broadcast_to(pale[None, :, None], (len(x) - 1, len(pale), 2, 3)).reshape(-1, 2, 3)
        self.node = self._scene.add_line_segments(
            self._name,
            points,
            np.ascontiguousarray(colours),
            thickness=self._width,
            thickness_units="screen",
        )

    def show(self, x: np.ndarray, values: np.ndarray | None, scale: Colours | None) -> None:
        """Nothing changes."""


def dot_size(space: Space, count: int, fine: bool) -> float:
    """A size of so many dots, which fill a part of the space that they have; fine ones a smaller part."""
    sides = space.size[space.size > 0.05 * SIDE]
    share = float(np.prod(sides)) / max(count, 1)
    return float(
        np.clip((0.06 if fine else 0.3) * share ** (1 / max(len(sides), 1)), 0.001 * SIDE, 0.028 * SIDE)
    )


def rgb(colour: object) -> np.ndarray:
    """A colour of Matplotlib, (3,), from 0 to 1."""
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(colour))  # type: ignore[arg-type]


def rgb8(colour: object) -> tuple[int, int, int]:
    """A colour of Matplotlib as three bytes."""
    red, green, blue = map(int, bytes_of(rgb(colour)))
    return red, green, blue


def line_bytes(rgb: np.ndarray) -> np.ndarray:
    """Colours (n, 3) as bytes for lines, which viser 1.1 brightens: it takes them as linear light."""
    return bytes_of(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4))


def bytes_of(rgb: np.ndarray) -> np.ndarray:
    """Colours (n, 3) from 0 to 1 as bytes."""
    return np.clip(np.round(255 * rgb), 0, 255).astype(np.uint8)
