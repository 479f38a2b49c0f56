"""Rubber: solids that keep their volume, by a shear part of the isochoric F and a bulk part of J = det F.

    stable neo-Hookean   psi = mu/2 (I1 - 3) - mu/2 ln((I1 + 1) / 4) - 3/4 mu (J - 1) + lambda/2 (J - 1)^2
    Mooney-Rivlin        psi = c10 (J^(-2/3) I1 - 3) + c01 (J^(-4/3) I2 - 3) + K/4 (J^2 - 1 - 2 ln J)
    Ogden, one term      psi = mu/a (J^(-a/3) sum_i s_i^a - 3)               + K/4 (J^2 - 1 - 2 ln J)

F (d, d) [1], psi [J/m^3]; C = F^T F, I1 = tr C, I2 = ((tr C)^2 - tr C^2) / 2, s_i the principal stretches;
in the plane s_3 = 1 (plane strain). For small strains the shear modulus is Lame's of E and nu, 2 (c10 +
c01), and mu a / 2, summed over terms; the bulk modulus is that of E and nu, and K. A material of N Ogden
terms is N blocks, one of which has K.

Incompressible sheets in plane stress have J = 1 with the stretch 1 / det F across:

    Mooney-Rivlin        psi = c10 (tr C + J^-2 - 3) + c01 (J^2 + J^-2 tr C - 3)          C, J in the plane
    Ogden, one term      psi = mu/a (s_1^a + s_2^a + J^-a - 3)

Smith, de Goes & Kim 2018, ACM Trans. Graph. 37, 12 (their mu is 4/3 of Lame's, their lambda 5/6 mu more, so
that Hooke's law holds at rest; finite and smooth for inverted cells, too); Mooney 1940, J. Appl. Phys. 11,
582; Ogden 1972, Proc. R. Soc. A 326, 565; Simo & Taylor 1982, CMAME 33, 927 (the bulk part).
"""

from math import inf
from typing import Any

from minusgrad.plugin import Parameter, local_energy, stretch_powers, ti

from ..hyperelastic import SOLID, lame
from .roles import RUBBER, RUBBER_SHEET, dilation, first_invariant, second_invariant

MOONEY: dict[str, Any] = {
    "c10": Parameter(
        "Pa",
        bounds=(0.0, inf),
        reason="a solid resists shear",
        about="Coefficient of the first invariant; half the shear modulus is c10 + c01.",
    ),
    "c01": Parameter(
        "Pa",
        bounds=(0.0, inf),
        reason="a negative one makes large biaxial stretches unstable",
        about="Coefficient of the second invariant.",
    ),
}
OGDEN: dict[str, Any] = {
    "shear_modulus": Parameter(
        "Pa", about="Modulus mu of the term, which adds mu times half the exponent to the shear modulus."
    ),
    "exponent": Parameter("1", scale=2.0, about="Exponent of the principal stretches."),
}
"""mu and a; mu a must be positive in the sum over terms."""


@ti.func
def stable(across, F, small, bulk):
    """The stable neo-Hookean psi of Lame's constants; of F in the plane with F_33 = across."""
    mu, lam = 4.0 / 3.0 * small, bulk + 5.0 / 6.0 * small
    I1, grown = first_invariant(F, across), F.determinant() * across - 1.0
    shear = 0.5 * (I1 - 3.0) - 0.5 * ti.log(0.25 * (I1 + 1.0)) - 0.75 * grown
    return mu * shear + 0.5 * lam * grown * grown


@ti.func
def mooney(across, F, c10, c01, bulk_modulus):
    """Mooney and Rivlin's psi; of F in the plane with F_33 = across."""
    J = F.determinant() * across
    shrink = ti.exp(-2.0 / 3.0 * ti.log(J))
    first, second = first_invariant(F, across), second_invariant(F, across)
    shear = c10 * (shrink * first - 3.0) + c01 * (shrink * shrink * second - 3.0)
    return shear + dilation(J, bulk_modulus)


@ti.func
def powers(across, F, shear_modulus, exponent, bulk_modulus):
    """One term of Ogden's psi; of F in the plane with F_33 = across."""
    J = F.determinant() * across
    total = stretch_powers(F, exponent) + (3.0 - F.n) * ti.exp(exponent * ti.log(across))
    shear = shear_modulus / exponent * (ti.exp(-exponent / 3.0 * ti.log(J)) * total - 3.0)
    return shear + dilation(J, bulk_modulus)


@local_energy("stable_neo_hookean", over="tuples", **SOLID)
def stable_neo_hookean(F, volume, youngs_modulus, poissons_ratio):
    """Stable neo-Hookean solid: for large strains, finite where cells are flat or inverted, for animation."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    return volume * stable(1.0, F, mu, lam)


@local_energy("mooney_rivlin", over="tuples", **RUBBER, **MOONEY)
def mooney_rivlin(F, volume, c10, c01, bulk_modulus):
    """Mooney-Rivlin rubber, nearly incompressible: for stretches up to 2 or so."""
    return volume * mooney(1.0, F, c10, c01, bulk_modulus)


@local_energy("mooney_rivlin_plane_stress", over="tuples", **RUBBER_SHEET, **MOONEY)
def mooney_rivlin_plane_stress(F, volume, c10, c01):
    """Incompressible Mooney-Rivlin sheet in plane stress: c01 = 0 is a neo-Hookean one."""
    J = F.determinant()
    square, across = (F * F).sum(), 1.0 / (J * J)
    return volume * (c10 * (square + across - 3.0) + c01 * (J * J + square * across - 3.0))


@local_energy(
    "ogden",
    over="tuples",
    **RUBBER
    | OGDEN
    | {
        "bulk_modulus": Parameter(
            "Pa",
            default=0.0,
            bounds=(0.0, inf),
            about="Bulk modulus; one of several terms of a material has it.",
        )
    },
)
def ogden(F, volume, shear_modulus, exponent, bulk_modulus):
    """One term of Ogden's rubber: for stretches up to 7, with two or three terms."""
    return volume * powers(1.0, F, shear_modulus, exponent, bulk_modulus)


@local_energy("ogden_plane_stress", over="tuples", **RUBBER_SHEET, **OGDEN)
def ogden_plane_stress(F, volume, shear_modulus, exponent):
    """One term of an incompressible Ogden sheet in plane stress: balloons, membranes in their plane."""
    across = ti.exp(-exponent * ti.log(F.determinant()))
    return volume * shear_modulus / exponent * (stretch_powers(F, exponent) + across - 3.0)
