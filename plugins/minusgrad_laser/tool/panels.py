"""Panels of a report: each draws one thing onto an axes of Matplotlib, in millimetres.

Colours are told apart by colour-blind readers: viridis for amounts, blue to orange for signed errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .evidence import Evidence

BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
"""Of Okabe and Ito's palette (2008, Color Universal Design)."""
AMOUNT = "viridis"


@dataclass(frozen=True)
class Panel:
    """One drawing: its file name, its title, a sentence below it, and the function that draws it.

    is_map: its axes are the field, at one scale along x and y.
    """

    name: str
    title: str
    about: str
    draw: Callable[[Any, Evidence], None]
    is_map: bool = True


def of(evidence: Evidence) -> list[Panel]:
    """The panels that this evidence has data for, in reading order."""
    shown = [
        Panel("dose", "Dose", "Of the replayed file, in parts of the dose that exposes fully.", dose),
        Panel("developed", "Developed", "What the material shows.", developed),
        Panel("power", "Path, by power", "Grey: travels with the laser off.", power),
        Panel("speed", "Path, by speed", "The speed that the file asks for.", speed),
        Panel(
            "overburn", "Over-burn", "Dose over the median of what is marked: above 1 at slow corners.", over
        ),
        Panel("motion", "Motion", "Speed and power that the machine attains; dashed: limits.", motion, False),
    ]
    if evidence.target is not None:
        shown[1] = Panel(
            "developed", "Developed", "What the material shows; the line is the target's edge.", developed
        )
        shown.insert(0, Panel("target", "Target", "What shall be marked.", target))
        shown[3:3] = [
            Panel("error", "Error", "Orange: marked, not wanted. Blue: wanted, not marked.", error),
            Panel("edges", "Edge placement", "Along the target's edge; orange lies outside.", edges),
        ]
    if evidence.loss is not None:
        shown.insert(5, Panel("loss", "Loss", "Of the search, by iteration.", loss, False))
    return shown


def target(axes: Any, e: Evidence) -> None:
    assert e.target is not None
    _image(axes, e, e.target, "Greys", 0.0, 1.0, "wanted")
    _scale_bar(axes, e)


def dose(axes: Any, e: Evidence) -> None:
    _image(axes, e, e.dose, AMOUNT, 0.0, max(1.0, float(e.dose.max())), "dose / full")
    _scale_bar(axes, e, "white")


def developed(axes: Any, e: Evidence) -> None:
    _image(axes, e, e.developed, "Greys", 0.0, 1.0, "developed")
    if e.target is not None:
        x, y = _axis(e, 1), _axis(e, 0)
        axes.contour(x, y, e.target, levels=[0.5], colors=[ORANGE], linewidths=0.6)
    _scale_bar(axes, e)


def error(axes: Any, e: Evidence) -> None:
    assert e.target is not None
    _image(axes, e, e.developed - e.target, signed(), -1.0, 1.0, "developed - target")
    _scale_bar(axes, e)


def edges(axes: Any, e: Evidence) -> None:
    found = e.edges()
    assert found is not None
    _frame(axes, e)
    x, y = found.points.T * 1e3
    most = max(found.quantile(0.95) * 1e6, 1e-3) if len(x) else 1.0
    box = axes.get_window_extent()
    size = 1.3 * 72.0 / axes.figure.dpi * box.width / e.dose.shape[1]  # of a cell, in points
    dots = axes.scatter(
        x,
        y,
        c=found.error * 1e6,
        s=max(size, 1.3) ** 2,
        cmap=signed("#a0a0a0"),
        vmin=-most,
        vmax=most,
        lw=0,
        rasterized=True,
    )
    _bar(axes, dots, "edge placement [µm]")
    _scale_bar(axes, e)


def over(axes: Any, e: Evidence) -> None:
    """Dose over the median dose of the cells that are exposed: 1 on a line, more where the head slows."""
    usual = e.usual_dose
    most = max(1.5, float(e.dose.max()) / usual)
    _image(axes, e, e.dose / usual, AMOUNT, 0.0, most, "dose / usual dose")
    _scale_bar(axes, e, "white")


def power(axes: Any, e: Evidence) -> None:
    _path(axes, e, e.path.power, (0.0, e.machine.power[1]), "power [W]", 1.0)


def speed(axes: Any, e: Evidence) -> None:
    _path(axes, e, e.path.speed, (0.0, max(e.machine.speed)), "speed [mm/s]", 1e3)


