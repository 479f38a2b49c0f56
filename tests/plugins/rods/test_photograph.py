"""How often the error bars of the strip in a photograph hold: 200 photographs of one strip."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.adjoint.standard_errors import standard_errors
from tests.support.sagging_strip import ANGLE, FILE, PIXEL, POINTS, YOUNG, strip_points

SCENE = Path(__file__).parents[3] / "scenes/strip_from_photo.toml"
STEPS = np.array([0.01 * YOUNG, 0.005])
"""Changes of Young's modulus and the angle that make the strip's shape a parabola of both."""


class Parabola:
    """The scene's shape (m,) near the truth, to second order in its two parameters, by differences."""

    def __init__(self) -> None:
        self.torch = pytest.importorskip("torch")
        import minusgrad.torch

        self.rest = minusgrad.torch.equilibrium(SCENE)
        at = {(i, j): self.shape(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        self.middle = at[0, 0]
        self.slopes = np.stack([at[1, 0] - at[-1, 0], at[0, 1] - at[0, -1]], axis=1) / 2.0
        self.curves = [at[1, 0] + at[-1, 0] - 2.0 * at[0, 0], at[0, 1] + at[0, -1] - 2.0 * at[0, 0]]
        self.mixed = (at[1, 1] + at[-1, -1] - at[1, -1] - at[-1, 1]) / 4.0

    def shape(self, i: int, j: int) -> np.ndarray:
        """x and z (m,) of the nodes at rest, by steps of the parameters."""
        values = {"rod.youngs_modulus": YOUNG + i * STEPS[0], "rod_first.angle": ANGLE + j * STEPS[1]}
        given = {name: self.torch.tensor(value, dtype=self.torch.float64) for name, value in values.items()}
        return self.rest(given)["x"].numpy()[:, [0, 2]].ravel()

    def fit(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters (2,) by Gauss and Newton's method, and their standard errors (2,)."""
        u = np.zeros(2)
        for _ in range(6):
            bent = (
                0.5 * u[0] ** 2 * self.curves[0] + 0.5 * u[1] ** 2 * self.curves[1] + u[0] * u[1] * self.mixed
            )
            off = points.ravel() - self.middle - self.slopes @ u - bent
            by_first, by_second = (u[k] * self.curves[k] + u[1 - k] * self.mixed for k in (0, 1))
            slopes = self.slopes + np.stack([by_first, by_second], axis=1)
            u = u + np.linalg.lstsq(slopes, off, rcond=None)[0]
        errors = standard_errors(slopes.T @ slopes / PIXEL**2, np.ones(2, bool), np.dtype(np.float64)).errors
        return np.array([YOUNG, ANGLE]) + STEPS * u, STEPS * errors


@pytest.mark.long
def test_bars_of_95_percent_hold_in_190_of_200_photographs() -> None:
    """Both parameters within 1.96 standard errors in 182 to 197 of 200; the binomial error is 3.1.

    The photographs are those of another program, with a pixel of noise. The scene's own is fitted alike.
    """
    model, exact = Parabola(), strip_points()
    rows = np.loadtxt(FILE, delimiter=",", skiprows=3)
    (young, _), (error, _) = model.fit(rows[:, [2, 4]])
    assert abs(young / 1e6 - 10.019) < 2e-3
    assert abs(error / 1e6 - 0.043) < 1e-3
    held, off = np.zeros(2, int), []
    for seed in range(200):
        noise = PIXEL * np.random.default_rng(seed).normal(size=(POINTS + 1, 2))
        found, errors = model.fit(exact + noise)
        off.append((found - [YOUNG, ANGLE]) / errors)
        held += np.abs(off[-1]) < 1.96
    assert ((held >= 182) & (held <= 197)).all(), held
    assert np.abs(np.mean(off, axis=0)).max() < 0.2
    assert np.abs(np.std(off, axis=0) - 1.0).max() < 0.13
