"""Coulomb energies of point charges: plain, with a reaction field beyond a radius, and of 1-4 pairs.

    coulomb                   U = sum over pairs of k q_i q_j / r
    coulomb_reaction_field    U = sum over pairs of k q_i q_j (1 / r + k_rf r^2 - c_rf)
                              k_rf = (e - 1) / (2 e + 1) / R^3,    c_rf = 3 e / (2 e + 1) / R
    coulomb_14                U = sum over listed pairs of k Q / r, Q the product of charges of each

r = |x_i - x_j|, x (n, d) [m], q (n,) [C], k = 1 / (4 pi eps0) [N m^2 C^-2] (CODATA 2022), Q [C^2]. Beyond
the radius R [m] is a medium of relative permittivity e (`eps_rf`); u(R) = 0, and as e grows u'(R) falls to
zero. R is the cutoff of the scene, which says it twice: `cutoff = "10 angstrom", switch = "none"` limits
the pairs, `radius` is the same length in the energy. Tironi et al. 1995, J. Chem. Phys. 102, 5451; OpenMM
User Guide 8, chapter 19 (with its value of e for water, 78.3). Charges at one place have no direction and
no derivative.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter, local_energy

COULOMB: dict[str, Any] = {
    "symmetries": ("translation", "rotation"),
    "x": Node("m", ("d",)),
    "coulomb_constant": Parameter(
        "N m^2 C^-2",
        default="8.9875517862e9 N m^2 C^-2",
        bounds=(0.0, inf),
        about="Coulomb's constant 1 / (4 pi eps0).",
    ),
}


@local_energy("coulomb", over="pairs", **COULOMB, charge=Node("C"))
def coulomb(x, charge, coulomb_constant):
    """Coulomb energy of all pairs of point charges."""
    return coulomb_constant * charge[0] * charge[1] / (x[0] - x[1]).norm()


@local_energy(
    "coulomb_reaction_field",
    over="pairs",
    **COULOMB,
    charge=Node("C"),
    radius=Parameter(
        "m",
        bounds=(0.0, inf),
        open=True,
        about="Radius beyond which is a medium; the same length as the cutoff.",
    ),
    eps_rf=Parameter("1", default=78.3, bounds=(1.0, inf), about="Relative permittivity of the medium."),
)
def coulomb_reaction_field(x, charge, coulomb_constant, radius, eps_rf):
    """Coulomb energy of pairs within a radius, beyond which is a medium of constant permittivity."""
    r = (x[0] - x[1]).norm()
    y = r * r / (radius * radius)
    field = 0.5 * y - 1.5 + 1.5 / (2.0 * eps_rf + 1.0) * (1.0 - y)
    return coulomb_constant * charge[0] * charge[1] * (1.0 / r + field / radius)


@local_energy(
    "coulomb_14",
    over=2,
    **COULOMB,
    charge_product=Datum("C^2", differentiable=True, about="Product of the charges of each pair."),
)
def coulomb_14(x, charge_product, coulomb_constant):
    """Coulomb energy of listed pairs, each with a product of charges of its own."""
    return coulomb_constant * charge_product / (x[0] - x[1]).norm()
