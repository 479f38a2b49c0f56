"""The picture of the dam break: pressure at four times, and the front beside that of Martin and Moyce (1952).

`make pictures` calls it.
"""

from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np

from minusgrad.plot.style import COLOURS, INK

A, G, REST, SPEED = 0.05715, 9.81, 1000.0, 10.6
TIMES = (0.0, 0.1, 0.2, 0.35)


def series(run: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of what a run recorded."""
    with h5py.File(run / "trajectory.h5") as file:
        return file[name]["time"][...], file[name]["value"][...]


def pressure(density: np.ndarray) -> np.ndarray:
    """Tait's equation of state, 0 where the fluid is stretched [kPa]."""
    return np.maximum(0.0, REST * SPEED**2 / 7.0 * ((density / REST) ** 7 - 1.0)) / 1e3


def water(axes: plt.Axes, x: np.ndarray, p: np.ndarray, walls: np.ndarray, time: float) -> object:
    """Particles coloured by pressure, between the walls."""
    axes.scatter(*1e3 * x[walls].T, s=1.2, color="#c9ced6", linewidths=0)
    order = np.flatnonzero(~walls)
    shown = axes.scatter(
        *1e3 * x[order].T, c=p[order], s=5.0, cmap="viridis", vmin=0.0, vmax=1.1, linewidths=0
    )
    axes.set(xlim=(-14, 530), ylim=(-12, 124), aspect="equal", yticks=(0, 100))
    axes.text(522, 100, f"t = {time:.2f} s", ha="right", color=INK)
    return shown


def front(axes: plt.Axes, run: Path) -> None:
    """The farthest particle in widths of the column, with the table of the experiment."""
    time, farthest = series(run, "minusgrad/observables/front")
    table = Path(__file__).parents[2] / "scenes" / "data" / "martin_moyce_1952.csv"
    rows = [line.split(",") for line in table.read_text().splitlines()[5:]]
    T, Z = np.sqrt(2.0 * G / A) * time, farthest / A
    axes.fill_between(T, Z / 1.1, Z / 0.9, color=COLOURS[0], alpha=0.15, linewidth=0, label="within 10 %")
    axes.plot(T, Z, color=COLOURS[0], linewidth=1.4, label="farthest particle")
    for source, mark in (("table 2", "o"), ("figure 3", "s")):
        points = np.array([[float(r[0]), float(r[1])] for r in rows if r[2] == source])
        label = f"Martin & Moyce 1952, {source}"
        axes.plot(*points.T, mark, markersize=4, color=COLOURS[1], markerfacecolor="none", label=label)
    axes.set(xlabel="T = t √(2 g / a)", ylabel="Z = x / a", xlim=(0, 9.4), ylim=(0, 15.5))
    axes.legend(frameon=False, loc="upper left")


def columns(run: Path) -> plt.Figure:
    """Four times on the left, the front on the right."""
    (moments, position), (_, density) = (series(run, f"particles/all/{n}") for n in ("position", "density"))
    position = position[..., :2]
    walls = (position[0] < 0.0).any(axis=1)
    figure = plt.figure(figsize=(9.6, 4.3), dpi=150, layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(5.4, 4.2))
    panels = left.subplots(len(TIMES), 1, sharex=True)
    for axes, time in zip(panels, TIMES, strict=True):
        k = int(np.abs(moments - time).argmin())
        shown = water(axes, position[k], pressure(density[k]), walls, moments[k])
    panels[-1].set(xlabel="x [mm]", ylabel="y [mm]")
    bar = left.colorbar(shown, ax=panels, pad=0.02, aspect=40, label="pressure [kPa]")
    bar.outline.set_visible(False)
    front(right.subplots(), run)
    return figure
