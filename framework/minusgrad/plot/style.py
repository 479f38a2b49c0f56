"""The style of all pictures: colours, lines, sizes, and the label of a time."""

import math
from typing import TYPE_CHECKING, Any

from ..scene import units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#1b1f24", "#8a929c"
COLOURS = [
    "#2f6db3",
    "#d9772b",
    "#3a9468",
    "#b8433f",
    "#7d5ba6",
    "#8c6a4f",
    "#cf6fa3",
    "#5f6b78",
    "#a8a12b",
    "#2aa3b5",
]
LIGHTS = ["#dfe3ea", "#86b2ff", "#ffa163", "#7fe0ae", "#ff8a94", "#cfa8ff", "#ffe08a", "#7fe3f2"]  # on black
SEQUENTIAL, DIVERGING = "inferno", "RdBu_r"  # equal steps of lightness, from black and away from white
RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlecolor": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "axes.formatter.useoffset": False,  # digits stand at the ticks, not as a number to add in a corner
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.0,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "figure.titlesize": 11,
    "svg.hashsalt": "minusgrad",
}


def is_signed(low: float, high: float) -> bool:
    """True if a range has both signs, the smaller more than a twentieth of the larger."""
    return min(-low, high) > 0.05 * max(-low, high)


def panel(figure: "Figure", width: float, height: float, bar: bool) -> "Axes":
    """Axes with equal aspect for a drawing of this width and height, with room for a colour bar."""
    figure.set_layout_engine("compressed")  # made for axes of equal aspect
    inch = min(5.6 / width, 4.8 / height)
    figure.set_size_inches(max(inch * width, 2.4) + 0.8 + 0.9 * bar, max(inch * height, 1.6) + 0.9)
    return figure.subplots()


def panels(figure: "Figure", count: int, width: float, height: float, bar: bool) -> "list[Axes]":
    """Panels with equal aspect for drawings of this width and height: one, or two beside each other."""
    if count == 1:
        return [panel(figure, width, height, bar)]
    figure.set_layout_engine("compressed")
    rows = -(-count // 2)
    inch = min(3.6 / width, 3.6 / height)
    figure.set_size_inches(2 * inch * width + 1.6, rows * (inch * height + 0.4) + 0.6)
    return list(figure.subplots(rows, 2, sharex=True, sharey=True).flat)


def moment(step: int, time: float, clock: str, passes: bool) -> str:
    """`t = 2 s`, or `iteration 300` if time does not advance."""
    return f"t = {units.number_with_unit(time, clock)}" if passes else f"iteration {step}"


def rounded_moment(step: int, time: float, longest: float, clock: str, passes: bool) -> str:
    """The same of one of many times, the longest of which says how many digits all have."""
    digits = max(0, 3 - math.floor(math.log10(longest or 1.0)))
    return moment(step, round(time, digits), clock, passes)