def motion(axes: Any, e: Evidence) -> None:
    """Speed over time against its limit, and below it the power."""
    t, m = e.motion.time, e.motion
    axes.plot(t, m.speed * 1e3, color=BLUE, lw=0.8, rasterized=len(t) > 4000)
    axes.axhline(max(e.machine.speed) * 1e3, color=BLUE, lw=0.8, ls="--")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("speed [mm/s]", color=BLUE)
    axes.set_ylim(0.0, 1.12 * max(e.machine.speed) * 1e3)
    axes.set_xlim(0.0, e.seconds or None)
    right = axes.twinx()
    right.plot(t, m.power, color=ORANGE, lw=0.6, alpha=0.8, rasterized=len(t) > 4000)
    right.axhline(e.machine.power[1], color=ORANGE, lw=0.8, ls="--")
    right.set_ylabel("power [W]", color=ORANGE)
    right.set_ylim(0.0, 1.3 * e.machine.power[1])
    right.spines[["top", "left"]].set_visible(False)


def loss(axes: Any, e: Evidence) -> None:
    assert e.loss is not None
    step, value = e.loss
    axes.plot(step, value, color=BLUE, lw=1.2)
    if len(value) and value.min() > 0.0:
        axes.set_yscale("log")
    axes.set_xlabel("iteration")
    axes.set_ylabel("loss")


def signed(middle: str = "#f4f4f4") -> Any:
    """Blue below zero, orange above it."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", ["#00416a", BLUE, middle, ORANGE, "#7a3000"])


def _axis(e: Evidence, axis: int) -> np.ndarray:
    """Centres of the cells along an axis of the maps [mm]."""
    return np.arange(e.dose.shape[axis]) * e.pixel * 1e3


def _frame(axes: Any, e: Evidence) -> None:
    """The field [mm], at one scale."""
    rows, columns = e.dose.shape
    half = 0.5e3 * e.pixel
    axes.set_xlim(-half, columns * 2 * half - half)
    axes.set_ylim(-half, rows * 2 * half - half)
    axes.set_aspect("equal")
    axes.set_xlabel("x [mm]")
    axes.set_ylabel("y [mm]")


def _image(
    axes: Any, e: Evidence, values: np.ndarray, colours: Any, low: float, high: float, label: str
) -> None:
    _frame(axes, e)
    extent = (*axes.get_xlim(), *axes.get_ylim())
    shown = axes.imshow(
        values, origin="lower", extent=extent, cmap=colours, vmin=low, vmax=high, interpolation="nearest"
    )
    _bar(axes, shown, label)


def _bar(axes: Any, shown: Any, label: str) -> None:
    """A colour bar as high as the map."""
    inset = axes.inset_axes((1.03, 0.0, 0.035, 1.0))
    bar = axes.figure.colorbar(shown, cax=inset, label=label)
    bar.outline.set_edgecolor(_ink())
    bar.outline.set_linewidth(0.5)


def _path(axes: Any, e: Evidence, values: np.ndarray, limits: tuple, label: str, unit: float) -> None:
    from matplotlib.collections import LineCollection

    _frame(axes, e)
    points = np.stack([e.path.x, e.path.y], axis=1) * 1e3
    moves: Any = np.stack([points[:-1], points[1:]], axis=1)
    lit = e.path.lit[1:].astype(bool) & (e.path.power[1:] > 0.0)
    axes.add_collection(LineCollection(moves[~lit], colors="#9a9a9a", linewidths=0.35, rasterized=True))
    drawn = LineCollection(moves[lit], cmap=AMOUNT, linewidths=0.9, rasterized=True)
    drawn.set_array(values[1:][lit] * unit)
    drawn.set_clim(limits[0] * unit, limits[1] * unit)
    axes.add_collection(drawn)
    _bar(axes, drawn, label)
    _scale_bar(axes, e)


def _ink() -> str:
    """The colour of text."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def _scale_bar(axes: Any, e: Evidence, colour: str = "") -> None:
    """A bar of a round length, about a fifth of the field's width."""
    colour = colour or _ink()
    rows, columns = e.dose.shape
    width, height = columns * e.pixel * 1e3, rows * e.pixel * 1e3
    length = round_length(0.22 * width)
    x, y = 0.96 * width - length, 0.05 * height
    axes.plot([x, x + length], [y, y], color=colour, lw=2.5, solid_capstyle="butt")
    text = f"{length:g} mm" if length >= 1.0 else f"{length * 1e3:g} µm"
    axes.annotate(
        text, (x + length / 2.0, y), (0, 3), textcoords="offset points", ha="center", color=colour, size=7
    )


def round_length(length: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is no longer."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(one for one in (1.0, 2.0, 5.0) if one * power <= length * (1.0 + 1e-9)))
