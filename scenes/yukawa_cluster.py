"""The energies of dust in a trap, for `yukawa_cluster.toml`: screened charges, and a harmonic trap.

    U(x) = sum_{i<j} A exp(-r_ij / L) / r_ij  +  sum_i k |x_i|^2 / 2

x (n, d) [m]; A = (Z e)^2 / (4 pi eps_0) [J m] of grains with Z electrons each, L [m] the screening length of
the plasma, k [J m^-2]. (Bonitz et al. 2006, Phys. Rev. Lett. 96, 075001.)

    minusgrad run scenes/yukawa_cluster.toml --plugin scenes/yukawa_cluster.py
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, ti

X = Node("m", ("d",))
POSITIVE = (0.0, inf)


@local_energy(
    "screened_charges",
    over="pairs",
    symmetries=("translation", "rotation", "permutation"),
    x=X,
    strength=Parameter("J m", bounds=POSITIVE),
    length=Parameter("m", bounds=POSITIVE),
)
def screened_charges(x, strength, length):
    """Repulsion of equal charges in a plasma."""
    r = (x[0] - x[1]).norm()
    return strength * ti.exp(-r / length) / r


@local_energy("trap", over="nodes", x=X, stiffness=Parameter("J m^-2", bounds=POSITIVE))
def trap(x, stiffness):
    """A harmonic trap about the origin."""
    return 0.5 * stiffness * x[0].dot(x[0])
