"""Panels of a report: each draws one thing onto an axes of Matplotlib, in millimetres.

Colour-blind readers see the colours as different: viridis for amounts, blue to orange for signed errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from .evidence import OVERBURN, Evidence

BLUE, ORANGE = "#0072b2", "#d55e00"
"""Of Okabe and Ito's palette (2008, Color Universal Design)."""
COOL, WARM = "#3b8fd1", "#e07b30"
"""The same two for lines, to be seen on a light and on a dark page."""
AMOUNT = "viridis"
OF_LAYERS = ("#3b8fd1", "#e07b30", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8a6fd1", "#d14b4b")
"""Of the layers of a drawing, in their order."""
STILL = 0.25
"""Errors below this are pale: a material that saw no light has developed by a few hundredths."""


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
        Panel("developed", "Developed", "What the material shows.", draw_developed),
        Panel("power", "Path, by power", "Grey: travels with the laser off.", power),
        Panel("speed", "Path, by speed", "The speed that the file asks for.", speed),
        Panel(
            "overburn",
            "Over-burn",
            "Dose over the usual dose of the layer."
            if evidence.layers
            else "Dose over the dose that is meant; more than 1 where the head slows down.",
            over,
        ),
        Panel(
            "motion",
            "Motion",
            "Speed and power that the machine attains; dashed: of one axis, and full power.",
            motion,
            False,
        ),
    ]
    if evidence.target is not None:
        shown[1] = Panel(
            "developed",
            "Developed",
            "What the material shows; the line is the target's edge.",
            draw_developed,
        )
        shown.insert(0, Panel("target", "Target", "What shall be marked.", target))
        shown[3:3] = [
            Panel(
                "error",
                "Error",
                f"Orange: marked, not wanted. Blue: wanted, not marked. Pale: less than {STILL:g} off.",
                error,
            ),
            Panel("edges", "Edge placement", "Along the target's edge; orange lies outside.", edges),
        ]
    if evidence.layers:
        about = "In the order of the job; grey: travels with the laser off."
        shown.insert(0, Panel("layers", "Layers", about, draw_layers))
    if evidence.loss is not None:
        shown.insert(5, Panel("loss", "Loss", "Of the search, by iteration.", loss, False))
    return shown


def draw_layers(axes: Any, e: Evidence) -> None:
    """The lit moves of each layer in a colour of its own, with its name."""
    from matplotlib.collections import LineCollection

    _frame_axes(axes, e)
    points = (np.stack([e.path.x, e.path.y], axis=1) + e.origin) * 1e3
    dark = ~(e.path.lit[1:].astype(bool) & (e.path.power[1:] > 0.0))
    moves: Any = np.stack([points[:-1], points[1:]], axis=1)[dark]
    axes.add_collection(LineCollection(moves, colors="#9a9a9a", linewidths=0.35, rasterized=True))
    for k, layer in enumerate(e.layers):
        its: Any = layer.moves * 1e3
        style: dict[str, Any] = {"colors": OF_LAYERS[k % len(OF_LAYERS)], "linewidths": 0.9}
        label = fill(layer.title, 14)
        axes.add_collection(LineCollection(its, label=label, rasterized=True, **style))
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=6.5, frameon=False, handlelength=1.0)


def target(axes: Any, e: Evidence) -> None:
    assert e.target is not None
    _draw_image(axes, e, e.target, "Greys", 0.0, 1.0, "wanted")


def dose(axes: Any, e: Evidence) -> None:
    exposed = e.dose[e.dose > 0.1]
    usual = float(np.median(exposed)) if len(exposed) else 1.0
    most = float(min(e.dose.max(), 4.0 * usual))  # a few hot cells would leave the rest dark
    label = "dose / full (cut off)" if most < e.dose.max() else "dose / full"
    _draw_image(axes, e, e.dose, AMOUNT, 0.0, max(1.0, most), label)


def draw_developed(axes: Any, e: Evidence) -> None:
    _draw_image(axes, e, e.developed, "Greys", 0.0, 1.0, "developed")
    if e.target is not None:
        x, y = _axis_centres(e, 1), _axis_centres(e, 0)
        axes.contour(x, y, e.target, levels=[0.5], colors=[ORANGE], linewidths=0.6)


def error(axes: Any, e: Evidence) -> None:
    assert e.target is not None
    _draw_image(axes, e, e.developed - e.target, signed(still=STILL), -1.0, 1.0, "developed - target")


def edges(axes: Any, e: Evidence) -> None:
    found = e.edges
    assert found is not None
    _frame_axes(axes, e)
    x, y = (found.points + e.origin).T * 1e3
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
    _colour_bar(axes, dots, "edge placement [µm]")


