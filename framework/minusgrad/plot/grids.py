"""Plot of a field over a plane grid: row 0 at the bottom, lengths to scale.

The colour scale begins at zero for values of one sign, and is centred on zero for values of both signs. Of
vectors and matrices their norm is drawn.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files import h5md, trajectory
from ..files.h5md import Raster
from ..scene import units
from . import mesh_artists, readings, style
from .moments import ShownMoment, moments

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = 4
FAINT = 5.0  # fields whose largest numbers differ by a larger factor have colour scales of their own


def drawable(run: Path, names: Iterable[str]) -> list[str]:
    """The series over grids with two axes."""
    plane = {grid for grid, raster in trajectory.grids(run).items() if len(raster.shape) == 2}
    return [name for name in names if h5md.grid_of(name) in plane]


def draw(figure: "Figure", run: Path, name: str, until: int | None = None) -> None:
    """Draw the last frame (rows, columns) of a series over a grid, or four frames if time passes."""
    frames = _frames(run, name, until)
    raster = trajectory.grids(run)[h5md.grid_of(name)]
    values, label = (
        np.stack([scalar(frame.value, raster) for frame in frames]),
        h5md.label(name).replace("_", " "),
    )
    if values.ndim < 1 + frames[0].value.ndim:
        label = f"|{label}|"
    scales = _scales(values)
    (bottom, top), (left, right) = raster.edges
    extent = (left, right, bottom, top)
    panels = style.panels(figure, len(frames), right - left, top - bottom, bar=True)
    length = raster.unit[0] if raster.unit else ""
    unit, clock = readings.symbols(run, name)
    passes = len(frames) > 1 or advances(run, name)
    for axes, frame, value, scale in zip(panels, frames, values, scales, strict=True):
        axes.imshow(value, origin="lower", extent=extent, cmap=scale.cmap, norm=scale.norm, zorder=0)
        axes.set(xlabel=units.with_unit("x", length), ylabel=units.with_unit("y", length))
        axes.label_outer()
        axes.set_title(style.moment(frame.step, frame.time, clock, passes), loc="left")
    label = units.with_unit(label, unit)
    if all(scale is scales[0] for scale in scales):
        mesh_artists.draw_bar(figure, panels, scales[0], label)
    else:
        for axes, scale in zip(panels, scales, strict=True):
            mesh_artists.draw_bar(figure, [axes], scale, label)


def scalar(values: np.ndarray, raster: Raster) -> np.ndarray:
    """The values of a field over a grid, of vectors and matrices their norm."""
    if values.ndim == len(raster.shape):
        return values
    return np.linalg.norm(values.reshape(*raster.shape, -1).astype(float), axis=-1)


def _scales(values: np.ndarray) -> list[mesh_artists.Colours]:
    """The colour scale of each of the fields (T, rows, columns): one of all, unless some are much smaller."""
    sizes = np.abs(values).max(axis=(1, 2))
    if sizes.max() > FAINT * sizes[sizes > 0].min(initial=np.inf):
        return [mesh_artists.colours(value, "maps") for value in values]
    return [mesh_artists.colours(values, "maps")] * len(values)


def _frames(run: Path, name: str, until: int | None) -> list[ShownMoment]:
    """Four frames of a field that changes in time, else the last one."""
    found = moments(run, name, between=PANELS - 2, until=until)
    return found if len(found) == PANELS else found[-1:]


def advances(run: Path, name: str) -> bool:
    """True unless time stands still, as in a search for a minimum."""
    first, last = next(readings.pieces(run, name)), readings.last_row(run, name)
    return bool(first.time[0] != last.time[0] or first.step[0] == last.step[0])
