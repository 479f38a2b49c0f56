"""Plot of bodies and networks: initial state pale, final state filled and coloured.

It shows the recorded lists of cells (filled; in 3D their boundary) and of two nodes (lines); nodes in no
list are dots. The colour is the last recorded value of
each tuple, of all lists under one label; or the mean of a line's two nodes, and then
earlier states, which would hide it, are left out. In a run with a plane grid the axes are those of its maps.
A network in the plane that travels has the path of its centre.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files import h5md, trajectory
from ..scene import units
from . import clouds, mesh_artists, readings, style
from .mesh_artists import DrawnList
from .moments import ShownMoment, moments, newest
from .shapes import node_shades, surfaces
from .shapes.cell_shapes import OUTLINES, outline
from .shapes.unfolding import unfold_cells
from .solids.solid_artists import DrawnSolids
from .surroundings.scenery import DrawnSurroundings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GHOSTS = 3  # outlines of a body in the plane, between the first and the last state
FEW = 250  # up to this many polygons show all edges of their initial state; more only the contour
AWAY = 0.2  # a network whose centre moved further, in units of its size, has the path of the centre
TRACED = 4  # the nodes of a network in the plane of so few have traces, as the bobs of a double pendulum
FAR = 6.0  # a body that moved further, in units of its size, gets a second panel
Box = tuple[np.ndarray, np.ndarray]  # lower left, upper right


def can_draw(tuples: np.ndarray, d: int) -> bool:
    """True for lines, for facets in space and for cells of a known shape."""
    return tuples.shape[1] == 2 or is_facets(tuples, d) or (d, tuples.shape[1]) in OUTLINES


def is_facets(tuples: np.ndarray, d: int) -> bool:
    """True for facets with three nodes in space."""
    return (d, tuples.shape[1]) == (3, 3)


def drawable(run: Path) -> dict[str, np.ndarray]:
    """The recorded lists that a picture can show, by name: of two nodes, or of cells."""
    nodes, d = next(readings.pieces(run, h5md.POSITION)).value.shape[1:]
    return {
        name: tuples
        for name, tuples in trajectory.connectivity(run).items()
        if d in (2, 3) and can_draw(tuples, d) and len(tuples) and tuples.max() < nodes
    }


def colourings(run: Path, names: Iterable[str], lists: Iterable[str]) -> dict[str, dict[str, str]]:
    """Series with one number for each tuple of these lists, by label and list."""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        if h5md.list_of(name) in lists and next(readings.pieces(run, name)).value.ndim == 2:
            found.setdefault(h5md.label(name), {})[h5md.list_of(name)] = name
    return found


def node_colourings(
    run: Path, names: Iterable[str], lists: Mapping[str, np.ndarray]
) -> dict[str, dict[str, str]]:
    """Series with one number for each node, for the lists of cells, or of lines where there are none."""
    cells = [name for name, tuples in lists.items() if tuples.shape[1] > 2] or list(lists)
    nodes = next(readings.pieces(run, h5md.POSITION)).value.shape[1]
    frames = [name for name in names if h5md.is_of_nodes(name)]
    scalars = [name for name in frames if next(readings.pieces(run, name)).value.shape[1:] == (nodes,)]
    return {h5md.label(name): dict.fromkeys(cells, name) for name in scalars}


def draw(
    figure: "Figure",
    run: Path,
    lists: Mapping[str, np.ndarray],
    series: Mapping[str, str],
    until: int | None = None,
    eye: np.ndarray | None = None,
) -> None:
    """Draw the lists in the final state, coloured by the last values of the series of one label, if any.

    until: the step of the state, in place of the final one. eye: the view (3, 3) of bodies in space.
    """
    is_flat_body = any(tuples.shape[1] > 2 for tuples in lists.values())
    frames = moments(run, h5md.POSITION, GHOSTS if is_flat_body else 0, until)
    first, last = frames[0], frames[-1]
    flat = last.value.shape[1] == 2
    usual = np.eye(2) if flat else surfaces.sensible_view(np.concatenate([first.value, last.value]))
    view = usual if eye is None else eye
    scenery = DrawnSurroundings(run, view)
    frames, shown = unfold_cells(frames, lists, scenery.around.box)
    last = frames[-1]
    seen = [frame.value @ view.T for frame in frames]
    drawn = parts(frames[0].value, shown, view)
    solids = DrawnSolids(run, shown, view)
    rest = {name: one for name, one in drawn.items() if name not in solids.looks}
    cells = {name: one for name, one in rest.items() if one.is_filled} if solids else {}
    rest = {name: one for name, one in rest.items() if name not in cells}
    free = np.setdiff1d(np.arange(len(last.value)), np.concatenate([t.ravel() for t in lists.values()]))
    free = free[free < len(first.value)]
    path = not solids and _is_path(series, lists, still=first.time == last.time)
    step, values = _last_values(run, series, lists, until)
    shades = _shades(run, series, seen[-1], rest, until)
    for name, shade in shades.items():
        values[name] = shade.values
    scale = _scale(values, drawn, path) if values else None
    rgb = {name: scale(value) for name, value in values.items()} if scale else {}
    if scale:
        rgb |= _smooth_sheets(run, series, shown, solids, scale, until)
    turned = solids.frames_at({one: newest(run, one, last.step).value for one in solids.series.values()})
    thicker = 1.0
    unit, clock = readings.symbols(run, h5md.POSITION)

    canvas = _canvas(run, unit) if flat else None
    travels = flat and not is_flat_body and not path
    centre = _travelled(run, drawn.values()) if travels else np.empty((0, 2))
    traces = _traced(run, last) if travels and len(last.value) <= TRACED else []
    whole = {n: scenery.shortened(last.value, tuples, last.step) for n, tuples in shown.items()}
    boxes = (
        [canvas]
        if canvas
        else [scenery.widened(*box) for box in _boxes(seen, np.concatenate([centre, *traces]), solids.reach)]
    )
    for axes, (low, high) in zip(_panels(figure, boxes, bool(scale)), boxes, strict=True):
        axes.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        mesh_artists.draw_past(axes, [] if path else seen[:-1], list(drawn.values()))
        if solids:
            thicker = solids.draw(axes, last.value, turned, rgb, scenery.around, cells, whole)
        plain = {name: one for name, one in rest.items() if name not in shades}
        mesh_artists.draw_cells(axes, seen[-1], plain, rgb)
        for name, shade in shades.items():
            mesh_artists.draw_cells(axes, shade.nodes, {name: shade.part}, rgb, drawn[name] if flat else None)
        mesh_artists.draw_lines(axes, seen[-1], rest, rgb, whole)
        mesh_artists.draw_free(axes, seen[-1][free])
        if not path:
            mesh_artists.draw_joints(axes, seen[-1], rest)
        mesh_artists.draw_traces(axes, traces)
        mesh_artists.draw_path(axes, centre)
        scenery.draw(axes, last.value, last.step, among=bool(solids))
        if flat:
            axes.set(xlabel=units.with_unit("x", unit), ylabel=units.with_unit("y", unit))
        else:
            mesh_artists.draw_compass(axes, view, unit)
    figure.axes[0].set_title(_when(frames, clock, not path) + thickness_label(thicker), loc="left")
    if len(boxes) > 1:
        figure.axes[1].set_title("the last state, enlarged", loc="left")
    if scale:
        mesh_artists.draw_bar(
            figure,
            figure.axes,
            scale,
            clouds.series_label(run, next(iter(series.values()))) + f", step {step}" * (step != last.step),
        )


def thickness_label(thicker: float) -> str:
    """What is said of tubes that would be too thin to be seen."""
    return f", thickness × {thicker:.2g}" if thicker > 1.05 else ""


def _smooth_sheets(
    run: Path,
    series: Mapping[str, str],
    lists: Mapping[str, np.ndarray],
    solids: DrawnSolids,
    scale: mesh_artists.Colours,
    until: int | None,
) -> dict[str, np.ndarray]:
    """Colours (E, 3, 3) of the corners of sheets whose series are of their nodes."""
    found = {}
    for name, one in solids.looks.items():
        if one.is_sheet and name in series and not h5md.list_of(series[name]):
            _, _, value = newest(run, series[name], until)
            value = value if value.ndim == 1 else np.linalg.norm(value.reshape(len(value), -1), axis=1)
            if lists[name].max() < len(value):
                found[name] = scale(value.astype(float))[lists[name]]
    return found


def _travelled(run: Path, parts: Iterable[DrawnList]) -> np.ndarray:
    """The places (T, 2) of the centre of all nodes in lists, if it travels and more than two are known."""
    nodes = np.unique(np.concatenate([part.shown.ravel() for part in parts]))
    pieces = [piece.value[:, nodes].astype(float) for piece in readings.pieces(run, h5md.POSITION)]
    centre = np.concatenate([piece.mean(axis=1) for piece in pieces])
    size = np.ptp(pieces[0][0], axis=0).max()
    far = np.linalg.norm(centre - centre[0], axis=1).max()
    return centre if len(centre) > 2 and far > AWAY * size else np.empty((0, 2))


def _traced(run: Path, last: ShownMoment) -> list[np.ndarray]:
    """The places (T, 2) of each node that moves, up to a moment."""
    seen = readings.series(run, h5md.POSITION)
    x = seen.value[seen.step <= last.step].astype(float)
    return [path for path in x.swapaxes(0, 1) if np.ptp(path, axis=0).max() > 0.0] if len(x) > 2 else []


def _is_path(series: Mapping[str, str], lists: Mapping[str, np.ndarray], still: bool) -> bool:
    """True if lines are coloured by their nodes, or form a chain in a run without time."""
    if any(not h5md.list_of(name) for name in series.values()):
        return True
    lines = [lists[name] for name in series]
    return still and bool(lines) and all(t.shape[1] == 2 and (t[1:, 0] == t[:-1, 1]).all() for t in lines)


def _last_values(
    run: Path, series: Mapping[str, str], lists: Mapping[str, np.ndarray], until: int | None = None
) -> tuple[int, dict[str, np.ndarray]]:
    """The last recorded values (E,) by list, those of nodes as means over each tuple, and their step."""
    step, values = -1, {}
    for tuples, name in series.items():
        step, _, value = newest(run, name, until)
        if value.ndim > 1:
            value = np.linalg.norm(value.reshape(len(value), -1), axis=1)
        values[tuples] = of_tuples(name, value, lists[tuples])
    return step, values


def _shades(
    run: Path,
    series: Mapping[str, str],
    nodes: np.ndarray,
    drawn: Mapping[str, DrawnList],
    until: int | None,
) -> dict[str, node_shades.Shades]:
    """Smooth colours of the one filled list whose series is of its nodes; none of several lists."""
    filled = [name for name, part in drawn.items() if part.is_filled]
    of_nodes = [name for name in filled if name in series and not h5md.list_of(series[name])]
    if len(filled) != 1 or not of_nodes:
        return {}
    _, _, value = newest(run, series[filled[0]], until)
    if value.ndim > 1:
        value = np.linalg.norm(value.reshape(len(value), -1), axis=1)
    shade = node_shades.shaded(nodes, value.astype(float), drawn[filled[0]])
    return {} if shade is None else {filled[0]: shade}


def of_tuples(name: str, value: np.ndarray, tuples: np.ndarray) -> np.ndarray:
    """A row of a series as numbers (E,) of tuples (E, k): those of nodes as means over each tuple."""
    return value.astype(float) if h5md.list_of(name) else value[tuples].mean(axis=1, dtype=float)


def _scale(
    values: Mapping[str, np.ndarray], parts: Mapping[str, DrawnList], path: bool
) -> mesh_artists.Colours:
    filled = any(parts[name].is_filled for name in values)
    if path and filled:
        kind: mesh_artists.Kind = "fields"
    else:
        kind = "paths" if path else "cells" if filled else "lines"
    return mesh_artists.colours(np.concatenate(list(values.values())), kind)


def parts(x: np.ndarray, lists: Mapping[str, np.ndarray], view: np.ndarray) -> dict[str, DrawnList]:
    """The drawable parts of all lists by name, without the rims along which they meet."""
    return _joined({name: part(x, tuples, view) for name, tuples in lists.items()})


def part(x: np.ndarray, tuples: np.ndarray, view: np.ndarray) -> DrawnList:
    """The drawable parts of a list whose initial positions are x (N, d)."""
    none, every = np.empty((0, 2), np.int32), np.arange(len(tuples))
    if tuples.shape[1] == 2:
        return DrawnList(tuples, every, every, tuples, none)
    if is_facets(tuples, len(view)):
        edges = surfaces.edges(tuples) if len(tuples) <= FEW else surfaces.boundary(tuples)[0]
        return DrawnList(tuples, every, tuples[:, 0], edges, none)
    if tuples.shape[1] == len(view) + 1:
        return _simplices(x, tuples, view)
    drawn = outline(tuples, len(view))
    if len(view) == 2:
        began = drawn.edges if len(tuples) <= FEW else none
        return DrawnList(drawn.polygons, drawn.owner, drawn.inner, began, drawn.rim)
    few = len(drawn.polygons) <= FEW
    began = drawn.edges if few else surfaces.contour(x, drawn.polygons, drawn.inner, view[2])
    return DrawnList(drawn.polygons, drawn.owner, drawn.inner, began, none)


def _joined(parts: dict[str, DrawnList]) -> dict[str, DrawnList]:
    """The same without the rims along which the cells of two lists meet."""
    rims = np.sort(np.concatenate([part.rim for part in parts.values()]), axis=1)
    edges, counts = np.unique(rims, axis=0, return_counts=True)
    if not (counts > 1).any():
        return parts
    shared = {tuple(edge) for edge in edges[counts > 1].tolist()}
    kept = {n: [tuple(e) not in shared for e in np.sort(p.rim, axis=1).tolist()] for n, p in parts.items()}
    return {n: p._replace(rim=p.rim[np.array(kept[n], bool)]) for n, p in parts.items()}


def _simplices(x: np.ndarray, tuples: np.ndarray, view: np.ndarray) -> DrawnList:
    """The part of a list of simplices."""
    none, every = np.empty((0, 2), np.int32), np.arange(len(tuples))
    facets, owner, inner = surfaces.boundary(tuples)
    if len(view) == 2:
        return DrawnList(tuples, every, every, surfaces.edges(tuples) if len(tuples) <= FEW else none, facets)
    few = len(facets) <= FEW
    began = surfaces.edges(facets) if few else surfaces.contour(x, facets, inner, view[2])
    return DrawnList(facets, owner, inner, began, none)


def _canvas(run: Path, unit: str) -> Box | None:
    """The bounding box of all plane grids in this unit of length, if there are any."""
    grids = [raster for raster in trajectory.grids(run).values() if len(raster.shape) == 2]
    edges = [raster.edges[::-1] for raster in grids if (raster.unit or ("", 1.0))[0] == unit]
    low, high = np.moveaxis(np.array(edges).reshape(-1, 2, 2), 2, 0)  # each (grids, 2), x first
    return (low.min(axis=0), high.max(axis=0)) if edges else None


def _boxes(seen: list[np.ndarray], centre: np.ndarray, edge: float = 0.0) -> list[Box]:
    """The box of each panel: one of all states and the path of the centre, and one of the last state alone if
    they are far apart. edge: that bodies have around their nodes."""
    boxes = []
    for nodes in (np.concatenate([*seen, centre] if len(centre) else seen), seen[-1]):
        low, high = nodes.min(axis=0)[:2] - edge, nodes.max(axis=0)[:2] + edge
        reach = float((high - low).max()) or 1.0
        below = 0.16 * reach if nodes.shape[1] == 3 else 0.0  # for the compass
        boxes.append((low - 0.04 * reach - [0.0, below], high + 0.04 * reach))
    (low, high), (lower, higher) = boxes
    return boxes if (high - low).max() > FAR * (higher - lower).max() else boxes[:1]


def _panels(figure: "Figure", boxes: list[Box], bar: bool) -> "list[Axes]":
    """Axes for one or two boxes: one above the other if the first is wide, else side by side."""
    width, height = boxes[0][1] - boxes[0][0]
    if len(boxes) == 1:
        return [style.panel(figure, width, height, bar)]
    figure.set_layout_engine("compressed")  # made for axes of equal aspect
    along = 5.6 * max(min(width, height) / max(width, height), 0.15)
    if width > height:
        figure.set_size_inches(6.4 + 0.9 * bar, along + 3.6 + 1.4)
        return list(figure.subplots(2, 1, height_ratios=(along, 3.6)))
    figure.set_size_inches(along + 3.6 + 1.8 + 0.9 * bar, 6.4)
    return list(figure.subplots(1, 2, width_ratios=(along, 3.6)))


def _when(frames: list[ShownMoment], clock: str, past: bool) -> str:
    """`t = 2 s, pale: t = 0 s`; iterations instead of times for a minimiser."""
    first, last = frames[0], frames[-1]
    passes = first.time != last.time or len(frames) == 1
    now, then = (style.moment(frame.step, frame.time, clock, passes) for frame in (last, first))
    pale = {1: "", 2: f", pale: {then}"}.get(len(frames), f", pale: from {then} on")
    return now + pale * past
