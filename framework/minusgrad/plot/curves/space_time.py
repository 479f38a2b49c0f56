"""Scalars of nodes over nodes and time, as an image."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import h5md
from ...scene import units
from .. import readings, style
from .energies import along, stands

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(figure: "Figure", run: Path, name: str) -> None:
    """Plot a scalar of every node over nodes and time; the colour scale is centred on zero for both signs."""
    seen = readings.series(run, name)
    moments, value = along(seen), seen.value
    rows, columns = 1 + len(moments) // 1500, 1 + value.shape[1] // 3000  # a picture has no more pixels
    nodes = np.arange(0, value.shape[1], columns)
    shown = value[::rows, ::columns].astype(float)
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    reach, signed = max(-low, high), style.is_signed(low, high)
    figure.set_size_inches(6.4, 4.4)
    axes = figure.subplots()
    colours = (
        {"cmap": style.DIVERGING, "vmin": -reach, "vmax": reach} if signed else {"cmap": style.SEQUENTIAL}
    )
    mesh = axes.pcolormesh(nodes, moments[::rows], shown, shading="nearest", rasterized=True, **colours)
    unit, clock = readings.symbols(run, name)
    axes.set(xlabel="node", ylabel="iteration" if stands(seen) else units.with_unit("time", clock))
    bar = figure.colorbar(mesh, pad=0.02, aspect=30)
    bar.set_label(units.with_unit(name.removeprefix(h5md.FRAMES + "/"), unit))
    bar.outline.set_visible(False)
