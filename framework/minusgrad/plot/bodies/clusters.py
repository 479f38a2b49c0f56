"""Pictures of observers of star clusters: Lagrangian radii, virial ratio, density profile."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files.h5md import OBSERVABLES
from ...scene import units
from .. import readings, style
from ..style import COLOURS, FAINT, line_pen, marker_pen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RADII = f"{OBSERVABLES}/lagrangian_radius/"
RATIO = f"{OBSERVABLES}/virial_ratio"
PROFILE = f"{OBSERVABLES}/density_profile/"
PROFILES = 4
"""The times of which a profile is drawn, at most."""


def jobs(run: Path, names: list[str]) -> "dict[str, Callable[[Figure], None]]":
    """The pictures of these series, by name."""
    found: dict[str, Callable[[Figure], None]] = {}
    if radii := [name for name in names if name.startswith(RADII)]:
        found["lagrangian_radii"] = partial(draw_radii, run=run, names=radii)
    if RATIO in names:
        found["virial_ratio"] = partial(draw_ratio, run=run)
    for name in names:
        if name.startswith(PROFILE) and name.endswith("/density"):
            stem = name.removesuffix("/density")
            label = stem.removeprefix(f"{OBSERVABLES}/").replace("/", "_")
            found[label] = partial(draw_profile, run=run, stem=stem)
    return found


def draw_radii(figure: "Figure", run: Path, names: list[str]) -> None:
    """Radii over time, with a logarithmic axis; fractions of the mass as labels."""
    figure.set_size_inches(6.4, 4.0)
    axes = figure.subplots()
    for number, name in enumerate(names):
        seen = readings.series(run, name)
        *body, fraction = name.removeprefix(RADII).split("/")
        label = " ".join([*(part.replace("_", " ") for part in body), f"{100 * float(fraction):g} %"])
        axes.plot(seen.time, seen.value, label=label, **line_pen(number))
    length, clock = readings.symbols(run, names[0])
    axes.set(xlabel=units.with_unit("time", clock), yscale="log")
    axes.set_ylabel(units.with_unit("radius of a fraction of the mass", length))
    axes.margins(x=0)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)


def draw_ratio(figure: "Figure", run: Path) -> None:
    """The ratio over time, with a line at equilibrium."""
    figure.set_size_inches(6.4, 3.2)
    axes, seen = figure.subplots(), readings.series(run, RATIO)
    axes.axhline(1.0, color=FAINT, linewidth=0.6)
    axes.plot(seen.time, seen.value, color=COLOURS[0])
    axes.set(xlabel=units.with_unit("time", readings.symbols(run, RATIO)[1]), ylabel="virial ratio")
    axes.margins(x=0)


def draw_profile(figure: "Figure", run: Path, stem: str) -> None:
    """Density over radius, both logarithmic, at up to four times from first to last."""
    figure.set_size_inches(6.4, 4.0)
    axes = figure.subplots()
    r, seen = (readings.series(run, f"{stem}/{label}") for label in ("r", "density"))
    density, clock = readings.symbols(run, f"{stem}/density")
    length = readings.symbols(run, f"{stem}/r")[0]
    shown = np.unique(np.linspace(0, len(seen.step) - 1, PROFILES).round().astype(int))
    for number, row in enumerate(shown):
        label = style.moment(int(seen.step[row]), float(seen.time[row]), clock, passes=True)
        value = np.where(seen.value[row] > 0.0, seen.value[row], np.nan)
        axes.plot(r.value[row], value, markersize=3.0, label=label, **line_pen(number) | marker_pen(number))
    axes.set(xscale="log", yscale="log", xlabel=units.with_unit("r", length))
    axes.set_ylabel(units.with_unit("density", density))
    axes.legend()
