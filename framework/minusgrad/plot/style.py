"""The style of all pictures: colours, dashes, markers, sizes, and the label of a time.

Lines and dots are told apart in three ways: by colours, which are at least 15 apart (CIEDE2000) for readers
with usual sight, without red and without green receptors; by their lightness in print; by dashes and markers.

Decisions 0124.
"""

import math
from typing import TYPE_CHECKING, Any

from ..scene import units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

INK, FAINT = "#1b1f24", "#8a929c"
COLOURS = ["#0967a6", "#d2791c", "#60a17c", "#b41f02", "#523054", "#d581d1", "#488083", "#7c2936"]
DASHES: list[Any] = ["-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5))]
MARKERS = "osD^vPX*"
NUMBERS, TOLD_APART = "viridis", 24
"""The colours of numbered nodes, of which there are more than this."""
ON_DARK = ["#8babf5", "#b36400", "#8befc1", "#e07478", "#7367ef", "#fba124", "#b5ebf0", "#b75786"]
"""The same on dark pages, in this order."""
DARK = {"#ffffff": "#14171b", INK: "#e6e9ed", FAINT: "#7d8691"}
"""Paper, text and rules of dark pages, by those of white ones."""
LIGHTS = ["#dfe3ea", "#8babf5", "#fba124", "#8befc1", "#e07478", "#7367ef", "#b75786", "#b36400"]
"""Colours of points that shine on black: of those of no body, and of each body."""
SEQUENTIAL, DIVERGING = "inferno", "RdBu_r"  # equal steps of lightness, from black and away from white
FEW_NUMBERS = 1.2
"""Axes shorter than this [inch] have one number or two, which do not overlap."""
RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
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
    "pdf.fonttype": 42,  # text stays text, with its fonts
}


def line_pen(number: int) -> dict[str, Any]:
    """The colour and the dashes of a line by its number; they are different up to 32."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[_shifted(number, len(DASHES))]}


def marker_pen(number: int) -> dict[str, Any]:
    """The colour and the marker of a row of dots by its number; they are different up to 64."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[_shifted(number, len(MARKERS))]}


def node_pens(nodes: int) -> list[dict[str, Any]]:
    """The colour and the marker of each of so many nodes: beyond `TOLD_APART` the colour of its number."""
    if nodes > TOLD_APART:
        return [{"color": shade, "marker": "o"} for shade in shades(nodes)]
    if nodes <= len(COLOURS):
        return [{"color": colour, "marker": "o"} for colour in COLOURS[:nodes]]
    return [marker_pen(node) for node in range(nodes)]


def shades(count: int) -> list[str]:
    """So many colours, two or more, by number from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(shade) for shade in colormaps[NUMBERS]([0.95 * k / (count - 1) for k in range(count)])]


def _shifted(number: int, count: int) -> int:
    """One of so many shapes, which meet other colours in each round of the colours."""
    return (number + number // len(COLOURS)) % count


def is_signed(low: float, high: float) -> bool:
    """True if a range has both signs, the smaller more than a twentieth of the larger."""
    return min(-low, high) > 0.05 * max(-low, high)


def panel(figure: "Figure", width: float, height: float, bar: bool) -> "Axes":
    """Axes with equal aspect for a drawing of this width and height, with room for a colour bar."""
    figure.set_layout_engine("compressed")  # made for axes of equal aspect
    inch = min(5.6 / width, 4.8 / height)
    figure.set_size_inches(max(inch * width, 2.4) + 0.8 + 0.9 * bar, max(inch * height, 1.6) + 0.9)
    axes = figure.subplots()
    for axis, length in ((axes.xaxis, inch * width), (axes.yaxis, inch * height)):
        if length < FEW_NUMBERS:
            axis.set_major_locator(_few_ticks(length))
    return axes


def _few_ticks(length: float) -> "MaxNLocator":
    """Ticks of an axis of this length [inch]: one, or two and more."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=max(1, round(1.5 * length)), prune="upper" if length < 0.5 else None)


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
