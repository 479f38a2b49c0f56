"""The picture of two galaxies that meet: stars of both discs, seen along z, at six times.

python docs/pictures/galaxies.py runs/galaxy_collision scenes/pictures/galaxy_collision.png
"""

import sys
from pathlib import Path

import h5py
import matplotlib.pyplot as plt

TIMES = (0.0, 150.0, 200.0, 250.0, 330.0, 450.0)
PARTS = {"#9cc4ff": slice(0, 20_000), "#ffb37a": slice(50_000, 70_000)}
REACH = 62.0


def draw(run: Path, out: Path) -> None:
    with h5py.File(run / "trajectory.h5") as file:
        group = file["particles/all/position"]
        times = group["time"][...]
        frames = [(t, group["value"][abs(times - t).argmin()]) for t in TIMES]
    figure, panels = plt.subplots(2, 3, figsize=(9.6, 6.4), facecolor="black")
    figure.subplots_adjust(0, 0, 1, 1, 0.01, 0.01)
    for axes, (time, x) in zip(panels.flat, frames, strict=True):
        for colour, rows in PARTS.items():
            axes.scatter(*x[rows, :2].T, s=0.35, c=colour, alpha=0.35, linewidths=0)
        axes.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), aspect="equal", xticks=[], yticks=[])
        axes.set_facecolor("black")
        axes.text(0.04, 0.93, f"{time:.0f} Myr", color="white", transform=axes.transAxes, fontsize=9)
    axes = panels[1, 0]
    axes.plot([-55, -35], [-55, -55], color="white", linewidth=1)
    axes.text(-45, -52, "20 kpc", color="white", ha="center", fontsize=8)
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
