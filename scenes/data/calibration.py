"""The measurements of scenes/calibration.toml: 64 swings of a mass on a spring, in closed form, with noise.

    x(t) = 1 + (x0 - 1) cos(sqrt(k / m) t),     k = 2.5 N/m

Every experiment has a mass m and a start x0 of its own, which are known (calibration_experiments.csv); ten
positions of each are measured with a standard deviation of 1 mm in both coordinates (calibration.csv).
"""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
STIFFNESS, SIGMA, COUNT = 2.5, 1e-3, 64
TIMES = np.arange(1, 11) * 0.5


def main() -> None:
    rng = np.random.default_rng(26)
    masses, starts = np.round(rng.uniform(0.95, 1.05, COUNT), 3), np.round(rng.uniform(1.19, 1.21, COUNT), 4)
    lines = [f"{start:.4f},0,{mass:.3f}" for start, mass in zip(starts, masses, strict=True)]
    (FOLDER / "calibration_experiments.csv").write_text("\n".join(["x,y,mass", *lines]) + "\n")
    lines = ["member,time,x,y"]
    for member, (start, mass) in enumerate(zip(starts, masses, strict=True)):
        for t in TIMES:
            x = 1.0 + (start - 1.0) * np.cos(np.sqrt(STIFFNESS / mass) * t)
            dx, dy = rng.normal(0.0, SIGMA, 2)
            lines.append(f"{member},{t:.1f},{x + dx:.5f},{dy:.5f}")
    (FOLDER / "calibration.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
