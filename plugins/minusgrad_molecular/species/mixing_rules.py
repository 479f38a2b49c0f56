"""Lennard-Jones energies of mixtures by other rules than Lorentz and Berthelot's.

    u(r) = 4 epsilon ((sigma / r)^12 - (sigma / r)^6)

    lennard_jones_geometric           epsilon = sqrt(epsilon_i epsilon_j), sigma = sqrt(sigma_i sigma_j)
    lennard_jones_waldman_hagler      sigma^6 = (sigma_i^6 + sigma_j^6) / 2,
                                      epsilon = sqrt(epsilon_i epsilon_j) sigma_i^3 sigma_j^3 / sigma^6

r = |x_i - x_j|, x (n, d) [m]; epsilon (n,) [J] and sigma (n,) [m] are fields. Good & Hope 1970, J. Chem.
Phys. 53, 540; Waldman & Hagler 1993, J. Comput. Chem. 14, 1077. Powers are of ratios to r, so that no unit
makes them overflow.

Decisions 0151.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Node, local_energy, ti

from ..lennard_jones import INVARIANT, well

PAIRS: dict[str, Any] = {
    "over": "pairs",
    **INVARIANT,
    "x": Node("m", ("d",)),
    "epsilon": Node("J", bounds=(0.0, inf)),
    "sigma": Node("m", bounds=(0.0, inf)),
}


@ti.func
def mean_depth(epsilon):
    """sqrt(epsilon_i epsilon_j), with the derivative 0 where one of them is 0."""
    product = epsilon[0] * epsilon[1]
    return ti.select(product > 0.0, ti.sqrt(product), 0.0)


@ti.func
def lorentz_berthelot(separation, epsilon, sigma):
    """u with the arithmetic mean of sigma."""
    return well(separation, mean_depth(epsilon), 0.5 * (sigma[0] + sigma[1]))


@ti.func
def geometric(separation, epsilon, sigma):
    """u with the geometric mean of sigma."""
    s = sigma[0] * sigma[1] / separation.norm_sqr()
    s6 = s * s * s
    return 4.0 * mean_depth(epsilon) * s6 * (s6 - 1.0)


@ti.func
def waldman_hagler(separation, epsilon, sigma):
    """u with the mean of sigma^6, and depths that keep epsilon sigma^6 geometric."""
    square = separation.norm_sqr()
    a, b, c = sigma[0] * sigma[0] / square, sigma[1] * sigma[1] / square, sigma[0] * sigma[1] / square
    return 4.0 * mean_depth(epsilon) * c * c * c * (0.5 * (a * a * a + b * b * b) - 1.0)


@local_energy("lennard_jones_geometric", **PAIRS)
def lennard_jones_geometric(x, epsilon, sigma):
    """Lennard-Jones energy of atoms with parameters of their own, combined by geometric means."""
    return geometric(x[0] - x[1], epsilon, sigma)


@local_energy("lennard_jones_waldman_hagler", **PAIRS)
def lennard_jones_waldman_hagler(x, epsilon, sigma):
    """Lennard-Jones energy of atoms with parameters of their own, combined as Waldman and Hagler do."""
    return waldman_hagler(x[0] - x[1], epsilon, sigma)
