"""The data of a fit beside the model that was found, with the residuals, from `fit.csv` of its folder."""

import csv
from collections.abc import Callable, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...files import h5md
from ...files.held import held_folders
from ...scene import units
from .. import readings
from ..style import COLOURS, FAINT, INK, line_pen, marker_pen
from .fits import LOSS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "fit.csv"
MOVED = 0.2
"""Curves over time that move by less than this part of the farthest are not drawn."""
CURVES = 4
"""So many components of nodes or experiments are drawn over time, at most."""
MANY = 100
"""From so many points on they are drawn smaller."""
IN_SPACE = (h5md.label(h5md.POSITION), h5md.label(h5md.VELOCITY))
"""Fields whose components are along axes of space; those of others have numbers, as angles of a mechanism."""
POINTS = 20_000
"""The points of a picture, at most."""


class Compared(NamedTuple):
    """The rows of one misfit: times (n,), which curve each belongs to, values (n,), sigma or NaN.

    field: the name under which it is recorded; "" in runs of earlier versions.
    """

    time: np.ndarray
    curve: Sequence[tuple[str, ...]]
    measured: np.ndarray
    model: np.ndarray
    sigma: float
    unit: str
    field: str

    @property
    def words(self) -> str:
        """What was measured."""
        return self.field.replace("_", " ") or "value"

    def component(self, number: str) -> str:
        """A component as a legend has it: `y` of positions, `velocity y`, `q 1`; the field of a number."""
        if all(curve[2] == "0" for curve in self.curve):
            return self.words
        if self.field in (*IN_SPACE, "") and int(number) < 3:
            axis = "xyz"[int(number)]
            return axis if self.field in ("position", "") else f"{self.words} {axis}"
        return f"{self.words} {number}"


def jobs(run: Path, names: Sequence[str] = ()) -> "dict[str, Callable[[Figure], None]]":
    """A picture for each misfit: fit_data.png, fit_data_NAME.png for more than one; names: of nodes."""
    found = read(run / NAME)
    return {
        f"fit_data{f'_{name}' * (len(found) > 1)}": partial(draw, run=run, one=one, names=names)
        for name, one in found.items()
    }


def read(path: Path) -> dict[str, Compared]:
    """The misfits in a file; none if there is no file."""
    if not held_folders.is_file(path):
        return {}
    rows: dict[str, list[dict[str, str]]] = {}
    with TextIOWrapper(held_folders.stream(path), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["loss"], []).append(row)
    return {name: _compared(some) for name, some in rows.items()}


def _compared(rows: list[dict[str, str]]) -> Compared:
    columns = {key: np.array([float(row[key]) for row in rows]) for key in ("time", "measured", "model")}
    curve = [(row["member"], row["node"], row["component"]) for row in rows]
    first = rows[0]
    sigma, field = float(first["sigma"] or "nan"), first.get("field") or ""
    return Compared(**columns, curve=curve, sigma=sigma, unit=first["unit"], field=field)


def draw(figure: "Figure", run: Path, one: Compared, names: Sequence[str] = ()) -> None:
    """Measured values over time, or over those of the model, with the model and the residuals."""
    curves = {curve: np.flatnonzero([c == curve for c in one.curve]) for curve in _some(one)}
    over_time = len(np.unique(one.time)) > 1
    figure.set_size_inches(6.4, 5.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    error = None if np.isnan(one.sigma) else one.sigma
    residual = (one.measured - one.model) / (error or 1.0)
    if over_time:
        _over_time(above, below, one, curves, error, residual, names)
        clock = readings.symbols(run, LOSS)[1]
        below.set_xlabel(units.with_unit("time", clock))
        above.set_ylabel(units.with_unit(one.words, one.unit))
    else:
        kept = slice(None, None, 1 + len(one.model) // POINTS)
        ends = np.array([min(one.model.min(), one.measured.min()), max(one.model.max(), one.measured.max())])
        above.plot(ends, ends, color=INK, linewidth=0.8, label="model")
        _points(above, one.model[kept], one.measured[kept], error, marker_pen(0), "data")
        below.plot(one.model[kept], residual[kept], "o", markersize=2, color=COLOURS[0], alpha=0.6)
        above.legend(handlelength=1.2)
        above.set_ylabel(units.with_unit(f"measured {one.words}", one.unit))
        below.set_xlabel(units.with_unit(f"{one.words} of the model", one.unit))
    below.axhline(0, color=FAINT, linewidth=0.6)
    if error:
        below.axhspan(-1, 1, color=FAINT, alpha=0.15, linewidth=0)
    below.set_ylabel("residual / σ" if error else units.with_unit("residual", one.unit))
    figure.align_ylabels()


def _some(one: Compared) -> list[tuple[str, ...]]:
    """The curves that are drawn over time: of those whose data move most, spread evenly."""
    values: dict[tuple[str, ...], list[float]] = {}
    for curve, value in zip(one.curve, one.measured, strict=True):
        values.setdefault(curve, []).append(float(value))
    moved = {curve: float(np.ptp(some)) for curve, some in values.items()}
    every = [curve for curve, far in moved.items() if far >= MOVED * max(moved.values())]
    places = np.unique(np.linspace(0, len(every) - 1, min(CURVES, len(every))).round().astype(int))
    return [every[k] for k in places]


def _over_time(
    above: Any,
    below: Any,
    one: Compared,
    curves: dict[Any, np.ndarray],
    error: float | None,
    residual: np.ndarray,
    names: Sequence[str],
) -> None:
    """A few curves above, their residuals below, among pale ones of all."""
    kept = slice(None, None, 1 + len(one.time) // POINTS)
    below.plot(one.time[kept], residual[kept], "o", markersize=1.5, color=FAINT, alpha=0.4)
    for number, (curve, rows) in enumerate(curves.items()):
        order = rows[np.argsort(one.time[rows], kind="stable")]
        experiment = f", member {curve[0]}" * (len({c[0] for c in one.curve}) > 1)
        node = int(curve[1])
        of = names[node] if node < len(names) else f"node {node}"
        label = f"{of}, {one.component(curve[2])}{experiment}"
        above.plot(one.time[order], one.model[order], linewidth=0.9, **line_pen(number))
        _points(above, one.time[order], one.measured[order], error, marker_pen(number), label)
        size = 3.0 if len(order) < MANY else 1.5
        below.plot(one.time[order], residual[order], linestyle="", markersize=size, **marker_pen(number))
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="points: data\nlines: model")


def _points(
    axes: Any, x: np.ndarray, y: np.ndarray, error: float | None, pen: dict[str, Any], label: str
) -> None:
    """Measured points, with error bars where sigma is known."""
    pen = pen | {"markersize": 3.0 if len(x) < MANY else 1.5, "label": label, "linestyle": ""}
    if error is None:
        axes.plot(x, y, **pen)
    else:
        axes.errorbar(x, y, yerr=error, elinewidth=0.8, capsize=1.5, **pen)
