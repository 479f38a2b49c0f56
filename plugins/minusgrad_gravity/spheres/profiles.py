"""Densities of spheres with a cusp: a double power law, with or without an outer truncation.

    rho(r) ~ (r/a)^-1 (1 + r/a)^(1 - b) sech(r/t),    mass of all M

b = 4: Hernquist 1990, ApJ 356, 359; b = 3: Navarro, Frenk & White 1997, ApJ 490, 493, whose mass is finite by
the truncation of McMillan & Dehnen 2007, MNRAS 378, 541; t = infinity: none. The mass within a radius is
integrated on a grid of radii.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

INNER, OUTER = 1e-5, 1e5
"""Radii of the grid in scale radii; a truncated sphere ends at 40 truncation radii, where sech is 1e-17."""
TRUNCATED = 40.0
STEP = 0.02
"""Of the grid's ln r."""


@dataclass(frozen=True)
class CuspedSphere:
    """A sphere of mass M with the scale radius a, the outer slope b, and a truncation radius."""

    mass: float
    radius: float
    outer: float
    truncation: float = np.inf

    @property
    def reach(self) -> float:
        """The largest radius of the sphere."""
        return min(OUTER * self.radius, TRUNCATED * self.truncation)

    def density(self, r: np.ndarray) -> np.ndarray:
        """rho (K,) at radii r (K,)."""
        return self._density_scale * self._density_shape(r)

    def slope(self, r: np.ndarray) -> np.ndarray:
        """g = d ln rho / d ln r (K,)."""
        x, y = r / self.radius, r / self.truncation
        return -1.0 - (self.outer - 1.0) * x / (1.0 + x) - y * np.tanh(y)

    def curvature(self, r: np.ndarray) -> np.ndarray:
        """dg / d ln r (K,)."""
        x, y = r / self.radius, r / self.truncation
        return -(self.outer - 1.0) * x / (1.0 + x) ** 2 - y * np.tanh(y) - (y * _sech_of(y)) ** 2

    def shell(self, r: np.ndarray) -> np.ndarray:
        """dM / d ln r = 4 pi r^3 rho (K,)."""
        return 4.0 * np.pi * r**3 * self.density(r)

    def enclosed(self, r: np.ndarray) -> np.ndarray:
        """M(r) (K,), the mass within."""
        inside = np.clip(np.log(r), *self._mass_integral.x[[0, -1]])
        cusp = np.minimum(r / np.exp(self._mass_integral.x[0]), 1.0) ** 2
        return self._density_scale * (self._mass_integral(inside) + self._innermost_mass) * cusp

    def _density_shape(self, r: np.ndarray) -> np.ndarray:
        x = r / self.radius
        return (1.0 + x) ** (1.0 - self.outer) * _sech_of(r / self.truncation) / x

    @cached_property
    def _mass_integral(self):
        """The integral of 4 pi r^3 times the shape over ln r, from the inner end of the grid on."""
        from scipy.interpolate import CubicSpline

        r = log_grid(INNER * self.radius, self.reach)
        return CubicSpline(np.log(r), 4.0 * np.pi * r**3 * self._density_shape(r)).antiderivative()

    @cached_property
    def _innermost_mass(self) -> float:
        """That within the grid, where the density is that of the cusp."""
        r = np.exp(self._mass_integral.x[:1])
        return float((2.0 * np.pi * r**3 * self._density_shape(r))[0])

    @cached_property
    def _density_scale(self) -> float:
        return self.mass / float(self._mass_integral(self._mass_integral.x[-1]) + self._innermost_mass)


def log_grid(low: float, high: float) -> np.ndarray:
    """Radii between two, in equal steps of ln r."""
    return np.geomspace(low, high, int(np.ceil(np.log(high / low) / STEP)) + 1)


def _sech_of(y: np.ndarray) -> np.ndarray:
    """1 / cosh y for y >= 0, without overflow."""
    e = np.exp(-y)
    return 2.0 * e / (1.0 + e * e)
