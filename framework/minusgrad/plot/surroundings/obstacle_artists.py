"""Artists for obstacles, as floors, walls and balls, and for the edges of a periodic box."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scene.shapes import Cuboid, Facets, Plane, Sphere
from ..style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOLID, EDGE = "#e4e7eb", "#7b848f"
"""The colours of obstacles and of their surfaces."""
BEHIND, BEFORE = 0.5, 5.0
"""The order in which obstacles behind and before bodies are drawn."""
_LIGHT = np.array([-0.5, 0.7, 0.75]) / np.linalg.norm([-0.5, 0.7, 0.75])


def cube(dimension: int) -> np.ndarray:
    """The corners of the unit cube, (2^d, d)."""
    return np.array(list(product((0.0, 1.0), repeat=dimension)))


def corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The corners (2^d, d) of a cuboid."""
    return np.asarray(low) + cube(len(low)) * (np.asarray(high) - np.asarray(low))


def draw_planes(axes: "Axes", planes: Sequence[tuple[str, Plane]], x: np.ndarray, view: np.ndarray) -> None:
    """Draw what is behind planes: in the plane up to the rim, in space a part of the surface below x."""
    for _, plane in planes:
        normal = np.asarray(plane.normal, float) / np.linalg.norm(plane.normal)
        if len(view) == 2:
            _draw_half_plane(axes, np.asarray(plane.point), normal)
        else:
            _draw_ground(axes, np.asarray(plane.point), normal, x, view)


def _limits(axes: "Axes") -> tuple[np.ndarray, np.ndarray]:
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    return low, high


def _draw_half_plane(axes: "Axes", point: np.ndarray, normal: np.ndarray) -> None:
    """Fill the half plane behind a line, and hatch its surface."""
    from matplotlib.collections import LineCollection

    low, high = _limits(axes)
    middle, far = (low + high) / 2, 2.0 * float(np.linalg.norm(high - low))
    along = np.array([normal[1], -normal[0]])
    foot = middle - ((middle - point) @ normal) * normal
    ends = np.stack([foot - far * along, foot + far * along])
    rim = np.concatenate([ends, ends[::-1] - far * normal])
    axes.fill(*rim.T, facecolor=SOLID, edgecolor="none", zorder=BEHIND, clip_on=True)
    axes.plot(*ends.T, color=EDGE, linewidth=1.0, zorder=BEHIND, solid_capstyle="butt")
    length, gap = 0.018 * float((high - low).max()), 0.022 * float((high - low).max())
    places = foot + np.arange(-far, far, gap)[:, None] * along
    ticks = np.stack([places, places - length * (normal + along)], axis=1)
    axes.add_collection(
        LineCollection(list(ticks), colors=EDGE, linewidths=0.5, zorder=BEHIND), autolim=False
    )
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _draw_ground(
    axes: "Axes", point: np.ndarray, normal: np.ndarray, x: np.ndarray, view: np.ndarray
) -> None:
    """Draw a square of a plane in space, with lines, below the bodies."""
    from matplotlib.collections import LineCollection, PolyCollection

    middle, reach = (x.min(axis=0) + x.max(axis=0)) / 2, 0.9 * float(np.ptp(x, axis=0).max() or 1.0)
    if abs((middle - point) @ normal) > 6.0 * reach:
        return
    foot = middle - ((middle - point) @ normal) * normal
    side = np.eye(3)[int(np.argmin(np.abs(normal)))]
    one = np.cross(normal, side) / np.linalg.norm(np.cross(normal, side))
    other = np.cross(normal, one)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * reach
    place = foot + square @ np.stack([one, other])
    towards = float(normal @ view[2]) > 0
    pen: dict[str, Any] = {"zorder": BEHIND if towards else BEFORE, "alpha": 0.7 if towards else 0.15}
    seen = (place @ view.T)[:, :2]
    axes.add_collection(PolyCollection([seen], facecolors=SOLID, edgecolors=EDGE, linewidths=0.6, **pen))
    at = np.linspace(-reach, reach, 9)[1:-1, None]
    ends = np.full_like(at, reach)
    lines = [np.hstack([at, -ends]), np.hstack([at, ends])], [np.hstack([-ends, at]), np.hstack([ends, at])]
    for start, end in lines:
        both = np.stack([start, end], axis=1) @ np.stack([one, other]) + foot
        ruled = (both @ view.T)[..., :2]
        axes.add_collection(LineCollection(list(ruled), colors="white", linewidths=0.6, **pen), autolim=False)


