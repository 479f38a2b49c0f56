"""Pictures of few bodies: the figure eight with its speeds, the perihelion of Mercury over a century.

`make pictures` calls them.
"""

from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from minusgrad.plot.style import COLOURS, FAINT, INK, SEQUENTIAL

ARCSEC = 3600.0 * 180.0 / np.pi
CENTURY = 36525.0
PERIOD_ROWS = 75
"""Rows of the figure eight in a period."""


def series(run: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of what a run recorded."""
    with h5py.File(run / "trajectory.h5") as file:
        return file[name]["time"][...], file[name]["value"][...]


def figure_eight(run: Path) -> plt.Figure:
    """The way of 100 periods, coloured by speed; the bodies at the start, and where they go."""
    _, x = series(run, "particles/all/position")
    _, v = series(run, "particles/all/velocity")
    speed = np.linalg.norm(v, axis=-1)
    figure, axes = plt.subplots(figsize=(6.4, 2.7), layout="compressed")
    x, v = x[..., :2], v[..., :2]
    way = x[-PERIOD_ROWS - 2 :, 0]
    pieces = np.stack([way[:-2], way[1:-1], way[2:]], axis=1)  # which overlap, so that joints are round
    lines = LineCollection(list(pieces), cmap=SEQUENTIAL, linewidth=3.0)
    lines.set_array(speed[-PERIOD_ROWS:, 0])
    axes.add_collection(lines)
    axes.plot(x[::7, :, 0].ravel(), x[::7, :, 1].ravel(), ".", color=FAINT, markersize=1.0, zorder=0)
    for body, colour in zip(range(3), COLOURS, strict=False):
        axes.annotate(
            "", x[0, body] + 0.22 * v[0, body], x[0, body], arrowprops={"arrowstyle": "->", "color": INK}
        )
        axes.plot(*x[0, body], "o", color=colour, markersize=11, markeredgecolor=INK)
    figure.colorbar(lines, ax=axes, label="speed", shrink=0.9)
    axes.set(aspect="equal", xlabel="x", ylabel="y", title="Three bodies on a figure eight, 100 periods")
    return figure


def mercury(run: Path) -> plt.Figure:
    """The angle of the perihelion from its start, and the line of general relativity."""
    times, elements = series(run, "observables/orbit/mercury")
    angle = ARCSEC * (np.unwrap(elements[:, 4]) - elements[0, 4])
    century = np.polyfit(times, angle, 1)[0] * CENTURY
    figure, axes = plt.subplots(figsize=(5.2, 4.0), layout="compressed")
    years = times / 365.25
    axes.plot(years, angle, ".", color=COLOURS[0], markersize=3, label=f"this run: {century:.2f} a century")
    axes.plot(years, 42.98 * times / CENTURY, color=INK, linewidth=1.0, label="general relativity: 42.98")
    axes.axhline(0.0, color=FAINT, linewidth=1.0, label="Newton: 0")
    axes.set(xlabel="t [yr]", ylabel="perihelion [arcsec]", title="The perihelion of Mercury")
    axes.legend()
    return figure
