"""Fans: an observable of all members over time, by its median and quantiles, and the last values.

left     the median, bands of the middle 50 % and 90 % of the members, and a few members
right    a histogram of the last values, on the same axis

Members that failed are left out from then on.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import h5md
from ...files.h5md import OBSERVABLES
from ...scene import units
from .. import readings
from ..style import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 6
"""The observables of one picture."""
FEW = 12
"""The members that are drawn as lines."""
BANDS = ((0.05, 0.95, 0.25), (0.25, 0.75, 0.45))
"""Lower and upper quantile, and opacity, of each band."""
LAST = ("drift", "residual")
"""Observables about errors, drawn behind the others."""


def jobs(run: Path, names: list[str], members: int) -> "dict[str, Callable[[Figure], None]]":
    """Pictures of the observables with one number for each member: members.png, members_2.png, ..."""
    shown = [
        name for name in names if name.startswith(f"{OBSERVABLES}/") and _is_of_members(run, name, members)
    ]
    shown.sort(key=lambda name: (h5md.label(name) in LAST, name))
    parts = [shown[k : k + MOST] for k in range(0, len(shown), MOST)]
    return {
        f"members{f'_{k + 1}' * (k > 0)}": partial(draw, run=run, names=part) for k, part in enumerate(parts)
    }


def draw(figure: "Figure", run: Path, names: list[str]) -> None:
    """A row for each observable: its fan, and the histogram of its last values."""
    figure.set_size_inches(6.8, 0.7 + 1.5 * len(names))
    ratios = {"width_ratios": (4, 1)}
    rows = figure.subplots(len(names), 2, squeeze=False, sharex="col", sharey="row", gridspec_kw=ratios)
    for (left, right), name in zip(rows, names, strict=True):
        seen = readings.series(run, name)
        searching = len(seen.time) > 1 and not np.ptp(seen.time)
        _fan(left, seen.step if searching else seen.time, seen.value)
        _histogram(right, seen.value)
        unit, clock = readings.symbols(run, name)
        left.set_ylabel(units.with_unit(h5md.label(name), unit))
        last = "iteration" if searching else units.with_unit("time", clock)
        rows[-1][0].set_xlabel(last)
    rows[-1][1].set_xlabel("members")
    rows[0][1].set_title("at the end", color=FAINT)
    rows[0][0].set_title(_legend(seen.value), loc="left", color=FAINT)
    figure.align_ylabels()


def _fan(axes: "Axes", along: np.ndarray, values: np.ndarray) -> None:
    """The bands, the median and a few members of values (T, M)."""
    kept = np.isfinite(values).any(axis=1)
    along, values = along[kept], np.where(np.isfinite(values[kept]), values[kept], np.nan)
    if not len(along):
        return
    for low, high, alpha in BANDS:
        axes.fill_between(along, *_quantiles(values, [low, high]), color=COLOURS[0], alpha=alpha, linewidth=0)
    if values.shape[1] > 1:
        chosen = np.unique(np.linspace(0, values.shape[1] - 1, FEW).astype(int))
        axes.plot(along, values[:, chosen], color=COLOURS[0], linewidth=0.4, alpha=0.5)
    axes.plot(along, _quantiles(values, [0.5])[0], color=INK, linewidth=1.2)
    axes.margins(x=0)


def _quantiles(values: np.ndarray, levels: list[float]) -> np.ndarray:
    """Quantiles over the members that are finite, (levels, T)."""
    return np.nanquantile(values, levels, axis=1)


def _histogram(axes: "Axes", values: np.ndarray) -> None:
    """The last values of the members, along the vertical axis."""
    last = values[-1][np.isfinite(values[-1])]
    spread = float(np.ptp(last)) if len(last) else 0.0
    if spread > 1e-12 * float(np.abs(last).max(initial=0.0)):
        axes.hist(
            last, bins=int(np.clip(np.sqrt(len(last)), 5, 60)), orientation="horizontal", color=COLOURS[0]
        )
    elif len(last):
        axes.barh(last[0], len(last), height=abs(last[0]) * 1e-3 or 1e-3, color=COLOURS[0])
    axes.margins(y=0.05)


def _legend(values: np.ndarray) -> str:
    lost = int((~np.isfinite(values[-1])).sum())
    failed = f", {lost} failed" if lost else ""
    return f"{values.shape[1]} members{failed}: median, middle 50 % and 90 %"


def _is_of_members(run: Path, name: str, members: int) -> bool:
    return readings.last_row(run, name).value.shape[1:] == (members,)
