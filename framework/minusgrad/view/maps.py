"""Fields over grids on the page: a plane grid as an image or a surface, one in space by middle layers.

Numbers along a line are a curve.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.h5md import Raster
from ..plot import layers, style
from ..plot.mesh_artists import Colours, DrawnList
from .drawings import Cells, bytes_of, line_bytes, rgb
from .space import SIDE, Space

if TYPE_CHECKING:
    from viser import SceneApi

COARSE = 96
"""A surface has at most so many cells along a side."""
TALL = 0.3
"""The height of a curve above its line, in units of the length of that."""
HIGH = 0.15
"""The height of a surface, in units of the longest side."""


def corners(raster: Raster) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper corner (d,) of a grid, x first; of one axis with room for a curve around it."""
    edges = raster.edges[::-1]
    if len(edges) == 1:
        room = TALL * (edges[0][1] - edges[0][0])
        edges = [edges[0], (-room, room)]
    low, high = np.transpose(edges)
    return low, high


class Images:
    """The layers of a grid that pictures show, as images in their places."""

    def __init__(self, scene: "SceneApi", name: str, raster: Raster, space: Space):
        from viser.transforms import SO3

        self.raster, self._cuts = raster, layers.cuts(raster)
        self.node, self._images = scene.add_frame(name, show_axes=False), []
        low, high = corners(raster)
        for cut in self._cuts:
            left, right, bottom, top = cut.extent
            along = np.eye(3)["xyz".index(cut.letters[0])]
            up = np.eye(3)["xyz".index(cut.letters[1])]
            centre = (low + high) / 2
            if cut.axis is not None:
                centre[2 - cut.axis] = raster.shape[cut.axis] // 2 * raster.spacing
            turned = SO3.from_matrix(np.stack([along, -up, np.cross(along, -up)], axis=1))
            width, height = (right - left) * space.scale, (top - bottom) * space.scale
            blank, title = np.zeros((2, 2, 3), np.uint8), f"{name}/{''.join(cut.letters)}"
            place: dict[str, Any] = {"wxyz": turned.wxyz, "position": space(centre, -0.02)}
            self._images.append(scene.add_image(title, blank, width, height, format="png", **place))

    def show(self, values: np.ndarray, scale: Colours) -> None:
        """The field (*shape) in the colours of its scale."""
        for cut, image in zip(self._cuts, self._images, strict=True):
            layer = cut.of(values)[::-1]
            image.image = bytes_of(scale(layer))


class Profile:
    """Numbers along a line, as a curve above and below a straight line, which stands for zero.

    A single number is a bar as wide as its cell.
    """

    def __init__(self, scene: "SceneApi", name: str, raster: Raster, space: Space):
        self.raster, self._space = raster, space
        self._x = np.arange(raster.cells) * raster.spacing
        if raster.cells == 1:
            self._x = np.array(raster.edges[0])
        self._room = TALL * raster.cells * raster.spacing
        self.node = scene.add_frame(name, show_axes=False)
        nowhere = np.zeros((len(self._x) - 1, 2, 3), np.float32)
        base = space(np.array([[self._x[0], 0.0], [self._x[-1], 0.0]]), -0.01)[None]
        screen: dict[str, Any] = {"thickness_units": "screen"}
        scene.add_line_segments(f"{name}/zero", base, line_bytes(rgb(style.FAINT)), thickness=1.0, **screen)
        pens = np.zeros((len(nowhere), 2, 3), np.uint8)
        self._curve = scene.add_line_segments(f"{name}/curve", nowhere, pens, thickness=3.0, **screen)

    def show(self, values: np.ndarray, scale: Colours) -> None:
        """The numbers (n,) in the colours of their scale, which also is that of heights."""
        reach = max(abs(float(scale.norm.vmin or 0.0)), abs(float(scale.norm.vmax or 0.0))) or 1.0
        values = np.resize(np.asarray(values, float), len(self._x))
        points = self._space(np.stack([self._x, self._room * np.nan_to_num(values) / reach], axis=1))
        self._curve.points = np.stack([points[:-1], points[1:]], axis=1)
        pens = line_bytes(scale(values)[:, :3])
        self._curve.colors = np.stack([pens[:-1], pens[1:]], axis=1)


class Surface:
    """A field over a plane grid as heights of a surface."""

    def __init__(self, scene: "SceneApi", name: str, raster: Raster, space: Space):
        self._stride = -(-max(raster.shape) // COARSE)
        rows, columns = (np.arange(0, count, self._stride) for count in raster.shape)
        grid = np.stack(np.meshgrid(columns, rows), axis=-1) * raster.spacing
        self._base = space(grid.reshape(-1, 2))
        number = np.arange(len(self._base)).reshape(len(rows), len(columns))
        quads = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], axis=-1)
        quads, none = quads.reshape(-1, 4), np.empty((0, 2), int)
        part = DrawnList(quads, np.arange(len(quads)), quads[:, 0], none, none)
        self._cells, self._quads = Cells(scene, name, part, edged=False), quads
        self.node = self._cells.node

    def show(self, values: np.ndarray, scale: Colours) -> None:
        """The field (rows, columns) in the colours of its scale, which also is that of heights."""
        flat = values[:: self._stride, :: self._stride].astype(float).ravel()
        reach = max(abs(float(scale.norm.vmin or 0.0)), abs(float(scale.norm.vmax or 0.0))) or 1.0
        x = self._base.copy()
        x[:, 2] = HIGH * SIDE * np.clip(flat / reach, -1.0, 1.0)
        self._cells.show(x, flat[self._quads].mean(axis=1), scale)
