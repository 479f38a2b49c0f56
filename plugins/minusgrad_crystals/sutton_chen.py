"""The many-body potential of Sutton and Chen for fcc metals: pair repulsion, density, embedding energy.

    U(x) = epsilon [ sum_{i<j} (a / r_ij)^n  -  c sum_i sqrt(rho_i) ],      rho_i = sum_{j != i} (a / r_ij)^m

x (n, d) [m], r_ij = |x_i - x_j|, rho (n,) without a unit; epsilon [J], a [m] the lattice constant, c, n and m
numbers (Sutton & Chen 1990, Philos. Mag. Lett. 61, 139). Copper: epsilon = 1.2382e-2 eV, a = 3.61 angstrom,
c = 39.432, n = 9, m = 6, for sums without a cutoff; the density falls off as r^-6, so that a cutoff of 5.5 a
changes the cohesive energy by 7e-4 of it.
"""

from dataclasses import replace
from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, local_map, ti

LENGTH = Parameter(
    "m", bounds=(0.0, inf), open=True, reason="it is a lattice constant", about="Lattice constant."
)
STRENGTH = Parameter("J", bounds=(0.0, inf), about="Unit of energy of the potential.")
EXPONENT = Parameter(bounds=(0.0, inf))


@ti.func
def inverse_power(r, a, exponent):
    """(a / |r|)^exponent."""
    return (a * a / r.dot(r)) ** (0.5 * exponent)


@local_energy(
    "sutton_chen_repulsion",
    over="pairs",
    symmetries=("translation", "rotation", "permutation"),
    x=Node("m", ("d",)),
    epsilon=STRENGTH,
    a=LENGTH,
    n=replace(EXPONENT, about="Exponent of the repulsion."),
)
def sutton_chen_repulsion(x, epsilon, a, n):
    """The repulsion of every pair, epsilon (a / r)^n."""
    return epsilon * inverse_power(x[0] - x[1], a, n)


@local_map(
    "sutton_chen_density",
    gives="rho",
    over="pairs",
    x=Node("m", ("d",)),
    a=LENGTH,
    m=replace(EXPONENT, about="Exponent of the density."),
)
def sutton_chen_density(x, a, m):
    """The contribution (a / r)^m of the second atom to the density at the first."""
    return inverse_power(x[0] - x[1], a, m)


@local_energy(
    "sutton_chen_embedding",
    over="nodes",
    rho=Node(bounds=(0.0, inf)),
    epsilon=STRENGTH,
    c=Parameter(bounds=(0.0, inf), about="Strength of the cohesion, relative to the repulsion."),
)
def sutton_chen_embedding(rho, epsilon, c):
    """The cohesion -c epsilon sqrt(rho) of each atom; 0, with the slope 0, of an atom without neighbours."""
    return -c * epsilon * ti.select(rho[0] > 0.0, ti.sqrt(rho[0]), 0.0)
