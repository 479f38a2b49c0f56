"""Lennard-Jones energies: of one kind of atom, of mixtures by the Lorentz-Berthelot rules, of 1-4 pairs.

    u(r) = 4 epsilon ((sigma / r)^12 - (sigma / r)^6)

    lennard_jones            all pairs, epsilon [J] and sigma [m] of the scene
    lennard_jones_mixture    all pairs; epsilon (n,) and sigma (n,) are fields:
                             sigma = (sigma_i + sigma_j) / 2, epsilon = sqrt(epsilon_i epsilon_j)
    lennard_jones_14         listed pairs, epsilon and sigma of each: the ends of a chain of three bonds

r = |x_i - x_j|, x (n, d) [m]. Lennard-Jones 1931, Proc. Phys. Soc. 43, 461; Lorentz 1881, Ann. Phys. 248,
127; Berthelot 1898, C. R. Acad. Sci. 126, 1703. Without depth (epsilon_i = 0, such as hydrogens of water) a
pair has no energy, and its derivative by epsilon_i, which would be infinite, is taken as zero. Atoms at one
place have no direction and no derivative.

Decisions 0330.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti

INVARIANT: dict[str, Any] = {"symmetries": ("translation", "rotation")}


@ti.func
def well(separation, epsilon, sigma):
    """u of the vector from one atom to the other."""
    s = sigma * sigma / separation.norm_sqr()
    s6 = s * s * s
    return 4.0 * epsilon * s6 * (s6 - 1.0)


@local_energy(
    "lennard_jones",
    over="pairs",
    **INVARIANT,
    x=Node("m", ("d",)),
    epsilon=Parameter("J", bounds=(0.0, inf), about="Depth of the well."),
    sigma=Parameter("m", bounds=(0.0, inf), about="Distance at which the energy is zero."),
)
def lennard_jones(x, epsilon, sigma):
    """Lennard-Jones energy of atoms of one kind."""
    return well(x[0] - x[1], epsilon, sigma)


@local_energy(
    "lennard_jones_mixture",
    over="pairs",
    **INVARIANT,
    x=Node("m", ("d",)),
    epsilon=Node("J", bounds=(0.0, inf)),
    sigma=Node("m", bounds=(0.0, inf)),
)
def lennard_jones_mixture(x, epsilon, sigma):
    """Lennard-Jones energy of atoms with parameters of their own, combined by the Lorentz-Berthelot rules."""
    product = epsilon[0] * epsilon[1]
    depth = ti.select(product > 0.0, ti.sqrt(product), 0.0)
    return well(x[0] - x[1], depth, 0.5 * (sigma[0] + sigma[1]))


@local_energy(
    "lennard_jones_14",
    over=2,
    **INVARIANT,
    x=Node("m", ("d",)),
    epsilon=Datum("J", differentiable=True, about="Depth of the well of each pair."),
    sigma=Datum("m", differentiable=True, about="Distance of each pair at which its energy is zero."),
)
def lennard_jones_14(x, epsilon, sigma):
    """Lennard-Jones energy of listed pairs, each with parameters of its own."""
    return well(x[0] - x[1], epsilon, sigma)
