"""The shape of a sagging strip by another program, and the picture points of the scene `strip_from_photo`.

    EI theta'' = w (L - s) cos theta,   theta(0) = the clamp's angle,  theta'(L) = 0

theta [rad] is the angle with the horizontal, upwards; w [N/m] the weight per length. The heavy elastica is
solved by SciPy's collocation to 1e-9.

    python -m tests.support.sagging_strip           writes scenes/data/sagging_strip.csv
"""

from pathlib import Path

import numpy as np
from scipy.integrate import cumulative_simpson, solve_bvp

LENGTH, WIDTH, THICKNESS, DENSITY = 0.15, 0.02, 3e-3, 1100.0
YOUNG, ANGLE, PIXEL, POINTS = 10e6, np.radians(25.0), 0.3e-3, 80
FILE = Path(__file__).parents[2] / "scenes/data/sagging_strip.csv"


def strip_points(young: float = YOUNG, angle: float = ANGLE) -> np.ndarray:
    """x, z [m] of points at equal distances along the strip, (POINTS + 1, 2)."""
    stiff = young * WIDTH * THICKNESS**3 / 12.0
    weight = 9.80665 * DENSITY * WIDTH * THICKNESS

    def slope(s, y):
        return np.stack([y[1], weight * (LENGTH - s) * np.cos(y[0]) / stiff])

    def ends(a, b):
        return np.array([a[0] - angle, b[1]])

    s = np.linspace(0.0, LENGTH, 10 * POINTS + 1)
    found = solve_bvp(
        slope, ends, s, np.stack([angle - 5.0 * s, -5.0 + 0.0 * s]), tol=1e-9, max_nodes=100_000
    )
    theta = found.sol(s)[0]
    x, z = (cumulative_simpson(f(theta), x=s, initial=0.0) for f in (np.cos, np.sin))
    return np.stack([x, z], axis=1)[::10]


def picture_points(seed: int) -> np.ndarray:
    """The points as picked in a photograph, each with a normal error of a pixel along both axes."""
    rng = np.random.default_rng(seed)
    return strip_points() + PIXEL * rng.normal(size=(POINTS + 1, 2))


def write_points(file: Path, seed: int = 54) -> None:
    lines = [
        "# Points along a sagging strip, in metres (0.3 mm each pixel), in the plane y = 0 of the picture:",
        "# synthetic, tests/support/sagging_strip.py",
        "time, node, x, y, z",
    ]
    lines += [f"0, {k}, {x:.5f}, 0, {z:.5f}" for k, (x, z) in enumerate(picture_points(seed))]
    file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_points(FILE)
