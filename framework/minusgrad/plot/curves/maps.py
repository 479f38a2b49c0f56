"""Maps: the last values of observables over a grid of two varied values, with a pixel for each member.

Members that failed have no colour. MEGNO is 2 on regular orbits and grows without bound on chaotic ones, so
that its colours end at 4.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...files import checkpoint, h5md
from ...files.h5md import OBSERVABLES
from ...scene import units
from .. import readings
from ..style import DIVERGING, FAINT, SEQUENTIAL, is_signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 4
"""The observables of one picture."""
MEGNO = "megno"
REGULAR = 2.0
"""MEGNO of regular orbits, in the middle of its colours."""
TAILS = (0.02, 0.98)
"""The quantiles at which the colours of other observables end."""
DECADES = 100.0
"""The ratio of positive ends from which on colours are logarithmic."""
KINDS = ("range", "grid")


def jobs(run: Path, names: list[str], members: int) -> "dict[str, Callable[[Figure], None]]":
    """Pictures of observables with a number for each member: map.png, map_2.png, ...; none without a grid."""
    axes = varied(run)
    if len(axes) != 2 or np.prod([len(one) for one in axes.values()]) != members:
        return {}
    shown = [
        name
        for name in names
        if name.startswith(f"{OBSERVABLES}/") and readings.last_row(run, name).value.shape[1:] == (members,)
    ]
    shown.sort(key=lambda name: (h5md.label(name) != MEGNO, name))
    parts = [shown[k : k + MOST] for k in range(0, len(shown), MOST)]
    return {f"map{f'_{k + 1}' * (k > 0)}": partial(draw, run=run, names=part) for k, part in enumerate(parts)}


def varied(run: Path) -> dict[str, np.ndarray]:
    """The values along each axis of the grid, by the varied key with its unit; empty of other ensembles.

    The first key varies most slowly from member to member.
    """
    path, _ = checkpoint.newest(run / "ckpt")
    if path is None:
        return {}
    saved = checkpoint.load(path)
    table: Mapping[str, Any] = (saved.meta["scene"].get("ensemble") or {}).get("vary") or {}
    drawn = saved.arrays_under("points")
    whole = all(any(kind in how for kind in KINDS) and drawn[key].ndim == 1 for key, how in table.items())
    if not table or not whole:
        return {}
    found = {key: list(dict.fromkeys(drawn[key].tolist())) for key in table}
    order = sorted(table, key=lambda key: int(np.argmax(drawn[key] != drawn[key][0])), reverse=True)
    symbols = {key: saved.units[f"points/{key}"] for key in order}
    return {units.with_unit(_name(key), symbols[key]): np.array(found[key]) for key in order}


def _name(key: str) -> str:
    """The last part of a key, as a label; of a number in a list with the name of that."""
    *above, last = key.split(".")
    return (f"{above[-1]} {last}" if above and last.isdecimal() else last).replace("_", " ")


def draw(figure: "Figure", run: Path, names: list[str]) -> None:
    """A map for each observable."""
    (across, xs), (up, ys) = varied(run).items()
    figure.set_size_inches(6.4, 0.4 + 3.4 * len(names))
    panels = figure.subplots(len(names), 1, squeeze=False, sharex=True)[:, 0]
    for axes, name in zip(panels, names, strict=True):
        last = readings.last_row(run, name)
        label = h5md.label(name)
        _map(figure, axes, (xs, ys), last.value[-1].reshape(len(xs), len(ys)).T, label, run, name)
        axes.set_ylabel(up)
    panels[-1].set_xlabel(across)


def _map(
    figure: "Figure",
    axes: "Axes",
    along: tuple[np.ndarray, np.ndarray],
    values: np.ndarray,
    label: str,
    run: Path,
    name: str,
) -> None:
    colours, ends = scale(label, values)
    shown = np.where(np.isfinite(values), values, np.nan)
    mesh = axes.pcolormesh(*along, shown, shading="nearest", rasterized=True, **colours)
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=30, extend=ends)
    bar.set_label(units.with_unit(label.replace("_", " "), readings.symbols(run, name)[0]))
    bar.outline.set_visible(False)
    axes.set_facecolor(FAINT)


def scale(label: str, values: np.ndarray) -> tuple[dict[str, Any], str]:
    """The colours of a map, and at which ends they stand for more than their numbers."""
    from matplotlib.colors import LogNorm

    if label == MEGNO:
        return {"cmap": DIVERGING, "vmin": 0.0, "vmax": 2.0 * REGULAR}, "max"
    good = values[np.isfinite(values)]
    low, high = np.quantile(good, TAILS) if len(good) else (0.0, 1.0)
    beyond = bool((good < low).any()), bool((good > high).any())
    ends = {(False, False): "neither", (True, False): "min", (False, True): "max"}.get(beyond, "both")
    if is_signed(low, high):
        reach = max(-low, high)
        return {"cmap": DIVERGING, "vmin": -reach, "vmax": reach}, ends
    if 0.0 < DECADES * low < high:
        return {"cmap": SEQUENTIAL, "norm": LogNorm(low, high)}, ends
    return {"cmap": SEQUENTIAL, "vmin": low, "vmax": high}, ends
