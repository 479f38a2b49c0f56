"""Profiles over their line and time, as an image; of one frame, or a few of a line in a body, curves."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...scene import units
from .. import readings, style
from . import profiles
from .energies import along, stands
from .line import draw_nodes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 12
"""The most frames without time that are drawn as curves."""
PALE = "#bfc6ce"


def draw(figure: "Figure", run: Path, name: str) -> None:
    """Plot numbers along a line (`curves.profiles`) over it and time; of one frame a curve.

    Of a few frames without time along a line that an observer looks at, as of load steps, the last, and pale
    the others. The colour scale is centred on zero for both signs.
    """
    seen = readings.series(run, name)
    moments, value = along(seen), profiles.values(name, seen.value)
    places, label = profiles.along(profiles.raster(run, name)), profiles.text(run, name)
    if len(value) == 1 or (stands(seen) and len(value) <= FEW and profiles.is_looked_at(run, name)):
        figure.set_size_inches(6.4, 3.6)
        axes = figure.subplots()
        for row in value[:-1]:
            axes.plot(places, row, color=PALE, linewidth=0.8)
        draw_nodes(axes, value[-1], style.COLOURS[0], places)
        axes.set(xlabel=profiles.axis(run, name), ylabel=label)
        return
    rows, columns = 1 + len(moments) // 1500, 1 + value.shape[1] // 3000  # a picture has no more pixels
    nodes = places[::columns]
    shown = value[::rows, ::columns].astype(float)
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    reach, signed = max(-low, high), style.is_signed(low, high)
    figure.set_size_inches(6.4, 4.4)
    axes = figure.subplots()
    colours = (
        {"cmap": style.DIVERGING, "vmin": -reach, "vmax": reach} if signed else {"cmap": style.SEQUENTIAL}
    )
    mesh = axes.pcolormesh(nodes, moments[::rows], shown, shading="nearest", rasterized=True, **colours)
    clock = readings.symbols(run, name)[1]
    times = "iteration" if stands(seen) else units.with_unit("time", clock)
    axes.set(xlabel=profiles.axis(run, name), ylabel=times)
    bar = figure.colorbar(mesh, pad=0.02, aspect=30)
    bar.set_label(label)
    bar.outline.set_visible(False)
