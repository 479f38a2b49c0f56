"""Pictures of observers of few bodies: orbital elements, closest approach, MEGNO and Lyapunov time."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import h5md
from ...files.h5md import OBSERVABLES
from ...scene import units
from .. import readings
from ..style import COLOURS, FAINT, line_pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORBIT = f"{OBSERVABLES}/orbit/"
APPROACH = f"{OBSERVABLES}/closest_approach"
MEGNO, LYAPUNOV = f"{OBSERVABLES}/megno", f"{OBSERVABLES}/lyapunov_time"
WIDE = 10.0
"""The ratio of lengths from which on their axis is logarithmic."""


def jobs(run: Path, names: list[str]) -> "dict[str, Callable[[Figure], None]]":
    """The pictures of these series, by name."""
    found: dict[str, Callable[[Figure], None]] = {}
    if orbits := [name for name in names if name.startswith(ORBIT)]:
        found["orbital_elements"] = partial(draw_elements, run=run, names=orbits, known=names)
    if APPROACH in names:
        found["closest_approach"] = partial(draw_approach, run=run)
    if MEGNO in names:
        found["megno"] = partial(draw_megno, run=run)
    return found


def draw_elements(figure: "Figure", run: Path, names: list[str], known: list[str]) -> None:
    """Semi-major axis, eccentricity and inclination over time, and how far the pericentre has turned.

    known: the names of all series; where positions are among them, they have the unit of length.
    """
    figure.set_size_inches(6.4, 7.0)
    rows = figure.subplots(4, 1, sharex=True)
    orbits = {name: readings.series(run, name) for name in names}
    size = {name: float(np.abs(seen.value[0, 0])) for name, seen in orbits.items()}
    ordered = sorted(names, key=lambda name: size[name])
    for number, name in enumerate(ordered):
        seen = orbits[name]
        a, e, inclination, node, pericentre, _ = seen.value.T
        turned = np.unwrap(node + pericentre)
        shown = (np.abs(a), e, np.rad2deg(inclination), np.rad2deg(turned - turned[0]))
        for axes, values in zip(rows, shown, strict=True):
            axes.plot(seen.time, values, label=name.removeprefix(ORBIT), **line_pen(number))
    length = readings.symbols(run, h5md.POSITION)[0] if h5md.POSITION in known else ""
    rows[0].set(ylabel=units.with_unit("semi-major axis", length))
    _wide(rows[0], size[ordered[0]], size[ordered[-1]])
    rows[1].set(ylabel="eccentricity")
    rows[2].set(ylabel="inclination [deg]")
    rows[3].set(ylabel="turn of pericentre [deg]", xlabel=_time(run, names[0]))
    rows[0].margins(x=0)
    rows[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.2)
    figure.align_ylabels()


def draw_approach(figure: "Figure", run: Path) -> None:
    """The least distance of two bodies so far over time."""
    figure.set_size_inches(6.4, 3.2)
    axes, seen = figure.subplots(), readings.series(run, APPROACH)
    axes.step(seen.time, seen.value, where="post", color=COLOURS[0])
    axes.set(xlabel=_time(run, APPROACH))
    _wide(axes, seen.value.min(), seen.value.max())
    axes.set_ylabel(units.with_unit("least distance so far", readings.symbols(run, APPROACH)[0]))
    axes.margins(x=0)


def draw_megno(figure: "Figure", run: Path) -> None:
    """MEGNO over time, with a line at 2, where regular orbits tend to; below, the Lyapunov time."""
    figure.set_size_inches(6.4, 4.5)
    above, below = figure.subplots(2, 1, sharex=True)
    megno, lyapunov = (readings.series(run, name) for name in (MEGNO, LYAPUNOV))
    above.axhline(2.0, color=FAINT, linewidth=0.6)
    above.plot(megno.time, megno.value, color=COLOURS[0])
    above.set(ylabel="MEGNO")
    below.plot(lyapunov.time, np.where(lyapunov.value > 0.0, lyapunov.value, np.nan), color=COLOURS[1])
    below.set(yscale="log", xlabel=_time(run, MEGNO))
    below.set_ylabel(units.with_unit("Lyapunov time", readings.symbols(run, LYAPUNOV)[0]))
    above.margins(x=0)


def _wide(axes: "Axes", least: float, most: float) -> None:
    """Make the vertical axis logarithmic if the numbers differ much."""
    if most > WIDE * least > 0.0:
        axes.set(yscale="log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")


def _time(run: Path, name: str) -> str:
    return units.with_unit("time", readings.symbols(run, name)[1])
