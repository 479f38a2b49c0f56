"""Energies over time, or over iterations, with the drift of the total or the residual of a search below."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import trajectory
from ...files.h5md import OBSERVABLES
from ...files.trajectory import Series
from ...scene import units
from ..style import COLOURS, FAINT, INK
from .swings import draw_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ENERGIES = ("potential", "kinetic", "work", "dissipated", "damped", "heat", "cell", "total")
"""Energies of the system besides the terms of the potential."""


def energies_of(names: list[str]) -> list[str]:
    """The energies among the series: potential (or its terms), kinetic, work, ..., cell, total."""
    terms = [name for name in names if name.startswith(f"{OBSERVABLES}/potential/")]
    whole = [f"{OBSERVABLES}/{name}" for name in ENERGIES]
    return (terms if whole[0] not in names else []) + [name for name in whole if name in names]


def draw(figure: "Figure", run: Path, energies: list[str], names: list[str]) -> None:
    """Plot energies; below, the drift of the total, or the residual of a minimiser."""
    total, residual, drift = (f"{OBSERVABLES}/{name}" for name in ("total", "residual", "drift"))
    searching = stands(trajectory.series(run, energies[-1]))
    second = residual if searching else drift if drift in names else total
    rows = 1 + (second in names)
    figure.set_size_inches(6.4, 2.0 + 1.5 * rows)
    above, *below = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=(3, 2)[:rows])[:, 0]
    drawn: list[np.ndarray] = []
    for colour, name in zip([COLOURS[0], *COLOURS[2:]] * 9, energies, strict=False):
        label = name.removeprefix(f"{OBSERVABLES}/").removeprefix("potential/")
        pen: dict[str, Any] = {"color": colour, "linewidth": 0.8 if "potential/" in name else 1.2}
        if name == total:  # what lies below it is seen through its gaps
            pen = {"color": INK, "linewidth": 1.3, "linestyle": (0, (5, 2))}
        seen = trajectory.series(run, name)
        draw_line(above, along(seen), seen.value, label=label, **pen)
        drawn.append(seen.value)
    if searching:
        _stretch(above, drawn)
    unit, clock = trajectory.symbols(run, energies[-1])
    above.set_ylabel(units.with_unit("energy", unit))
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    for axes in below:
        (_residual if searching else _drift)(axes, run, second)
    for axes in figure.axes:
        axes.margins(x=0)
    figure.axes[-1].set_xlabel("iteration" if searching else units.with_unit("time", clock))
    figure.align_ylabels()


def _stretch(axes: "Axes", drawn: list[np.ndarray]) -> None:
    """A logarithmic axis, if the last energy falls over more than a decade and none is below zero."""
    positive = drawn[-1][drawn[-1] > 0]
    if min(map(np.min, drawn)) >= 0 and len(positive) and positive.max() > 10 * positive.min():
        logarithmic(axes, least=0.1 * positive.min())  # smaller terms must not compress the axis


def logarithmic(axes: "Axes", least: float = 0.0) -> None:
    """A logarithmic y axis from `least`; over few decades 2 and 5 have labelled ticks, too."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator

    axes.set_yscale("log", nonpositive="mask")
    low, high = axes.get_ylim()
    low = max(low, least)
    axes.set_ylim(low, high)
    if high < 1e3 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(9, 9)))
        axes.minorticks_off()


def _drift(axes: "Axes", run: Path, name: str) -> None:
    """Plot the recorded drift, or that of the total energy if none was recorded."""
    _, time, value = trajectory.series(run, name)
    axes.axhline(0, color=FAINT, linewidth=0.6)
    if name.endswith("/drift"):
        draw_line(axes, time, value, color=COLOURS[3])
        axes.set_ylabel("relative drift")
        return
    start = value[0]
    draw_line(axes, time, (value - start) / (abs(start) or 1), color=COLOURS[3])
    unit = trajectory.symbols(run, name)[0]
    axes.set_ylabel("(E − E₀) / |E₀|" if start else units.with_unit("E − E₀", unit))


def _residual(axes: "Axes", run: Path, name: str) -> None:
    step, _, residual = trajectory.series(run, name)
    axes.plot(step, residual, color=COLOURS[3])
    if np.any(residual > 0):
        logarithmic(axes)
    axes.set_ylabel(units.with_unit("residual", trajectory.symbols(run, name)[0]))


def stands(seen: Series) -> bool:
    """True for a minimiser: several steps at one time."""
    return len(seen.time) > 1 and not np.ptp(seen.time)


def along(seen: Series) -> np.ndarray:
    return seen.step if stands(seen) else seen.time
