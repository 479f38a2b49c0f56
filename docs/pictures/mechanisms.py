"""Pictures of mechanisms: ways of a double and of Foucault's pendulum, a cart that swings up its pole.

`make pictures` calls them.
"""

from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np

from minusgrad.plot.style import COLOURS, FAINT, INK, SEQUENTIAL

POLE = 0.5


def series(run: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of what a run recorded."""
    with h5py.File(run / "trajectory.h5") as file:
        return file[name]["time"][...], file[name]["value"][...]


def double_pendulum(run: Path) -> plt.Figure:
    """The rods at the start and the end, and the way of the lower mass."""
    _, q = series(run, "particles/all/q")
    a, b = q[:, 0].T
    upper = np.stack([np.sin(a), -np.cos(a)], 1)
    lower = upper + np.stack([np.sin(b), -np.cos(b)], 1)
    figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="compressed")
    axes.plot(*lower.T, color=COLOURS[0], linewidth=0.8)
    for k, colour in ((0, FAINT), (-1, INK)):
        rods = np.array([[0.0, 0.0], upper[k], lower[k]])
        axes.plot(*rods.T, color=colour, linewidth=2.0, marker="o", markersize=6)
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="Double pendulum, 10 s")
    return figure


def foucault(run: Path) -> plt.Figure:
    """The way of the bob from above, north a thousand times larger than east."""
    times, x = series(run, "particles/all/x")
    figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="compressed")
    axes.plot(x[:, 1, 0], 1e3 * x[:, 1, 1], color=COLOURS[0], linewidth=0.8)
    axes.plot(*(x[[0, -1], 1, :2] * [1.0, 1e3]).T, "o", color=INK, markersize=5)
    title = f"Foucault's pendulum, {times[-1]:.0f} s"
    axes.set(xlabel="east [m]", ylabel="north [mm]", title=title)
    return figure


def swing_up(run: Path) -> plt.Figure:
    """The pole at every other step, from hanging to upright, above the place of the cart."""
    times, s = series(run, "particles/all/s")
    _, a = series(run, "particles/all/a")
    figure, axes = plt.subplots(figsize=(6.0, 4.6), layout="compressed")
    colours = plt.get_cmap(SEQUENTIAL)(0.85 * times / times[-1])
    for k in range(0, len(times), 2):
        cart, angle = s[k, 0], a[k, 0]
        end = cart + POLE * np.sin(angle), -POLE * np.cos(angle)
        axes.plot([cart, end[0]], [0.0, end[1]], color=colours[k], linewidth=1.4)
        axes.plot(*end, "o", color=colours[k], markersize=4)
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set(aspect="equal", xlabel="s [m]", ylabel="height [m]", title="A cart swings its pole up in 2 s")
    shown = plt.cm.ScalarMappable(plt.Normalize(0.0, times[-1] / 0.85), SEQUENTIAL)
    bar = figure.colorbar(shown, ax=axes, label="t [s]", shrink=0.8)
    bar.ax.set_ylim(0.0, times[-1])
    return figure
