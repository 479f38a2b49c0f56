"""The legend of a colour scale, as HTML: its colours from left to right, its limits, and the field's name."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..plot.mesh_artists import Colours

STOPS = 16


def legend(scale: "Colours", label: str) -> str:
    """HTML of a scale; values beyond its ends are said."""
    from matplotlib.colors import LogNorm, to_hex

    shares = np.linspace(0.0, 1.0, STOPS)
    stops = ",".join(to_hex(colour) for colour in scale.cmap(shares))
    middle = float(scale.norm.inverse(0.5))
    low, high = float(scale.norm.vmin or 0.0), float(scale.norm.vmax or 0.0)
    low, high = (0.0 if abs(end) < 1e-6 * max(-low, high) else end for end in (low, high))
    below, above = scale.beyond in ("min", "both"), scale.beyond in ("max", "both")
    ticks = [("≤ " * below) + f"{low:.3g}", f"{middle:.3g}", ("≥ " * above) + f"{high:.3g}"]
    note = " (logarithmic)" if isinstance(scale.norm, LogNorm) else ""
    row = "".join(f"<span>{tick}</span>" for tick in ticks)
    return (
        '<div style="font-size:0.8em;padding:0.2em 0.6em">'
        f"<div>{escape(label)}{note}</div>"
        f'<div style="height:0.8em;border-radius:2px;background:linear-gradient(to right,{stops})"></div>'
        f'<div style="display:flex;justify-content:space-between">{row}</div></div>'
    )


def names(pens: dict[str, str]) -> str:
    """HTML of bodies and their colours."""
    rows = "".join(
        f'<span style="margin-right:0.9em;white-space:nowrap"><span style="color:{pen}">&#9679;</span> '
        f"{escape(name)}</span>"
        for name, pen in pens.items()
    )
    return (
        f'<div style="font-size:0.8em;padding:0.2em 0.6em;display:flex;flex-wrap:wrap">{rows}</div>'
        if rows
        else ""
    )
