"""King's models: isothermal spheres with an energy at which stars escape.

    f(E) ~ exp(E / s^2) - 1  for E > 0;    W = psi / s^2
    rho(W) ~ exp(W) erf(sqrt W) - sqrt(4 W / pi) (1 + 2 W / 3)
    d/dx (x^2 dW/dx) = -9 x^2 rho(W) / rho(W0),    W(0) = W0,    x = r / r0

r0 = sqrt(9 s^2 / (4 pi G rho(W0))) is King's core radius; W = 0 at the tidal radius, and with mu = -x^2 dW/dx
the mass within is s^2 r0 mu / G. King 1966, AJ 71, 64; Binney & Tremaine 2008, Galactic Dynamics, 4.3.3.
"""

from dataclasses import dataclass

import numpy as np

from .isotropic import IsotropicSphere

BEGIN = 1e-4
"""The x of the first point, where W = W0 - 3 x^2 / 2 to 1e-16."""
POINTS = 2000


@dataclass(frozen=True)
class KingModel:
    """Tables of x, W and mu (K,) from the centre to the tidal radius."""

    x: np.ndarray
    W: np.ndarray
    mu: np.ndarray

    @classmethod
    def solved(cls, W0: float) -> "KingModel":
        """The model with this central W."""
        from scipy.integrate import solve_ivp

        def rates(log_x: float, y: np.ndarray) -> list[float]:
            x = np.exp(log_x)
            return [-y[1] / x, 9.0 * x**3 * float(density(y[0])) / centre]

        def edge(log_x: float, y: np.ndarray) -> float:
            return y[0]

        edge.terminal = True  # type: ignore[attr-defined]
        centre = float(density(W0))
        start = [W0 - 1.5 * BEGIN**2, 3.0 * BEGIN**3]
        end = np.log(BEGIN), np.log(1e10)
        found = solve_ivp(rates, end, start, "DOP853", dense_output=True, events=edge, rtol=1e-11, atol=1e-14)
        log_x = np.linspace(end[0], found.t[-1], POINTS)
        W, mu = found.sol(log_x)
        return cls(np.exp(log_x), np.maximum(W, 0.0), mu)

    @property
    def concentration(self) -> float:
        """The tidal radius in core radii."""
        return float(self.x[-1])

    def sphere(self, mass: float, tidal_radius: float, G: float) -> tuple[IsotropicSphere, float]:
        """The model of this mass and tidal radius, and its velocity scale s."""
        core = tidal_radius / self.concentration
        s = np.sqrt(G * mass / (core * self.mu[-1]))

        def f(energy: np.ndarray) -> np.ndarray:
            return np.expm1(np.maximum(energy, 0.0) / s**2)

        return IsotropicSphere(core * self.x, self.mu / self.mu[-1], s**2 * self.W, f), float(s)


def density(W: np.ndarray | float) -> np.ndarray:
    """rho(W) of a lowered isothermal sphere, in units of exp(0)'s constant; 0 for W <= 0."""
    from scipy.special import erf

    W = np.maximum(W, 0.0)
    return np.exp(W) * erf(np.sqrt(W)) - np.sqrt(4.0 * W / np.pi) * (1.0 + 2.0 * W / 3.0)
