"""Energies over time, or over iterations, with their error or the residual of a search below.

    error = (E - E0) / S,  E = total - work + dissipated - heat + cell
            S the largest so far of what `drift` is measured by, at the end of the run: |E0| or, where that is
            nothing, the energies of the start; the work; the heat

One S for all rows: a system that begins near energy zero and is driven has no large error at its start.

Decisions 0124.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import trajectory
from ...files.h5md import OBSERVABLES
from ...files.trajectory import Series
from ...scene import units
from .. import readings, style
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
    kept = not searching and f"{OBSERVABLES}/kinetic" in names and f"{OBSERVABLES}/damped" not in names
    second = residual if searching else drift if drift in names else total if kept else ""
    rows = 1 + (second in names)
    figure.set_size_inches(6.4, 2.0 + 1.5 * rows)
    above, *below = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=(3, 2)[:rows])[:, 0]
    seen = {name: trajectory.series(run, name) for name in energies}
    unit, clock = trajectory.symbols(run, energies[-1])
    shown = readings.of_energies(unit, max(_largest(one.value) for one in seen.values()))
    drawn = {name: one.value * shown.factor for name, one in seen.items()}
    for number, (name, values) in enumerate(drawn.items()):
        label = name.removeprefix(f"{OBSERVABLES}/").removeprefix("potential/").replace("_", " ")
        pen: dict[str, Any] = style.line_pen(number) | {"linewidth": 0.8 if "potential/" in name else 1.2}
        if name == total:  # what lies below it is seen through its gaps
            pen = {"color": INK, "linewidth": 1.3, "linestyle": (0, (7, 2.5))}
        draw_line(above, along(seen[name]), values, label=label, **pen)
    if searching:
        _stretch(above, list(drawn.values()))
    above.set_ylabel(units.with_unit("energy", shown.name))
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    for axes in below:
        if searching:
            same = trajectory.symbols(run, second)[0] == unit  # of numbers, whose slopes are energies
            _residual(axes, run, second, shown if same else None)
        else:
            _error(axes, run, names)
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


def _error(axes: "Axes", run: Path, names: list[str]) -> None:
    """Plot the error of the energy in parts of one energy of the whole run."""
    time, error = error_of_energy(run, names)
    axes.axhline(0, color=FAINT, linewidth=0.6)
    draw_line(axes, time, error, color=COLOURS[3])
    axes.set_ylabel("energy error\n(relative)")


def error_of_energy(run: Path, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The times (T,) and the relative errors (T,) of the energy that should be kept.

    A drift without the energies that it is made of is given as it was recorded.
    """
    flows = {
        name: trajectory.series(run, f"{OBSERVABLES}/{name}").value
        for name in ("work", "dissipated", "heat", "cell")
        if f"{OBSERVABLES}/{name}" in names
    }
    drift = f"{OBSERVABLES}/drift"
    if f"{OBSERVABLES}/total" not in names:
        _, time, value = trajectory.series(run, drift)
        return time, value
    _, time, total = trajectory.series(run, f"{OBSERVABLES}/total")
    if any(len(value) != len(total) for value in flows.values()):
        _, time, value = trajectory.series(run, drift)
        return time, value
    signs = {"work": -1.0, "dissipated": 1.0, "heat": -1.0, "cell": 1.0}
    kept = total + sum(signs[name] * value for name, value in flows.items())
    off = kept - kept[0]
    sizes = [_largest(flows[name]) for name in ("work", "heat") if name in flows]
    if drift in names and len(value := trajectory.series(run, drift).value) == len(off):
        moved = (value != 0.0) & (off != 0.0)
        sizes += [_largest(off[moved] / value[moved])]
    else:
        sizes += [abs(float(kept[0])) or _largest(total)]
    return time, off / (max(sizes) or 1.0)


def _largest(values: np.ndarray) -> float:
    """The largest size of those that are finite; 0 without one."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _residual(axes: "Axes", run: Path, name: str, shown: readings.ShownUnit | None) -> None:
    step, _, residual = trajectory.series(run, name)
    shown = shown or readings.shown(trajectory.symbols(run, name)[0])
    residual = residual * shown.factor
    axes.plot(step, residual, color=COLOURS[3])
    if np.any(residual > 0):
        logarithmic(axes)
    axes.set_ylabel(units.with_unit("residual", shown.name))


def stands(seen: Series) -> bool:
    """True for a minimiser: several steps at one time."""
    return len(seen.time) > 1 and not np.ptp(seen.time)


def along(seen: Series) -> np.ndarray:
    return seen.step if stands(seen) else seen.time
