"""Recorded numbers of a run beside its page: energies, and every other scalar, over time."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..files import h5md, trajectory
from ..plot import readings, style
from ..plot.curves.energies import energies_of
from ..scene import units

ROWS = 300
"""A curve has about so many points."""


class Chart(NamedTuple):
    """Curves with one axis: x (T,), and y (T,) by label, between its rows as a straight line.

    counts_steps: x are steps, because time stands still.
    """

    title: str
    along: str
    counts_steps: bool
    x: np.ndarray
    curves: dict[str, np.ndarray]
    pens: list[str]


def charts(run: Path) -> list[Chart]:
    """A chart of all energies, and one of each other scalar that is recorded."""
    names = trajectory.names(run)
    energies = energies_of(names)
    others = [
        name
        for name in names
        if name.startswith(f"{h5md.OBSERVABLES}/")
        and name not in energies
        and next(readings.pieces(run, name)).value.ndim == 1
    ]
    found = [_make_chart(run, "energy", energies)] if energies else []
    return found + [_make_chart(run, _series_words(name), [name]) for name in others]


def _make_chart(run: Path, title: str, names: list[str]) -> Chart:
    seen = {name: readings.series(run, name) for name in names}
    unit, clock = readings.symbols(run, names[0])
    stands = all(len(rows.time) > 1 and not np.ptp(rows.time) for rows in seen.values())
    axes = {name: rows.step.astype(float) if stands else rows.time for name, rows in seen.items()}
    x = np.unique(np.concatenate(list(axes.values())))
    x = np.union1d(x[:: 1 + len(x) // ROWS], x[-1:])
    curves = {}
    for name, rows in seen.items():
        curves[_series_words(name)] = np.interp(x, axes[name], rows.value)
    pens = [
        style.INK if name.endswith("/total") else pen for name, pen in zip(names, _curve_pens(), strict=False)
    ]
    along = "iteration" if stands else units.with_unit("time", clock)
    return Chart(units.with_unit(title, unit), along, stands, x, curves, pens)


def _curve_pens() -> list[str]:
    return style.COLOURS * 9


def _series_words(name: str) -> str:
    return h5md.label(name).removeprefix("potential/").replace("_", " ")
