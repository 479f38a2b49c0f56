"""Kerf of a line: how wide a laser cuts along a straight line, by the direction of its spot.

    m(n) = q sqrt(2 / pi) / w(n),      w(n)^2 = w_x^2 n_x^2 + w_y^2 n_y^2      peak of an endless line
    h(n) = w(n) sqrt(ln(m(n) / H) / 2)                                         half the kerf

n is the line's unit normal, q [J/m] its energy on a length, w_x and w_y [m] the waists of the spot, and
H [J/m^2] the fluence that cuts the material. On the line, s beyond its end, the fluence is
m erfc(sqrt 2 s / v) / 2, with v the radius of the ellipse along it, 1 / v^2 = t_x^2 / w_x^2 + t_y^2 / w_y^2.
"""

import numpy as np
from scipy.special import erfcinv

from ..machine.spot import waists_across

Pair = tuple[float, float]
PEAK = np.sqrt(2.0 / np.pi)


def half_kerfs(density: np.ndarray | float, waists: Pair, normals: np.ndarray, fluence: float) -> np.ndarray:
    """Half kerfs (n,) [m] of lines with unit normals (n, 2) and energies on a length [J/m]; 0: no cut."""
    across = waists_across(waists, normals)
    return across * np.sqrt(0.5 * np.log(np.maximum(density * PEAK / across / fluence, 1.0)))


def density_for(half: np.ndarray, waists: Pair, normals: np.ndarray, fluence: float) -> np.ndarray:
    """Energies on a length (n,) [J/m] of lines with unit normals (n, 2) that have these half kerfs [m]."""
    across = waists_across(waists, normals)
    return fluence * across / PEAK * np.exp(2.0 * (half / across) ** 2)


def reach_beyond(density: float, waists: Pair, direction: np.ndarray, fluence: float) -> float:
    """How far [m] a line along a unit vector (2,) cuts beyond its end; below 0 if it ends before."""
    across = float(waists_across(waists, np.array([-direction[1], direction[0]])))
    along = 1.0 / float(np.hypot(direction[0] / waists[0], direction[1] / waists[1]))
    part = min(max(2.0 * fluence * across / (density * PEAK), 1e-12), 2.0 - 1e-12)
    return along / np.sqrt(2.0) * float(erfcinv(part))
