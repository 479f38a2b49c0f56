"""Lines of recorded numbers; one that swings more often than a picture can show is a band around its mean."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SWINGS = 100
"""A line with more turns than this is drawn as a band."""
BINS = 160
"""The parts of a band, each with its lowest, its highest and its mean value."""


def turns(values: np.ndarray) -> int:
    """How often numbers (T,) turn from rising to falling."""
    step = np.diff(values)
    step = step[step != 0.0]
    return int(((step[1:] < 0.0) & (step[:-1] > 0.0)).sum())


def draw_line(axes: "Axes", along: np.ndarray, values: np.ndarray, **pen: Any) -> None:
    """Draw values (T,) over along (T,): as a line, a dot if there is one, or a band if it swings often."""
    if len(values) == 1:
        axes.plot(along, values, "o", markersize=4, **pen)
        return
    if turns(values) <= SWINGS or not np.isfinite(values).all():
        axes.plot(along, values, **pen)
        return
    parts = np.array_split(np.arange(len(values)), BINS)
    places = np.array([along[part].mean() for part in parts])
    low, mean, high = (np.array([f(values[part]) for part in parts]) for f in (np.min, np.mean, np.max))
    axes.fill_between(places, low, high, color=pen.get("color"), alpha=0.25, linewidth=0)
    axes.plot(places, mean, **pen)
