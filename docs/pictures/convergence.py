"""Picture of integrators of order 1, 2, 4 and 6: errors of two bodies at t = 5 against Kepler's equation.

`make pictures` calls it.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import minusgrad
from minusgrad.plot.style import FAINT, INK, line_pen, marker_pen

SCHEMES = {"symplectic_euler": 1, "leapfrog": 2, "yoshida4": 4, "yoshida6": 6}
STEPS = (200, 400, 800, 1600, 3200)
T, A, E = 5.0, 1.0, 0.3
MASSES = (0.75, 0.25)
SCENE = str(Path(__file__).parents[2] / "scenes/two_body.toml")


def kepler(t: float) -> np.ndarray:
    """Positions (2, 2) of both bodies, from M = E - e sin E by Newton's method; pericentre at t = 0."""
    anomaly = t
    for _ in range(50):
        anomaly -= (anomaly - E * np.sin(anomaly) - t) / (1.0 - E * np.cos(anomaly))
    r = A * np.array([np.cos(anomaly) - E, np.sqrt(1.0 - E * E) * np.sin(anomaly)])
    return np.array([-MASSES[1] * r, MASSES[0] * r])


def error(kind: str, steps: int, folder: Path) -> float:
    """The largest distance of a body from its place on paper at t = 5."""
    keys = {"stepper.kind": kind, "stepper.dt": T / steps, "run.steps": steps, "observe.2.every": steps}
    run = minusgrad.run(SCENE, keys, out=folder / f"{kind}_{steps}")
    found = run.series("particles/all/position").value[-1]
    return float(np.linalg.norm(found - kepler(T), axis=1).max())


def two_bodies(run: Path) -> plt.Figure:
    """Run all schemes with all numbers of steps, and draw errors over dt with lines of each order."""
    figure, axes = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
    dt = T / np.array(STEPS)
    with tempfile.TemporaryDirectory() as folder:
        for number, (kind, order) in enumerate(SCHEMES.items()):
            found = np.array([error(kind, steps, Path(folder)) for steps in STEPS])
            above = found > 3e-13  # below is rounding
            slope = np.polyfit(np.log(dt[above][-3:]), np.log(found[above][-3:]), 1)[0]
            label = f"{kind.replace('_', ' ')}: order {slope:.2f}"
            pen = line_pen(number) | marker_pen(number)
            axes.loglog(dt, found, markersize=4, linewidth=1.2, label=label, **pen)
            line = found[above][-1] * (dt / dt[above][-1]) ** order
            axes.loglog(dt, line, color=FAINT, linewidth=0.6, linestyle=(0, (4, 3)), zorder=0)
    axes.set(xlabel="time step dt", ylabel="distance from Kepler's orbit at t = 5", ylim=(1e-14, 1.0))
    axes.set_xticks(dt, [f"{one:.3g}" for one in dt])
    axes.xaxis.set_minor_formatter("")
    axes.set_title("Two bodies, e = 0.3: dashed lines have slopes 1, 2, 4, 6", fontsize=9, color=INK)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(0.0, 0.47))
    axes.spines[["top", "right"]].set_visible(False)
    return figure
