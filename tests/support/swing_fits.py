"""A fit of three springs to their recorded swing, and objectives on paper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.adjoint.run_objective import FitParameter, RunObjective
from minusgrad.app.runs import fit
from tests.support import oscillators
from tests.support.oscillators import leapfrog

PLUGIN = Path(oscillators.__file__)
X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
V = np.array([[0.1, 0.4], [0.3, 0.0], [0.1, 0.0]])
M = np.array([1.0, 2.0, 0.5])
K = np.array([1.3, 0.8, 2.0])
SIGMA = 0.01
SEEN = range(0, 41, 5)

SCENE = """\
[units]
system = "dimensionless"

[state]
kind = "tethered"
x = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
v = [[0.0, 0.5], [0.3, 0.0], [0.1, 0.0]]
m = [1.0, 2.0, 0.5]

[[energy]]
kind = "tether"
k = [1.0, 1.0, 1.0]

[stepper]
kind = "leapfrog"
dt = 0.1

[run]
steps = 40

[fit]
method = "gauss_newton"
iterations = 30

[fit.parameters."tether.k"]

[fit.parameters.v]
body = "left"

[[fit.loss]]
kind = "misfit"
field = "x"
sigma = 0.01
data = "x.csv"
"""


def observed(seed: int = 0, sigma: float = SIGMA) -> dict[int, np.ndarray]:
    """Positions at the steps that are seen, with normal errors."""
    path, rng = leapfrog(X, V, M, K, 0.1, 40), np.random.default_rng(seed)
    return {s: path[s] + sigma * rng.normal(size=X.shape) for s in SEEN}


def table(data: dict[int, np.ndarray]) -> str:
    """The positions as a table of time, node and two components."""
    rows = [
        f"{0.1 * s:.17g}, {n}, {x:.17g}, {y:.17g}" for s, at in data.items() for n, (x, y) in enumerate(at)
    ]
    return "\n".join(["# made by hand", "time, node, x, y", *rows]) + "\n"


def fitted(overrides: dict | None = None, out: str = "run", **more: Any) -> Any:
    """The scene of `here` fitted, with other values, into a folder."""
    return fit("swing.toml", overrides or {}, out, [oscillators], **more)


class Squares:
    """The rollout of residuals r(p) with Jacobian J(p), of one sought field "p"."""

    label = "the run of the loss"

    def __init__(self, residuals: Callable, jacobian: Callable, start: Any):
        self.residuals, self.jacobian, self.p = residuals, jacobian, np.array(start, float)
        self.looks, self.trouble, self.writes = 0, "", 0

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass

    def value(self) -> float:
        self.looks += 1
        with np.errstate(invalid="ignore"):
            r = self.residuals(self.p)
        self.trouble = "" if np.isfinite(r).all() else "step 3: field 'x', node 0 is not finite"
        return np.nan if self.trouble else 0.5 * float(r @ r)

    def evaluate(self, names: Any) -> tuple[float, dict[str, np.ndarray]]:
        loss = self.value()
        slope = (
            np.full_like(self.p, np.nan) if self.trouble else self.jacobian(self.p).T @ self.residuals(self.p)
        )
        return loss, {"p": slope}

    def curvature(self, directions: Any) -> np.ndarray:
        J = self.jacobian(self.p) @ np.stack([d["p"] for d in directions], axis=1)
        return J.T @ J

    def objective(self) -> Any:
        def put(p: np.ndarray) -> None:
            self.p = p.copy()

        return RunObjective(self, [FitParameter("p", self.p.copy(), put)])


def valley(start: Any = (-1.2, 1.0)) -> Squares:
    """Rosenbrock's as residuals."""
    return Squares(
        lambda p: np.sqrt(2.0) * np.array([10.0 * (p[1] - p[0] ** 2), 1.0 - p[0]]),
        lambda p: np.sqrt(2.0) * np.array([[-20.0 * p[0], 10.0], [-1.0, 0.0]]),
        start,
    )


def numbers(done: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors of all parameters, one after another."""
    parameters = done.estimates.parameters
    return np.concatenate([p.values for p in parameters]), np.concatenate([p.errors for p in parameters])
