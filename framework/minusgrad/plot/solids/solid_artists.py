"""Tubes, sheets and obstacles as one shaded image in a picture, each hidden by what is nearer.

Decisions 0138.
"""

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md, trajectory
from ...files.frames.looks import ListLook
from .. import mesh_artists, readings
from ..mesh_artists import DrawnList
from ..shapes import surfaces
from ..surroundings.saved import Surroundings
from . import shading
from .obstacles import obstacle_pieces
from .pieces import Piece, joined, unit
from .sheets import sheet
from .tubes import FACETS, tubes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

FRONT, BACK, STRIPE, ROD = "#8fb8de", "#ecc98a", "#ffdca6", "#1f6fae"
"""Both sides of a sheet, stripes, tubes: blue and yellow are told apart by all readers."""
FINE = 2
"""Pixels of the image along one of the picture, before it is reduced."""
MOST_PIXELS = 12_000_000
THINNEST = 4.0
"""Points (1/72 inch) that a tube is wide at least; one drawn thicker than it is says so."""
ORDER = 2.1
"""Above cells, below lines, dots and symbols."""


class DrawnSolids:
    """The lists of a run that look like tubes or sheets, in a view (3, 3) of space; false if there are none.

    Facets of three nodes in space without a look are a sheet without thickness.
    """

    def __init__(self, run: Path, lists: Mapping[str, np.ndarray], view: np.ndarray):
        self.run, self.view = run, view
        self.looks: dict[str, ListLook] = {}
        self.lists: dict[str, np.ndarray] = {}
        self.series: dict[str, str] = {}
        """The series of the frames of tubes, by list."""
        if len(view) == 2:
            return
        known, size = trajectory.looks(run), readings.factor(run, h5md.POSITION)
        for name, rows in lists.items():
            found = known.get(name)
            if found is None and rows.shape[1] == 3:
                found = ListLook("sheet", np.zeros((len(rows), 1)))
            if found is not None and len(found.sizes) == len(rows):
                self.looks[name] = ListLook(found.shape, size * found.sizes, found.frames)
                self.lists[name] = rows
        recorded = set(trajectory.names(run))
        self.series = {
            name: f"{h5md.FRAMES}/{one.frames}"
            for name, one in self.looks.items()
            if one.frames and f"{h5md.FRAMES}/{one.frames}" in recorded
        }

    def __bool__(self) -> bool:
        return bool(self.looks)

    @property
    def reach(self) -> float:
        """How far a surface is from its nodes at most."""
        return max((0.5 * float(one.sizes.max(initial=0.0)) for one in self.looks.values()), default=0.0)

    def keep(self, whole: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The masks (E,) of elements that are drawn, by list."""
        return {name: whole.get(name, np.ones(len(rows), bool)) for name, rows in self.lists.items()}

    def piece(
        self,
        x: np.ndarray,
        turned: Mapping[str, np.ndarray],
        rgb: Mapping[str, np.ndarray],
        thicker: float = 1.0,
        whole: Mapping[str, np.ndarray] | None = None,
        most: int = FACETS,
    ) -> Piece:
        """The surfaces between nodes x (N, 3), in space.

        turned: quaternions (E, 4) by list; rgb: colours (E, 3) by list, of sheets also (E, 3, 3) of corners;
        thicker: what widths of tubes are multiplied by. whole: masks (E,) of the elements that are drawn.
        most: facets of the tubes of a list, some.
        """
        found = []
        for name, kept in self.keep(whole or {}).items():
            one, rows, given, q = self.looks[name], self.lists[name][kept], rgb.get(name), turned.get(name)
            if one.is_sheet:
                front = _plain(FRONT, len(rows)) if given is None else given[kept][..., :3]
                back = _plain(BACK, len(rows)) if given is None else front
                found.append(sheet(x, rows, one.sizes[kept, 0], front, back))
            else:
                colour = _plain(ROD, len(rows)) if given is None else given[kept][:, :3]
                second = _plain(STRIPE, len(rows)) if given is None else 0.6 * colour
                q, widths = None if q is None else q[kept], thicker * one.sizes[kept]
                found.append(tubes(x, rows, widths, q, one.shape, colour, second, most))
        return joined(found)

    def draw(
        self,
        axes: "Axes",
        x: np.ndarray,
        turned: Mapping[str, np.ndarray],
        rgb: Mapping[str, np.ndarray],
        around: Surroundings | None = None,
        others: Mapping[str, DrawnList] | None = None,
        whole: Mapping[str, np.ndarray] | None = None,
    ) -> float:
        """Draw the surfaces with the obstacles around, within the limits of the axes.

        others: boundaries of solid cells, with their nodes x. Returns what widths of tubes were multiplied by
        to be seen.
        """
        scale, fine = _resolution(axes)
        widths = [one.sizes.max(axis=1) for one in self.looks.values() if not one.is_sheet]
        least = THINNEST / 72.0 * _dpi(axes) * fine
        thicker = max(1.0, least / (scale * float(np.median(np.concatenate(widths))))) if widths else 1.0
        pieces = [self.piece(x, turned, rgb, thicker, whole), *_bodies(x, others or {}, rgb)]
        plain = [one.seen_in(self.view) for one in pieces]
        add_image(axes, plain, obstacle_pieces(around, self.view), scale, fine)
        return thicker

    def of_list(self, name: str, scale: float) -> "DrawnSolids":
        """One of the lists alone, with lengths in another unit."""
        one = copy(self)
        look = self.looks[name]
        one.looks = {name: ListLook(look.shape, scale * look.sizes, look.frames)}
        one.lists = {name: self.lists[name]}
        one.series = {name: self.series[name]} if name in self.series else {}
        return one

    def frames_at(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Quaternions by list, of values by series; those of other lengths than the list are left out."""
        return {
            name: values[series].astype(float)
            for name, series in self.series.items()
            if series in values and values[series].shape == (len(self.lists[name]), 4)
        }


def add_image(axes: "Axes", pieces: list[Piece], grey: list[Piece], scale: float, fine: int) -> "AxesImage":
    """Put pieces in the axes of a view into a picture; grey ones have another colour on a dark page."""
    limits = np.array([axes.get_xlim(), axes.get_ylim()])
    corner, most = _within([*pieces, *grey], limits, 2.0 * fine / scale)
    wide, tall = (fine * max(int(np.ceil(scale / fine * one)), 1) for one in most - corner)
    stripe = _rgb(STRIPE)

    def painted(obstacle: np.ndarray) -> np.ndarray:
        every = joined(
            [*pieces, *(one._replace(rgb=np.broadcast_to(obstacle, one.rgb.shape)) for one in grey)]
        )
        image = shading.shaded_image(every, corner, scale, (tall, wide), stripe)
        return shading.reduced(image, fine)

    left, low = corner
    extent = (left, left + wide / scale, low, low + tall / scale)
    pen: dict[str, Any] = {"origin": "lower", "extent": extent, "zorder": ORDER, "aspect": "equal"}
    image = axes.imshow(painted(_rgb("#e4e7ea")), interpolation="antialiased", **pen)
    image.set_in_layout(False)
    axes.set(xlim=tuple(limits[0]), ylim=tuple(limits[1]))
    if grey:
        image.in_dark = lambda: painted(_rgb("#59626c"))  # type: ignore[attr-defined]
    return image


def _within(pieces: list[Piece], limits: np.ndarray, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """The corners (2,) of the part of the limits (2, 2) where there is something, and so much around it."""
    places = np.concatenate([one.corners[..., :2].reshape(-1, 2) for one in pieces])
    places = places[np.isfinite(places).all(axis=1)]
    if not len(places):
        return limits[:, 0], limits[:, 0] + edge
    low = np.clip(places.min(axis=0) - edge, limits[:, 0], limits[:, 1] - edge)
    return low, np.clip(places.max(axis=0) + edge, low + edge, limits[:, 1])


def _bodies(x: np.ndarray, others: Mapping[str, DrawnList], rgb: Mapping[str, np.ndarray]) -> list[Piece]:
    """The boundaries of solid cells, flat."""
    found = []
    for name, part in others.items():
        faces, owner = surfaces.fans(part.shown)
        normals = surfaces.outward(x, faces, part.inner[owner])
        corners = x[faces]
        legs = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        against = np.einsum("fi,fi->f", legs, normals) < 0.0
        corners[against] = corners[against][:, ::-1]
        colour = rgb[name][part.owner[owner]] if name in rgb else _plain(mesh_artists.PLAIN, len(faces))
        three = np.repeat(colour[:, None, :3], 3, axis=1)
        none = np.full(faces.shape, np.nan)
        found.append(Piece(corners, np.repeat(unit(normals)[:, None], 3, axis=1), three, none))
    return found


def _resolution(axes: "Axes") -> tuple[float, int]:
    """Pixels of a unit of length, and how many of them are one pixel of the picture along each side."""
    figure = axes.get_figure()
    assert figure is not None
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    wide, tall = figure.get_size_inches() * _dpi(axes)  # type: ignore[union-attr]
    scale = max(min(wide / (right - left), tall / (high - low)), 1e-300)
    area = (right - left) * (high - low) * scale**2
    fine = FINE if area * FINE**2 <= MOST_PIXELS else 1
    if area > MOST_PIXELS:
        scale *= (MOST_PIXELS / area) ** 0.5
    return scale * fine, fine


def _dpi(axes: "Axes") -> float:
    """Dots an inch of the file that the picture will be in."""
    from matplotlib import rcParams

    figure = axes.get_figure()
    assert figure is not None
    return float(figure.dpi if rcParams["savefig.dpi"] == "figure" else rcParams["savefig.dpi"])


def _plain(colour: str, count: int) -> np.ndarray:
    return np.tile(_rgb(colour), (count, 1))


def _rgb(colour: str) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(colour))
