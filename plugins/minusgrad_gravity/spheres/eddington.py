"""Distribution function of a sphere with isotropic velocities, by Eddington's inversion.

    f(E) = 1 / (sqrt(8) pi^2)  integral from 0 to E of  d^2 rho / d psi^2  d psi / sqrt(E - psi)
    d^2 rho / d psi^2 = (r / M)^2 rho (g^2 + g' + g - g s / M)

Units with G = 1. rho(r) is the sphere's density, g = d ln rho / d ln r and g' = dg / d ln r; M(r) the mass
within of all that attracts, s = dM / d ln r, and psi(r) its relative potential, psi' = -M / r^2. E = psi -
v^2 / 2 is the relative energy, and f the mass in a unit of phase space. Eddington 1916, MNRAS 76, 572;
Binney & Tremaine 2008, Galactic Dynamics, 4.3. The part of f by d rho / d psi at psi = 0 is zero, because
the density falls faster than 1/r. Where the truncation lies outside the scale radius, g^2 + g' + g > 0 and
g < 0, so that f is positive in the potential of any other parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .profiles import CuspedSphere

NODES = 128
"""Of Gauss's quadrature in sqrt(E - psi), which removes the singularity."""


class Attractor(Protocol):
    """Mass in spherical shells, such as a sphere, or a disc whose mass is spread over them."""

    def enclosed(self, r: np.ndarray) -> np.ndarray: ...
    def shell(self, r: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Potential:
    """The relative potential of masses in spherical shells, at radii r (K,), for G = 1."""

    r: np.ndarray
    mass: np.ndarray
    shell: np.ndarray
    psi: np.ndarray

    @classmethod
    def of(cls, parts: Sequence[Attractor], r: np.ndarray) -> "Potential":
        """That of all parts; beyond the last radius there is no mass."""
        from scipy.interpolate import CubicSpline

        mass = sum((part.enclosed(r) for part in parts), np.zeros_like(r))
        shell = sum((part.shell(r) for part in parts), np.zeros_like(r))
        inwards = CubicSpline(np.log(r), mass / r).antiderivative()(np.log(r))
        return cls(r, mass, shell, inwards[-1] - inwards + mass[-1] / r[-1])


def distribution(sphere: CuspedSphere, potential: Potential) -> np.ndarray:
    """f (K,) at the relative energies `potential.psi` (K,)."""
    from scipy.interpolate import CubicSpline

    r, M, psi = potential.r, potential.mass, potential.psi
    g = sphere.slope(r)
    bracket = g * g + sphere.curvature(r) + g - g * potential.shell / M
    second = CubicSpline(np.log(r), (r / M) ** 2 * sphere.density(r) * bracket)
    place = CubicSpline(psi[::-1], np.log(r)[::-1])
    nodes, weights = _unit_quadrature()
    root = np.sqrt(psi - psi[-1])[:, None]
    inside = np.clip(psi[:, None] - (root * nodes) ** 2, psi[-1], psi[0])
    f = 2.0 * root[:, 0] * (second(place(inside)) @ weights) / (np.sqrt(8.0) * np.pi**2)
    return np.maximum(f, 0.0)  # the tail has rounding


def _unit_quadrature() -> tuple[Any, Any]:
    """Nodes and weights of Gauss's quadrature from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights
