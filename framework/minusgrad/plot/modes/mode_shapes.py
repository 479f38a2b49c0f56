"""Drawing of a normal mode: the nodes at rest, pale, and displaced along the mode.

Positions in a plane or in space are drawn as bodies, lines and dots, the displacements of few nodes as arrows
and of many as colours. Fields over a plane grid are maps, all others profiles over the nodes.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scene import units
from .. import mesh_artists, meshes, style
from ..shapes import surfaces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROWS = 400
"""Nodes up to which displacements are arrows."""
FAR, APART = 0.12, 0.5
"""The largest displacement, by the size of the system; and that of neighbours against each other, by their
distance."""
BONDED = 1.3
"""Nodes in no list are joined to others nearer than this times the usual distance of neighbours."""


class Shapes:
    """The modes of one moving field: its label and unit, values at rest (n, ...), displacements (k, n, ...).

    lists: tuples of nodes that bodies and lines are drawn with. raster: the shape of the grid that the field
    lies on, or None. frequencies (k,), in `unit_of_frequency`, negative for unstable modes, or another number
    of each mode, called `quantity`; kinds (k,): "zero", "unstable" or nothing.
    """

    def __init__(
        self,
        label: str,
        unit: str,
        rest: np.ndarray,
        moved: np.ndarray,
        lists: Sequence[np.ndarray],
        raster: tuple[int, ...] | None,
        frequencies: np.ndarray,
        unit_of_frequency: str,
        kinds: Sequence[str],
        quantity: str = "frequency",
    ):
        self.label, self.unit, self.rest, self.moved, self.raster = label, unit, rest, moved, raster
        self.frequencies, self.unit_of_frequency, self.kinds = frequencies, unit_of_frequency, tuple(kinds)
        self.quantity = quantity
        fit = [t for t in lists if self.is_space and len(t) and meshes.can_draw(t, rest.shape[1])]
        self.lists = {str(k): tuples for k, tuples in enumerate(fit)}

    @cached_property
    def is_space(self) -> bool:
        """True for positions in a plane or in space, unless they lie on a line."""
        if self.rest.ndim != 2 or self.rest.shape[1] not in (2, 3) or self.raster is not None:
            return False
        return len(self.rest) < 3 or not self._is_line

    @cached_property
    def line(self) -> np.ndarray:
        """The unit vector (d,) along the longest extent of positions."""
        return np.linalg.svd(self.rest - self.rest.mean(axis=0), full_matrices=False)[2][0]

    @property
    def _is_line(self) -> bool:
        sizes = np.linalg.svd(self.rest - self.rest.mean(axis=0), compute_uv=False)
        return bool(sizes[1] <= 1e-3 * sizes[0])

    def name(self, k: int) -> str:
        """`mode 7: 47.2 THz`, with an i if it is unstable."""
        if self.kinds[k] == "zero":
            return f"mode {k + 1}: zero"
        f, unit = self.frequencies[k], units.pretty(self.unit_of_frequency)
        size = f"{abs(f):.0f}" if 1e4 <= abs(f) < 1e6 else f"{abs(f):.4g}"
        return f"mode {k + 1}: {size}{' i' if f < 0 else ''} {unit}".rstrip()

    @cached_property
    def view(self) -> np.ndarray:
        if self.rest.shape[1] == 2:
            return np.eye(2)
        return _principal_view(self.rest) if not self.is_body else surfaces.sensible_view(self.rest)

    @property
    def is_body(self) -> bool:
        return any(tuples.shape[1] > 2 for tuples in self.lists.values())

    @cached_property
    def bonds(self) -> np.ndarray:
        """Pairs of neighbours (K, 2): those of the lists; where lists leave nodes out, the nearest ones."""
        pairs = [surfaces.edges(tuples) for tuples in self.lists.values()]
        if len(np.unique(np.concatenate([*pairs, np.zeros((0, 2), int)]))) < len(self.rest):
            pairs.append(_neighbours(self.rest))
        return np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)

    @cached_property
    def size(self) -> float:
        return float(np.ptp(self.rest, axis=0).max()) or 1.0

    def displacement(self, k: int) -> np.ndarray:
        """The displacement of mode k (n, d), as large as it can be seen without neighbours that meet."""
        u = self.moved[k]
        lengths = np.linalg.norm(u, axis=1)
        factor = FAR * self.size / (float(lengths.max()) or 1.0)
        if len(self.bonds):
            i, j = self.bonds.T
            apart = np.linalg.norm(u[i] - u[j], axis=1)
            distance = np.linalg.norm(self.rest[i] - self.rest[j], axis=1)
            moving = apart > 1e-9 * (apart.max() or 1.0)
            if moving.any():
                factor = min(factor, APART * float((distance[moving] / apart[moving]).min()))
        return factor * u

    @cached_property
    def parts(self) -> dict[str, mesh_artists.DrawnList]:
        """Outlines of the lists; of nodes without lists the lines between neighbours."""
        lists = self.lists or ({"": self.bonds} if len(self.bonds) else {})
        return {name: meshes.part(self.rest, tuples, self.view) for name, tuples in lists.items()}

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the drawing, with room for displacements."""
        if not self.is_space:
            return np.zeros(2), np.array([1.6, 1.0])
        seen = (self.rest @ self.view.T)[:, :2]
        room = (FAR + 0.06) * self.size
        return seen.min(axis=0) - room, seen.max(axis=0) + room


def draw(axes: "Axes", shapes: Shapes, k: int, phase: float | None = None) -> None:
    """Draw mode k: displaced, or with arrows; with a `phase` from -1 to 1 as it swings."""
    if shapes.is_space:
        _draw_space(axes, shapes, k, phase)
    elif shapes.raster is not None and len(shapes.raster) == 2:
        u = _scalars(shapes.moved[k]).reshape(shapes.raster)
        reach = float(np.abs(u).max()) or 1.0
        values = u * (1.0 if phase is None else phase)
        axes.imshow(values, origin="lower", cmap=style.DIVERGING, vmin=-reach, vmax=reach, zorder=0)
        axes.set(xticks=[], yticks=[])
    else:
        _draw_profile(axes, shapes, k, phase)
    axes.set_title(shapes.name(k), loc="left")


def _draw_space(axes: "Axes", shapes: Shapes, k: int, phase: float | None) -> None:
    view, u = shapes.view, shapes.displacement(k)
    rest = shapes.rest @ view.T
    arrows = phase is None and not shapes.is_body and len(rest) <= ARROWS
    seen = rest if arrows else rest + (1.0 if phase is None else phase) * (u @ view.T)
    parts = shapes.parts
    if not arrows:
        mesh_artists.draw_past(axes, [rest], list(parts.values()))
    if shapes.is_body:
        length = np.linalg.norm(u, axis=1)
        rgb = _colours(length)
        colours = {n: rgb(length[tuples].mean(axis=1)) for n, tuples in shapes.lists.items()}
        mesh_artists.draw_cells(axes, seen, parts, colours)
    elif not len(shapes.bonds) > 4 * ARROWS:
        _draw_bonds(axes, seen, shapes.bonds)
    if not shapes.is_body:
        _draw_nodes(axes, seen, None if arrows else np.linalg.norm(u, axis=1))
    if arrows:
        _draw_arrows(axes, seen, u @ view.T)
    low, high = shapes.box
    axes.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_axis_off()


