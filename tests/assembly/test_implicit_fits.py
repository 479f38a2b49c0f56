"""Fits of implicit runs, by tangents and by the adjoint, against oscillators whose steps are known on paper.

The midpoint rule takes a harmonic oscillator along z' = (1 + i a) / (1 - i a) z, a = w h / 2, where
z = x - i v / w and w = sqrt(k / m) (Hairer, Lubich & Wanner 2006, Geometric Numerical Integration,
chapter VI).
"""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.runs import fit
from tests.support import oscillators

H, STEPS = 0.1, 10
X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
V = np.array([[0.0, 0.5], [0.3, 0.0], [0.1, 0.0]])
M = np.array([1.0, 2.0, 0.5])
K = np.array([1.3, 0.8, 2.0])
SCENE = f"""\
[units]
system = "dimensionless"

[state]
kind = "tethered"
x = {X.tolist()}
v = {V.tolist()}
m = {M.tolist()}

[[energy]]
kind = "tether"
k = [1.0, 1.0, 1.0]

[stepper]
kind = "implicit_midpoint"
dt = {H}

[run]
steps = {STEPS}

[fit]
method = "gauss_newton"
iterations = 30

[fit.parameters."tether.k"]

[[fit.loss]]
kind = "misfit"
field = "x"
data = "x.csv"
"""


def midpoint(step: int) -> np.ndarray:
    """The positions (n, d) after so many steps."""
    w = np.sqrt(K / M)[:, None]
    turn = (1.0 + 0.5j * w * H) / (1.0 - 0.5j * w * H)
    return ((X - 1j * V / w) * turn**step).real


@pytest.mark.parametrize("method", ["gauss_newton", "lbfgs"])
def test_stiffness_from_an_implicit_run(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{H * step:.17g}, {node}, {x:.17g}, {y:.17g}"
        for step in range(0, STEPS + 1, 2)
        for node, (x, y) in enumerate(midpoint(step))
    ]
    Path("x.csv").write_text("\n".join(["time, node, x, y", *rows]) + "\n")
    Path("swing.toml").write_text(SCENE)
    done = fit("swing.toml", {"fit.method": method}, "run", [oscillators])
    found = done.parameter_fit.objective.fields["tether.k"].values
    assert found == pytest.approx(K, rel=1e-7 if method == "gauss_newton" else 1e-4)
