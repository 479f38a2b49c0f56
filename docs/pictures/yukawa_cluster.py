"""The picture of a cluster of dust: a slice of the settled ball, and its density beside that of a continuum.

`make pictures` calls it.
"""

from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np

from minusgrad.plot.style import COLOURS, FAINT, INK

RADIUS, LENGTH, SLICE = 10.0, 2.5, 0.55
"""Of the ball on paper, of the screening, and half the thickness of the slice [mm]."""


def density(r: np.ndarray, n: int) -> np.ndarray:
    """Grains a cubic millimetre of the continuum (Henning et al. 2006)."""
    shape = 3.0 + (RADIUS / LENGTH) ** 2 / (1.0 + RADIUS / LENGTH) + (RADIUS**2 - r**2) / (2.0 * LENGTH**2)
    inside, step = np.linspace(0.0, RADIUS, 2001), RADIUS / 2000
    over = 3.0 + (RADIUS / LENGTH) ** 2 / (1.0 + RADIUS / LENGTH) + (RADIUS**2 - inside**2) / (2 * LENGTH**2)
    return n * shape / (4.0 * np.pi * np.sum(over * inside**2) * step)


def sliced(axes: plt.Axes, x: np.ndarray) -> None:
    """Grains near the plane z = 0, coloured by their distance from the centre."""
    r, near = np.linalg.norm(x, axis=1), np.abs(x[:, 2]) < SLICE
    order = np.argsort(-np.abs(x[near, 2]))
    depth = 1.0 - np.abs(x[near, 2][order]) / SLICE
    axes.set_facecolor("#0b1020")
    axes.scatter(
        *x[near][order, :2].T,
        s=4.0 + 16.0 * depth,
        c=r[near][order],
        cmap="plasma_r",
        vmax=13.0,
        linewidths=0,
    )
    axes.set(aspect="equal", xlim=(-10.6, 10.6), ylim=(-10.6, 10.6), xticks=[], yticks=[])
    axes.plot([-9.8, -7.8], [-9.8, -9.8], color="white", linewidth=1.5)
    axes.text(-8.8, -9.5, "2 mm", color="white", ha="center", fontsize=8)
    axes.set_title(f"a slice of {2 * SLICE:.1f} mm through {len(x):,} grains")


def profile(axes: plt.Axes, x: np.ndarray) -> None:
    """The density in thin shells, and that of the continuum."""
    r, edges = np.linalg.norm(x, axis=1), np.concatenate([[0.0, 2.0], np.arange(2.5, 10.2, 0.1)])
    volume = 4.0 / 3.0 * np.pi * np.diff(edges**3)
    axes.stairs(np.histogram(r, edges)[0] / volume, edges, fill=True, color=COLOURS[0], label="this run")
    paper = np.linspace(0.0, RADIUS, 200)
    axes.plot(
        paper, density(paper, len(x)), color=INK, linewidth=1.5, label="continuum (Henning et al. 2006)"
    )
    axes.axvline(RADIUS, color=FAINT, linewidth=1.0)
    axes.set(xlim=(0, 10.6), xlabel="r [mm]", ylabel="grains / mm³", title="shells at the surface")
    axes.legend(loc="upper left")


def shells(run: Path) -> plt.Figure:
    """The slice on the left, the profile on the right."""
    with h5py.File(run / "trajectory.h5") as file:
        x = file["particles/all/position/value"][-1].astype(np.float64)
    x -= x.mean(axis=0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.6), layout="compressed")
    sliced(left, x)
    profile(right, x)
    return figure