def _draw_bonds(axes: "Axes", seen: np.ndarray, bonds: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    lines = LineCollection(seen[bonds][..., :2], colors="#bfc6ce", capstyle="round", zorder=2)
    lines.set_linewidth(float(np.clip(14 / np.sqrt(len(bonds) or 1), 0.5, 3.0)))
    axes.add_collection(lines, autolim=False)


def _draw_nodes(axes: "Axes", seen: np.ndarray, length: np.ndarray | None) -> None:
    """Dots, the nearest last and the farthest palest; coloured by a length, where one is given."""
    size = float(np.clip(1200 / len(seen), 4.0, 120.0))
    order = np.argsort(seen[:, 2], kind="stable") if seen.shape[1] == 3 else np.arange(len(seen))
    pen: dict[str, Any] = {"s": size, "linewidths": 0.4, "edgecolors": "white", "zorder": 3}
    if length is not None and len(seen) > ARROWS:
        axes.scatter(seen[order, 0], seen[order, 1], c=_colours(length)(length[order]), **pen)
        return
    axes.scatter(seen[order, 0], seen[order, 1], c=_faded(seen[order]), **pen)


def _faded(seen: np.ndarray) -> np.ndarray:
    """The first colour, paler with depth."""
    from matplotlib.colors import to_rgb

    colour = np.array(to_rgb(style.COLOURS[0]))
    if seen.shape[1] == 2:
        return np.tile(colour, (len(seen), 1))
    depth = seen[:, 2]
    near = (depth - depth.min()) / (float(np.ptp(depth)) or 1.0)
    return colour + (0.5 * (1.0 - near))[:, None] * (1.0 - colour)


def _draw_arrows(axes: "Axes", seen: np.ndarray, u: np.ndarray) -> None:
    long = np.linalg.norm(u[:, :2], axis=1)
    shown = long > 0.08 * (long.max() or 1.0)
    width = float(np.clip(0.05 / np.sqrt(shown.sum() or 1), 0.004, 0.012))
    axes.quiver(
        *seen[shown, :2].T, *u[shown, :2].T, angles="xy", scale_units="xy", scale=1.0, width=width,
        color=style.COLOURS[1], headwidth=3.2, headlength=3.6, headaxislength=3.2, zorder=4,
    )  # fmt: skip


def _draw_profile(axes: "Axes", shapes: Shapes, k: int, phase: float | None) -> None:
    """Displacements along and across a line of nodes; of other fields each component over the nodes."""
    u, rest = shapes.moved[k].reshape(len(shapes.rest), -1), shapes.rest.reshape(len(shapes.rest), -1)
    on_line = shapes.raster is None and shapes.rest.ndim == 2 and len(rest) > 1
    places, names = np.arange(float(len(u))), [""] * u.shape[1]
    if on_line:
        line = shapes.line * (1.0 if shapes.line[np.abs(shapes.line).argmax()] > 0 else -1.0)
        along = u @ line
        across = np.linalg.norm(u - along[:, None] * line, axis=1) * _sides(u - along[:, None] * line)
        places, u, names = rest @ line, np.stack([along, across], axis=1), ["along", "across"]
    reach, order = float(np.abs(u).max()) or 1.0, np.argsort(places, kind="stable")
    axes.axhline(0.0, color=style.FAINT, linewidth=0.6)
    for number, (values, name) in enumerate(zip(u.T, names, strict=False)):
        if np.abs(values).max() > 1e-6 * reach:
            pen: dict[str, Any] = style.line_pen(number) | style.marker_pen(number) | {"label": name}
            pen["markersize"] = float(np.clip(100 / len(u), 0.0, 4.0))
            axes.plot(places[order], values[order] * (1.0 if phase is None else phase) / reach, **pen)
    axes.set(ylim=(-1.15, 1.15), yticks=[])
    axes.set_xlabel(units.with_unit("place", shapes.unit) if on_line else "node")
    if len(axes.lines) > 2 and on_line:  # with the line at zero
        axes.legend(loc="upper right", handlelength=1.0, borderpad=0.0)
    elif on_line and len(axes.lines) > 1:
        axes.set_ylabel(str(axes.lines[-1].get_label()))


def _sides(across: np.ndarray) -> np.ndarray:
    """The signs of vectors (n, d) that are about parallel, by their side of the largest."""
    largest = across[np.linalg.norm(across, axis=1).argmax()]
    return np.where(across @ largest < 0, -1.0, 1.0)


def _scalars(u: np.ndarray) -> np.ndarray:
    """One number for each node: the first of several."""
    return u.reshape(len(u), -1)[:, 0]


def _colours(length: np.ndarray) -> mesh_artists.Colours:
    from matplotlib.colors import Normalize

    made = mesh_artists.colours(length, "cells")
    return made._replace(norm=Normalize(0.0, float(length.max()) or 1.0))


def _neighbours(x: np.ndarray) -> np.ndarray:
    """Pairs (K, 2) of nodes about as near as the nearest ones are."""
    from scipy.spatial import cKDTree

    if len(x) < 2:
        return np.zeros((0, 2), int)
    tree = cKDTree(x)
    nearest = np.median(tree.query(x, k=2)[0][:, 1])
    if not nearest > 0.0:
        return np.zeros((0, 2), int)
    return tree.query_pairs(BONDED * nearest, output_type="ndarray")


def _principal_view(x: np.ndarray) -> np.ndarray:
    """A view (3, 3) of points: the longest extent across, the shortest towards the eye, and a little turned.

    A flat molecule is seen from above; turned, so that points do not hide one another. What is about as long
    in all directions is seen along its axes.
    """
    _, sizes, axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    if len(sizes) == 3 and sizes[2] > 0.7 * sizes[0]:
        return surfaces.sensible_view(x)
    axes = axes if len(axes) == 3 else np.eye(3)
    axes = axes * np.where(axes[np.arange(3), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    axes[2] = np.cross(axes[0], axes[1])
    flat = len(sizes) < 3 or sizes[2] < 1e-3 * (sizes[0] or 1.0)
    return axes if flat else surfaces.view(np.radians(20.0), np.radians(18.0)) @ axes[[2, 0, 1]]
