"""Paths of equilibria: the load over displacements, stable parts as lines, unstable ones dashed.

Of each displacement the component that moves most. Dots are where the load turns (limit points), at the
recorded state that is nearest.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files.h5md import OBSERVABLES
from ...scene import units
from .. import readings
from ..style import COLOURS, FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = f"{OBSERVABLES}/load_path/"
FACTOR, LENGTH, UNSTABLE = (f"{SERIES}{name}" for name in ("factor", "arc_length", "unstable"))
MOVED = f"{SERIES}displacement/"


def jobs(run: Path, names: Sequence[str]) -> "dict[str, Callable[[Figure], None]]":
    """load_path.png, where the load of a path was recorded."""
    if FACTOR not in names:
        return {}
    moved = [name for name in names if name.startswith(MOVED)]
    return {"load_path": partial(draw, run=run, moved=moved, stability=UNSTABLE in names)}


def draw(figure: "Figure", run: Path, moved: Sequence[str], stability: bool) -> None:
    """The load factor over each displacement; without any, over the steps."""
    figure.set_size_inches(5.6, 4.0)
    axes = figure.subplots()
    factor = readings.series(run, FACTOR)
    unstable = readings.series(run, UNSTABLE).value > 0.0 if stability else np.zeros(len(factor.value), bool)
    axes.axhline(0.0, color=FAINT, linewidth=0.6, zorder=0)
    if not moved:
        draw_path(axes, factor.step.astype(float), factor.value, unstable, COLOURS[0], "")
        axes.set_xlabel("step")
    for number, name in enumerate(moved):
        along, axis = main_component(readings.series(run, name).value)
        label = f"{name.removeprefix(MOVED).replace('_', ' ')}, {axis}".strip(", ")
        draw_path(axes, along, factor.value, unstable, COLOURS[number % len(COLOURS)], label)
    if moved:
        unit = readings.symbols(run, moved[0])[0]
        own = f" of {axes.lines[1].get_label()}" if len(moved) == 1 else ""
        axes.set_xlabel(units.with_unit(f"displacement{own}", unit))
    if len(moved) > 1:
        axes.legend()
    axes.set_ylabel("load, parts of the full load")


def main_component(moved: np.ndarray) -> tuple[np.ndarray, str]:
    """The component (T,) of displacements (T, d) that changes most, upwards where it falls; with its axis."""
    flat = moved.reshape(len(moved), -1)
    k = int(np.argmax(np.ptp(flat, axis=0)))
    falls = abs(flat[:, k].min()) > abs(flat[:, k].max())
    name = "xyz"[k] if flat.shape[1] <= 3 else str(k)
    return (-flat[:, k] if falls else flat[:, k]), f"-{name}" if falls else name


def draw_path(
    axes: "Axes", along: np.ndarray, load: np.ndarray, unstable: np.ndarray, colour: str, label: str
) -> None:
    """One curve: dashed where a state is not stable, dots where the load turns."""
    for start, stop in stretches(unstable):
        part = slice(start, min(stop + 1, len(load)))
        style = (0, (3, 1.6)) if unstable[start] else "-"
        axes.plot(along[part], load[part], color=colour, linestyle=style, linewidth=1.3, label=label or "_")
        label = "_" + label
    turns = np.flatnonzero(np.diff(np.sign(np.diff(load))) != 0.0) + 1
    axes.plot(along[turns], load[turns], "o", color=colour, markersize=4, linestyle="", label="_")


def stretches(flags: np.ndarray) -> list[tuple[int, int]]:
    """The stretches (start, stop) of equal flags, one after another."""
    ends = [0, *(np.flatnonzero(np.diff(flags.astype(int))) + 1), len(flags)]
    return [(int(a), int(b)) for a, b in pairwise(ends) if b > a]
