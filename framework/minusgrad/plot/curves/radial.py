"""Radial distribution function: its mean over the recorded steps, beside a published curve.

Decisions 0331.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files.h5md import OBSERVABLES
from ...scene import units
from .. import readings
from ..style import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = f"{OBSERVABLES}/radial_distribution"


def draw(figure: "Figure", run: Path, names: list[str]) -> None:
    """g over r as a line; published values, if there are, as points."""
    r, g = (readings.series(run, f"{SERIES}/{label}").value for label in ("r", "g"))
    figure.set_size_inches(6.4, 4.0)
    axes = figure.subplots()
    axes.axhline(1.0, color=FAINT, linewidth=0.6)
    if f"{SERIES}/published" in names:
        published = readings.series(run, f"{SERIES}/published").value[0]
        axes.plot(r[0], published, "o", color=INK, markersize=2.5, label="published")
    axes.plot(r[0], np.mean(g, axis=0), color=COLOURS[0], label="mean of the run")
    axes.set(xlabel=units.with_unit("r", readings.symbols(run, f"{SERIES}/r")[0]), ylabel="g(r)")
    axes.margins(x=0)
    axes.set_ylim(bottom=0.0)
    axes.legend()