def draw_spheres(
    axes: "Axes", spheres: Sequence[tuple[str, Sphere]], x: np.ndarray, view: np.ndarray
) -> None:
    """Draw spheres: discs in the plane, shaded in space."""
    from matplotlib.patches import Circle

    for _, sphere in spheres:
        seen = np.asarray(sphere.centre) @ view.T
        radius = float(sphere.radius)
        order = BEHIND
        if len(view) == 3:
            order = BEHIND if seen[2] < float((x @ view[2]).mean()) else BEFORE
        disc = Circle(seen[:2].tolist(), radius, facecolor=SOLID, edgecolor=EDGE, linewidth=1.0, zorder=order)
        axes.add_patch(disc)
        if len(view) == 3:
            _shade(axes, disc, seen[:2], radius, order)


def _shade(axes: "Axes", disc: Any, centre: np.ndarray, radius: float, order: float) -> None:
    """Draw the light on a sphere from the upper left."""
    limits = _limits(axes)
    right, up = np.meshgrid(*[np.linspace(-1.0, 1.0, 128)] * 2)
    out = np.sqrt(np.clip(1.0 - right**2 - up**2, 0.0, 1.0))
    light = np.clip(np.stack([right, up, out], axis=-1) @ _LIGHT, 0.0, 1.0)
    grey = 0.62 + 0.34 * light
    (x, y), r = centre, radius
    image = axes.imshow(
        np.repeat(grey[..., None], 3, axis=2),
        origin="lower",
        extent=(x - r, x + r, y - r, y + r),
        zorder=order,
    )
    image.set_clip_path(disc)
    axes.set(xlim=(limits[0][0], limits[1][0]), ylim=(limits[0][1], limits[1][1]))


def draw_cuboids(
    axes: "Axes", cuboids: Sequence[tuple[str, Cuboid]], x: np.ndarray, view: np.ndarray
) -> None:
    """Draw cuboids: rectangles in the plane, in space the faces that the eye sees."""
    from matplotlib.collections import PolyCollection

    for _, cuboid in cuboids:
        low, high = np.asarray(cuboid.low), np.asarray(cuboid.high)
        if len(view) == 2:
            rim = low + np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * (high - low)
            axes.add_collection(
                PolyCollection([rim], facecolors=SOLID, edgecolors=EDGE, linewidths=1.0, zorder=BEHIND),
                autolim=False,
            )
            continue
        order = BEHIND if (low + high) @ view[2] / 2 < float((x @ view[2]).mean()) else BEFORE
        for axis in range(3):
            face = corners(low, high).reshape(2, 2, 2, 3)
            near = np.take(face, int(view[2, axis] > 0), axis=axis)
            seen = (near.reshape(4, 3)[[0, 1, 3, 2]] @ view.T)[:, :2]
            grey = 0.7 + 0.25 * max(0.0, float(np.sign(view[2, axis]) * view[:, axis] @ _LIGHT))
            axes.add_collection(
                PolyCollection(
                    [seen], facecolors=[(grey,) * 3], edgecolors=EDGE, linewidths=0.6, zorder=order
                ),
                autolim=False,
            )


def draw_facets(axes: "Axes", facets: Sequence[tuple[str, Facets]], x: np.ndarray, view: np.ndarray) -> None:
    """Draw the facets of surfaces in space that face the eye, shaded, those far behind first."""
    from matplotlib.collections import PolyCollection

    for _, one in facets:
        seen = np.asarray(one.corners) @ view.T
        legs = seen[:, 1:] - seen[:, :1]
        normal = np.cross(legs[:, 0], legs[:, 1])
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        front = np.flatnonzero(normal[:, 2] > 0.0)
        rank = front[np.argsort(seen[front, :, 2].mean(axis=1))]
        grey = 0.62 + 0.34 * np.clip(normal[rank] @ _LIGHT, 0.0, 1.0)
        order = BEHIND if seen[..., 2].mean() < float((x @ view[2]).mean()) else BEFORE
        colours = np.repeat(grey[:, None], 3, axis=1)
        pen: dict[str, Any] = {"facecolors": colours, "edgecolors": colours, "linewidths": 0.3}
        axes.add_collection(PolyCollection(list(seen[rank, :, :2]), zorder=order, **pen), autolim=False)


def draw_box(axes: "Axes", edges: np.ndarray, view: np.ndarray, colour: str = "") -> None:
    """Draw the edges of a periodic box whose vectors are rows of edges (d, d), one corner at the origin."""
    from matplotlib.collections import LineCollection

    unit = cube(len(edges))
    pairs = [(a, b) for a in range(len(unit)) for b in range(a) if np.abs(unit[a] - unit[b]).sum() == 1]
    seen = unit @ edges @ view.T
    lines = seen[np.array(pairs)][..., :2]
    pen: dict[str, Any] = {"colors": colour or FAINT, "linewidths": 0.7, "linestyles": (0, (4, 2))}
    axes.add_collection(LineCollection(list(lines), zorder=BEHIND + 0.2, **pen), autolim=False)
