"""The axes on which a subject moves: to scale, with coordinates, or in a view of space with a compass."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import h5md
from ...scene import units
from .. import mesh_artists, readings, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def stage(
    figure: "Figure", run: Path, low: np.ndarray, high: np.ndarray, view: np.ndarray | None, bar: bool = False
) -> "Axes":
    """Axes from low to high, (2,) each; a view (3, 3) has a compass below in place of coordinates.

    bar: with room for a colour bar.
    """
    turned = view is not None and len(view) == 3
    if turned:
        low = low - np.array([0.0, 0.16 * (high - low).max()])  # for the compass
    width, height = high - low
    axes = style.panel(figure, width, height, bar)
    axes.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    unit = readings.symbols(run, h5md.POSITION)[0]
    if view is not None and turned:
        mesh_artists.draw_compass(axes, view, unit)
    else:
        axes.set(xlabel=units.with_unit("x", unit), ylabel=units.with_unit("y", unit))
    return axes
