"""Tubes and sheets on the page: one mesh for each colour of their facets.

Decisions 0138.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..plot.mesh_artists import Colours
from ..plot.solids import shading
from ..plot.solids.pieces import Piece
from ..plot.solids.solid_artists import STRIPE, DrawnSolids
from . import drawings
from .drawings import LEVELS

if TYPE_CHECKING:
    from viser import SceneApi

FACETS = 6_000
"""Of the tubes of a list, some: a saved page has them in every frame."""


class Solids:
    """The elements of one list as tubes or as a sheet; `turned` are their frames, (E, 4), or None."""

    def __init__(self, scene: "SceneApi", name: str, drawn: DrawnSolids, tuples: str):
        self.node = scene.add_frame(name, show_axes=False)
        self._scene, self._name, self._drawn, self._list = scene, name, drawn, tuples
        self._meshes: dict[tuple[int, int, int], Any] = {}
        self.turned: np.ndarray | None = None

    def show(self, x: np.ndarray, values: np.ndarray | None, scale: Colours | None) -> None:
        """Nodes x (N, 3) of the page; values (E,) of the elements."""
        rgb = {}
        if values is not None and scale is not None:
            share = np.nan_to_num(np.ma.filled(scale.norm(values), 0.0))
            level = np.clip(LEVELS * share, 0, LEVELS - 1).astype(int)
            rgb = {self._list: scale.cmap((level + 0.5) / LEVELS)[:, :3]}
        turned = {} if self.turned is None else {self._list: self.turned}
        piece = self._drawn.piece(x.astype(float), turned, rgb, most=FACETS)
        colours, which = np.unique(_facet_bytes(piece), axis=0, return_inverse=True)
        which = which.reshape(-1)
        keys = [(int(r), int(g), int(b)) for r, g, b in colours]
        for key in self._meshes.keys() - set(keys):
            self._fill(key, np.repeat(x[:1, None], 3, axis=1))
        for number, key in enumerate(keys):
            self._fill(key, piece.corners[which == number])

    def _fill(self, key: tuple[int, int, int], corners: np.ndarray) -> None:
        """Give the mesh of a colour its facets (F, 3, 3)."""
        points, faces = np.unique(corners.reshape(-1, 3).astype(np.float32), axis=0, return_inverse=True)
        faces = faces.reshape(-1, 3).astype(np.uint32)
        if len(points) < 3:
            points = np.repeat(points[:1], 3, axis=0)
        if key not in self._meshes:
            self._meshes[key] = self._scene.add_mesh_simple(
                f"{self._name}/colour {len(self._meshes)}",
                points,
                faces,
                color=key,
                side="front",
                cast_shadow=False,
                receive_shadow=False,
            )
            return
        self._meshes[key].vertices, self._meshes[key].faces = points, faces


def _facet_bytes(piece: Piece) -> np.ndarray:
    """The colour (F, 3) of each facet, in bytes."""
    found = piece.rgb.mean(axis=1)
    middle = piece.turn.mean(axis=1)
    for at, half in shading.STRIPES:
        found[np.abs((middle - at + 0.5) % 1.0 - 0.5) < max(half, 0.03)] = drawings.rgb(STRIPE)
    return drawings.bytes_of(found)