def over(axes: Any, e: Evidence) -> None:
    """Dose over the dose that is meant: 1 on a line, more where the head slows down."""
    _draw_image(axes, e, np.nan_to_num(e.overburn), AMOUNT, 0.0, OVERBURN, "dose / dose meant")
    (left, far), (foot, top) = axes.get_xlim(), axes.get_ylim()
    for burn in e.burns[:8]:
        x, y = 1e3 * burn.x, 1e3 * burn.y
        axes.plot([x], [y], "o", ms=9, mfc="none", mec=WARM, mew=1.4)
        right = x < 0.4 * left + 0.6 * far
        axes.annotate(
            f"{burn.times:.3g} x",
            (x, y),
            (8 if right else -8, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="bottom" if y < 0.5 * (foot + top) else "top",
            color="white",
            size=7,
        )


def power(axes: Any, e: Evidence) -> None:
    _draw_path(axes, e, e.path.power, (0.0, e.machine.power[1]), "power [W]", 1.0)


def speed(axes: Any, e: Evidence) -> None:
    drawn = e.path.speed[1:][e.path.lit[1:].astype(bool)]  # along a diagonal above that of an axis
    _draw_path(axes, e, e.path.speed, (0.0, max(*e.machine.speed, *drawn)), "speed [mm/s]", 1e3)


def motion(axes: Any, e: Evidence) -> None:
    """Speed over time against its limit, and below it the power."""
    t, m = e.motion.time, e.motion
    axes.plot(t, m.speed * 1e3, color=COOL, lw=0.8, rasterized=len(t) > 4000)
    axes.axhline(max(e.machine.speed) * 1e3, color=COOL, lw=0.8, ls="--")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("speed [mm/s]", color=COOL)
    axes.set_ylim(0.0, 1.12e3 * max(*e.machine.speed, m.speed.max(initial=0.0)))
    axes.set_xlim(0.0, e.seconds or None)
    right = axes.twinx()
    held = {"drawstyle": "steps-post", "rasterized": len(t) > 4000}  # power holds until the next sample
    right.plot(t, m.power, color=WARM, lw=0.6, alpha=0.8, **held)
    right.axhline(e.machine.power[1], color=WARM, lw=0.8, ls="--")
    right.set_ylabel("power [W]", color=WARM)
    right.set_ylim(0.0, 1.3 * e.machine.power[1])
    right.spines[["top", "left"]].set_visible(False)


def loss(axes: Any, e: Evidence) -> None:
    assert e.loss is not None
    step, value = e.loss
    axes.plot(step, value, color=COOL, lw=1.4)
    if len(value) and value.min() > 0.0:
        axes.set_yscale("log")
    axes.set_xlabel("iteration")
    axes.set_ylabel("loss")


def signed(middle: str = "#f4f4f4", still: float = 0.0) -> Any:
    """Blue below zero, orange above it, over -1 to 1; `middle` alone up to `still` on both sides."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [
        (-1.0, "#00416a"),
        (-0.5, BLUE),
        (-still, middle),
        (still, middle),
        (0.5, ORANGE),
        (1.0, "#7a3000"),
    ]
    return LinearSegmentedColormap.from_list("signed", [(0.5 + 0.5 * at, colour) for at, colour in stops])


def _axis_centres(e: Evidence, axis: int) -> np.ndarray:
    """Centres of the cells along an axis of the maps [mm]."""
    return (e.origin[1 - axis] + np.arange(e.dose.shape[axis]) * e.pixel) * 1e3


def _frame_axes(axes: Any, e: Evidence) -> None:
    """The field [mm], at one scale."""
    x, y, half = _axis_centres(e, 1), _axis_centres(e, 0), 0.5e3 * e.pixel
    axes.set_xlim(x[0] - half, x[-1] + half)
    axes.set_ylim(y[0] - half, y[-1] + half)
    axes.set_aspect("equal")
    axes.set_xlabel("x [mm]")
    axes.set_ylabel("y [mm]")
    _scale_bar(axes, e)


def _draw_image(
    axes: Any, e: Evidence, values: np.ndarray, colours: Any, low: float, high: float, label: str
) -> None:
    _frame_axes(axes, e)
    extent = (*axes.get_xlim(), *axes.get_ylim())
    shown = axes.imshow(
        values, origin="lower", extent=extent, cmap=colours, vmin=low, vmax=high, interpolation="nearest"
    )
    _colour_bar(axes, shown, label)


def _colour_bar(axes: Any, shown: Any, label: str) -> None:
    """A colour bar as high as the map."""
    inset = axes.inset_axes((1.03, 0.0, 0.035, 1.0))
    bar = axes.figure.colorbar(shown, cax=inset, label=label)
    bar.outline.set_edgecolor(_text_colour())
    bar.outline.set_linewidth(0.5)


def _draw_path(axes: Any, e: Evidence, values: np.ndarray, limits: tuple, label: str, unit: float) -> None:
    from matplotlib.collections import LineCollection

    _frame_axes(axes, e)
    points = (np.stack([e.path.x, e.path.y], axis=1) + e.origin) * 1e3
    moves: Any = np.stack([points[:-1], points[1:]], axis=1)
    lit = e.path.lit[1:].astype(bool) & (e.path.power[1:] > 0.0)
    axes.add_collection(LineCollection(moves[~lit], colors="#9a9a9a", linewidths=0.35, rasterized=True))
    drawn = LineCollection(moves[lit], cmap=AMOUNT, linewidths=0.9, rasterized=True)
    drawn.set_array(values[1:][lit] * unit)
    drawn.set_clim(limits[0] * unit, limits[1] * unit)
    axes.add_collection(drawn)
    _colour_bar(axes, drawn, label)


def _text_colour() -> str:
    """The colour of text."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def _scale_bar(axes: Any, e: Evidence) -> None:
    """A bar of a round length, about a fifth of the field's width, below the right end of the x axis."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    low, right = axes.get_xlim()
    length = round_length(0.22 * (right - low))
    below = ScaledTranslation(0.0, -0.32, axes.figure.dpi_scale_trans)
    place = blended_transform_factory(axes.transData, axes.transAxes) + below
    bar = {"transform": place, "clip_on": False, "color": _text_colour()}
    axes.plot([right - length, right], [0.0, 0.0], lw=2.5, solid_capstyle="butt", **bar)
    text = f"{length:g} mm " if length >= 1.0 else f"{length * 1e3:g} µm "
    axes.text(right - length, 0.0, text, ha="right", va="center", size=7, **bar)


def round_length(length: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is no longer."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(one for one in (1.0, 2.0, 5.0) if one * power <= length * (1.0 + 1e-9)))
