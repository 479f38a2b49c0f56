"""Every recorded number over time: observables that have no picture of their own, a panel for each kind.

The series of one observer, as `temperature/kinetic` and `temperature/configurational`, share a panel if they
have one unit. Components of vectors are lines with names. Positive numbers that span more than three decades
have a logarithmic axis.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import h5md
from ...files.h5md import OBSERVABLES
from ...scene import units
from .. import readings
from ..bodies import clusters, few_bodies
from ..style import line_pen
from . import load_paths, profiles, radial
from .energies import ENERGIES, along, stands
from .fits import LOSS, PARAMETERS, SLOPE
from .swings import draw_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 5
"""The panels of one picture."""
SMALL = 9
"""So many numbers of one row are drawn as lines."""
LINES = 12
"""The lines of a panel, at most."""
DECADES = 1e3
STILL = 1e-9
"""Numbers that differ by less than this part of their size are drawn as constant."""
OWN = (
    f"{OBSERVABLES}/potential/", PARAMETERS, f"{radial.SERIES}/",
    clusters.RADII, clusters.PROFILE, few_bodies.ORBIT, load_paths.SERIES,
)  # fmt: skip
"""Names of series that have pictures of their own begin like this."""
TAKEN = {LOSS, SLOPE, clusters.RATIO, few_bodies.APPROACH, few_bodies.MEGNO, few_bodies.LYAPUNOV}
TAKEN |= {f"{OBSERVABLES}/{name}" for name in (*ENERGIES, "drift", "residual")}


def jobs(run: Path, names: Sequence[str], only: str = "") -> "dict[str, Callable[[Figure], None]]":
    """Pictures of the observables without another one: observables.png, observables_2.png, ...

    only: the label of the only one that is drawn, whatever pictures it has.
    """
    every = [name for name in names if name.startswith(f"{OBSERVABLES}/")]
    own = of_one_place(run, names)
    every += own
    shown = [n for n in every if h5md.label(n) == only] if only else [n for n in every if not _is_taken(n)]
    panels: dict[tuple[str, str], list[str]] = {}
    for name in shown:
        if name in own or np.prod(readings.last_row(run, name).value.shape[1:], dtype=int) <= SMALL:
            kind = h5md.label(name).split("/")[0]
            panels.setdefault((kind, readings.symbols(run, name)[0]), []).append(name)
    groups = list(panels.values())
    parts = [groups[k : k + MOST] for k in range(0, len(groups), MOST)]
    if only and parts:
        return {only.replace("/", "_"): partial(draw, run=run, panels=parts[0])}
    return {
        f"observables{f'_{k + 1}' * (k > 0)}": partial(draw, run=run, panels=part)
        for k, part in enumerate(parts)
    }


def of_one_place(run: Path, names: Sequence[str]) -> list[str]:
    """The series of one node or one cell that no picture shows in space, such as angles of a mechanism.

    names: of the recorded series. Of a node with a position the numbers, without its vectors.
    """
    along = profiles.drawable(run, names)
    numbers = [n for n in names if h5md.is_of_nodes(n) and readings.last_row(run, n).value.ndim == 2]
    on_line = [n for n in names if n in {*along, *numbers} and n != h5md.POSITION]
    return [n for n in on_line if profiles.has_one_place(run, n)]


def _is_taken(name: str) -> bool:
    return name in TAKEN or name.startswith(OWN)


def draw(figure: "Figure", run: Path, panels: Sequence[Sequence[str]]) -> None:
    """A panel for each group of series."""
    figure.set_size_inches(6.8, 0.9 + 1.7 * len(panels))
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    searching = False
    for axes, group in zip(rows, panels, strict=True):
        searching = _panel(axes, run, group)
    clock = readings.symbols(run, panels[-1][-1])[1]
    rows[-1].set_xlabel("iteration" if searching else units.with_unit("time", clock))
    figure.align_ylabels()


def _panel(axes: "Axes", run: Path, group: Sequence[str]) -> bool:
    """The lines of one group; returns whether they count iterations."""
    seen = [readings.series(run, name) for name in group]
    kind, _, only = h5md.label(group[0]).partition("/")
    if len(group) == 1 and only and seen[0].value.ndim > 1:  # its name stands once, at the axis
        kind = f"{kind}, {only}"
    lines = [
        (one, values, label)
        for name, one in zip(group, seen, strict=True)
        for values, label in components(
            one.value,
            h5md.label(name).removeprefix(kind.replace(", ", "/")).removeprefix("/"),
            in_space=not h5md.is_of_nodes(name),
        )
    ]
    for number, (one, values, label) in enumerate(lines[:LINES]):
        draw_line(axes, along(one), values, label=label or "_", **line_pen(number))
    whole = np.concatenate([values for _, values, _ in lines])
    whole = whole[np.isfinite(whole)]
    if len(whole) and whole.min() > 0.0 and whole.max() > DECADES * whole.min():
        axes.set_yscale("log")
    elif len(whole) and np.ptp(whole) < STILL * np.abs(whole).max():  # its digits are those of rounding
        axes.set_ylim(*sorted(whole.mean() * np.array([0.95, 1.05])))
    if any(label for _, _, label in lines):
        more = f"{len(lines) - LINES} more are not drawn" if len(lines) > LINES else None
        place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "handlelength": 1.2}
        axes.legend(title=more, title_fontsize=7, **place)
    words = kind.replace("_", " ")
    axes.set_ylabel(units.with_unit(words, readings.symbols(run, group[0])[0]).replace(" [", "\n["))
    axes.margins(x=0 if len(whole) > len(lines) else 0.05)
    return stands(seen[0])


def components(value: np.ndarray, label: str, in_space: bool) -> list[tuple[np.ndarray, str]]:
    """The numbers (T,) of a series (T, ...), each with its name: x, y, z in space, else their indices.

    Coordinates of a mechanism, such as the two angles of a pendulum, are along no axes of space.
    """
    if value.size == len(value):
        return [(value.reshape(-1).astype(float), label.replace("_", " "))]
    if value.shape[1] == 1 and value.ndim > 2:  # of one node
        value = value[:, 0]
    shape = value.shape[1:]
    letters = "xyz" if in_space and max(shape) <= 3 else ""
    found = []
    for place in np.ndindex(shape):
        own = "".join(letters[k] for k in place) if letters else ", ".join(map(str, place))
        found.append((value[(slice(None), *place)].astype(float), f"{label} {own}".strip().replace("_", " ")))
    return found
