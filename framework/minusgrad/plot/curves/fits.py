"""Convergence plot of a fit: the loss, and the distance of each parameter from its final value."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files.h5md import OBSERVABLES
from .. import readings
from ..style import COLOURS, line_pen, marker_pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOSS, PARAMETERS = f"{OBSERVABLES}/loss", f"{OBSERVABLES}/parameters/"
SLOPE, HELD_OUT = f"{OBSERVABLES}/slope", f"{OBSERVABLES}/held_out"


def draw(figure: "Figure", run: Path, names: list[str]) -> None:
    """Losses above (logarithmic, if never negative), the slope if recorded, the parameters below."""
    sought = [name for name in names if name.startswith(PARAMETERS)]
    rows = 2 + (SLOPE in names)
    figure.set_size_inches(6.4, 0.4 + 2.1 * rows)
    above, *middle, below = figure.subplots(rows, 1, sharex=True)
    for axes in middle:
        step, _, slope = readings.series(run, SLOPE)
        axes.plot(step, slope, color=COLOURS[3], **_marks(step))
        axes.set_yscale("log", nonpositive="mask")
        axes.set_ylabel("slope")
    step, _, loss = readings.series(run, LOSS)
    above.plot(step, loss, color=COLOURS[0], label="of the draw", **_marks(step))
    if HELD_OUT in names:
        at, _, held_out = readings.series(run, HELD_OUT)
        above.plot(at, held_out, color=COLOURS[1], label="held out", **_marks(at))
        above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    if loss.min() > 0.0:
        above.set_yscale("log")
    above.set_ylabel("loss")
    for number, name in enumerate(sought):
        _approach(below, run, name, number)
    below.set_yscale("log", nonpositive="mask")
    below.set(xlabel="iteration", ylabel="distance to final value\n(relative)")
    below.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    below.xaxis.get_major_locator().set_params(integer=True)
    figure.align_ylabels()


def _approach(axes: "Axes", run: Path, name: str, number: int) -> None:
    """Plot the distance of a parameter from its final value, relative to its start."""
    step, _, value = readings.series(run, name)
    far = np.linalg.norm((value - value[-1]).reshape(len(value), -1), axis=1)
    label = name.removeprefix(PARAMETERS)
    pen = line_pen(number) | (marker_pen(number) | {"markersize": 3.0} if _marks(step) else {})
    axes.plot(step[:-1], far[:-1] / (far[0] or 1.0), label=label, **pen)


def _marks(step: np.ndarray) -> dict[str, Any]:
    """Markers, if there are few iterations."""
    return {"marker": "o", "markersize": 2.5} if len(step) < 60 else {}
