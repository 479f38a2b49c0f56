"""Newtonian gravity between point masses, Plummer-softened.

    U(x) = -G sum_{i<j} m_i m_j / sqrt(|x_i - x_j|^2 + eps^2)

x (n, d) [m], m (n,) [kg], U [J]; eps [m] is the softening length (Plummer 1911, MNRAS 71, 460);
G = 6.67430e-11 m^3 kg^-1 s^-2 (CODATA 2018).
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, ti

from .constants import G_UNIT, NEWTONS_CONSTANT


@local_energy(
    "gravity",
    over="pairs",
    symmetries=("translation", "rotation", "permutation"),
    x=Node("m", ("d",)),
    m=Node("kg"),
    G=Parameter(G_UNIT, default=NEWTONS_CONSTANT, bounds=(0.0, inf), about="Newton's constant."),
    softening=Parameter("m", default=0.0, bounds=(0.0, inf), about="Plummer's softening length; 0: none."),
)
def gravity(x, m, G, softening):
    """Newtonian attraction of every pair of point masses, Plummer-softened."""
    r = x[0] - x[1]
    return -G * m[0] * m[1] / ti.sqrt(r.dot(r) + softening * softening)
