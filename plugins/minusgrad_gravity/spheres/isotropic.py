"""Bodies of a sphere with isotropic velocities, drawn from its distribution function f(psi - v^2 / 2).

    speeds v = q sqrt(2 psi) with the density q^2 f(psi (1 - q^2)), by von Neumann's rejection

r (K,) are radii of a table, `enclosed` (K,) the fractions of the mass within, psi (K,) the relative
potential, f a function of the relative energy; all in one system of units.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..draws import Draws

SPEEDS = np.linspace(0.0, 1.0, 202)[1:-1]
"""Fractions q of the escape speed at which the largest density is sought."""
MARGIN = 1.02
"""By which the bound of the rejection exceeds the largest density found."""
RADIUS, PLACE, DIRECTION, TRIALS = 0, 1, 3, 5
"""Numbers of the draws: radius, position, direction of the velocity, and pairs of trials of the speed."""


@dataclass(frozen=True)
class IsotropicSphere:
    """Tables of a sphere, from which bodies are drawn."""

    r: np.ndarray
    enclosed: np.ndarray
    psi: np.ndarray
    f: Callable[[np.ndarray], np.ndarray]

    def draw(self, draws: Draws, outermost: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (n, 3); the fraction `outermost` of the mass is left out."""
        inner = np.log(np.maximum(self.enclosed, 1e-300))
        log_r = np.interp(np.log((1.0 - outermost) * draws.uniform(RADIUS)), inner, np.log(self.r))
        speed = self._draw_speeds(log_r, draws)
        x = np.exp(log_r)[:, None] * draws.direction(PLACE)
        return x, speed[:, None] * draws.direction(DIRECTION)

    def _draw_speeds(self, log_r: np.ndarray, draws: Draws) -> np.ndarray:
        """Speeds (n,) at radii exp(log_r)."""
        psi = np.interp(log_r, np.log(self.r), self.psi)
        most = np.interp(log_r, np.log(self.r), self._largest_densities())
        q, waiting, number = np.zeros(len(psi)), np.arange(len(psi)), TRIALS
        while len(waiting):
            q[waiting] = trial = draws.uniform(number, waiting)
            height = draws.uniform(number + 1, waiting) * most[waiting]
            waiting = waiting[height > trial**2 * self.f(psi[waiting] * (1.0 - trial**2))]
            number += 2
        return q * np.sqrt(2.0 * psi)

    def _largest_densities(self) -> np.ndarray:
        """A bound (K,) of q^2 f(psi (1 - q^2)) over q, at each radius of the table."""
        density = SPEEDS**2 * self.f(self.psi[:, None] * (1.0 - SPEEDS**2))
        return MARGIN * density.max(axis=1)
