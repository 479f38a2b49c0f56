"""The subject of a movie: bodies and networks, points, a field over a grid, or numbers along a line.

Of several it is the first.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError, unknown
from ...files import h5md, trajectory
from .. import clouds, grids, layers, meshes, readings
from ..bodies import orbits
from ..curves import profiles
from ..views import dimension, named_view
from .line import Line
from .maps import Map
from .networks import Network
from .paths import MoviePaths
from .points import MoviePoints
from .subject import MovieSubject
from .traces import Traces

SPEED = "speed"


def chosen(run: Path, meta: dict[str, Any], field: str, bodies: Sequence[str], view: str) -> MovieSubject:
    """The subject that a user asks for.

    meta: of a checkpoint, for names of bodies. field: "speed", or the label of a recorded series: of nodes or
    tuples, or over a grid; "" for the usual one. bodies: names; none for all nodes. view: "x",
    "y", "z", "AZIMUTH,ELEVATION" in degrees, or "". Raises `UserError` for names that do not exist, and for
    views of a plane.
    """
    names = trajectory.names(run)
    maps = [name for kind in (grids, layers, profiles) for name in kind.drawable(run, names)]
    maps = ordered_by_motion(meta, maps)
    axes = dimension(run, names)
    moving = axes > 1
    lists = meshes.drawable(run) if moving and not bodies else {}
    colours = colourings(run, names, lists) if moving else {}
    of_maps = {h5md.label(name): name for name in reversed(maps)}
    if field and field not in colours and field not in of_maps:
        raise UserError(f"{run}: {unknown('field to show', field, [*colours, *of_maps])}")
    if field in of_maps or not moving:
        if axes == 1:
            of_maps[h5md.label(h5md.POSITION)] = h5md.POSITION
            maps = [name for name in maps if h5md.grid_of(name)] or [h5md.POSITION]
        if not maps:
            raise UserError(
                f"{run}: nothing moves, because no frames were recorded; record them with [[observe]]"
                ' kind = "frames"'
            )
        name = of_maps.get(field, maps[0])
        if name == h5md.POSITION or len(profiles.raster(run, name).shape) == 1:
            named_view(run, view)  # refuses one
            return Traces(run, name) if profiles.has_one_place(run, name) else Line(run, name)
        return Map(run, name)
    eye = named_view(run, view)
    if lists:
        scalars = meshes.node_colourings(run, names, lists)
        return Network(run, lists, colours.get(field or usual(colours, lists, scalars=scalars), {}), eye)
    return _points(run, meta, colours, field, bodies, eye)


def ordered_by_motion(meta: dict[str, Any], series: Sequence[str]) -> list[str]:
    """Series with those first that are positions of a motion, such as angles: not their velocities.

    meta: of a checkpoint, which names them.
    """
    positions = meta.get("moving") or ()
    return sorted(series, key=lambda name: h5md.label(name) not in positions)


def _points(
    run: Path,
    meta: dict[str, Any],
    colours: dict[str, dict[str, str]],
    field: str,
    bodies: Sequence[str],
    eye: np.ndarray | None,
) -> MovieSubject:
    nodes = next(readings.pieces(run, h5md.POSITION)).value.shape[1]
    if nodes <= orbits.FEW and not field and not bodies:
        return MoviePaths(run, meta.get("names") or [], eye)
    shown = clouds.chosen(run, meta.get("bodies") or {}, bodies)
    by_body = len(shown) > 1 and not field
    label = field or usual(colours, {}, by_body)
    series = next(iter(colours[label].values())) if label else ""
    return MoviePoints(run, shown, series, eye, every=not bodies)


def usual(
    colours: dict[str, dict[str, str]],
    lists: dict[str, np.ndarray],
    by_body: bool = False,
    scalars: Collection[str] = (),
) -> str:
    """The label of the field that colours lists, or points where there are none; "" for none.

    by_body: points have the colours of their bodies. scalars: the labels of numbers of nodes, which colour
    lists without numbers of their own: a body that is heated may not move at all.
    """
    if lists:
        of_tuples = (label for label in colours if label != SPEED and is_of_tuples(colours[label]))
        return next(of_tuples, next((label for label in colours if label in scalars), ""))
    return SPEED if SPEED in colours and not by_body else ""


def colourings(run: Path, names: list[str], lists: dict[str, np.ndarray]) -> dict[str, dict[str, str]]:
    """Series by label and list (of points: by ""): numbers of tuples and of nodes, and the speed."""
    found = meshes.colourings(run, names, lists)
    for label, series in meshes.node_colourings(run, names, lists or {"": np.empty((0, 2))}).items():
        found.setdefault(label, series)
    cells = [name for name, tuples in lists.items() if tuples.shape[1] > 2] or list(lists) or [""]
    for name in names:
        if h5md.is_of_nodes(name) and name not in (h5md.POSITION, h5md.VELOCITY):
            found.setdefault(h5md.label(name), dict.fromkeys(cells, name))  # of vectors their norm
    if h5md.VELOCITY in names:
        found.setdefault(SPEED, dict.fromkeys(cells, h5md.VELOCITY))
    return found


def is_of_tuples(series: dict[str, str]) -> bool:
    return any(h5md.list_of(name) for name in series.values())
