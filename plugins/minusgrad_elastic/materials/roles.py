"""Arguments that materials have in common: of plates in plane stress, of rubber by its own moduli."""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter, ti

from ..hyperelastic import SOLID

PLANE_STRESS: dict[str, Any] = SOLID | {
    "x": Node("m", (2,)),
    "gradients": Datum(
        "m^-1", ("k", 2), about="Gradients of the shape functions at rest, one for each node of a cell."
    ),
    "poissons_ratio": Parameter(
        "1",
        scale=0.3,
        bounds=(-1.0, 0.5),
        open=True,
        reason="the bulk modulus is positive and finite",
        about="Poisson's ratio, between -1 and 0.5.",
    ),
}
"""As of a solid, in the plane only. `volume` is area times thickness at rest."""

FLAT_STRAINS: dict[str, Any] = PLANE_STRESS | {
    "poissons_ratio": Parameter(
        "1",
        scale=0.3,
        bounds=(-1.0, 0.5),
        open="below",
        reason="the bulk modulus is positive",
        about="Poisson's ratio, above -1 and up to 0.5, incompressible.",
    ),
}
"""Of plates that are linear in their strains, in which lambda* is finite for incompressible solids, too."""

SOLID_CELLS: dict[str, Any] = {
    name: role for name, role in SOLID.items() if name not in ("youngs_modulus", "poissons_ratio")
}
"""Of a solid with parameters of its own."""

RUBBER: dict[str, Any] = SOLID_CELLS | {
    "bulk_modulus": Parameter(
        "Pa",
        bounds=(0.0, inf),
        reason="a pressure shall not make a solid grow",
        about="Bulk modulus: resistance to changes of volume.",
    ),
}
"""Of a solid with a bulk modulus K, whose parameters of shear are its own."""

RUBBER_SHEET: dict[str, Any] = {
    name: PLANE_STRESS[name] for name in ("symmetries", "images", "x", "gradients", "F", "volume")
}
"""Of an incompressible sheet in plane stress."""


@ti.func
def plane_stress_lame(youngs_modulus, poissons_ratio):
    """Lame's mu, and lambda* of plane stress."""
    mu = youngs_modulus / (2.0 * (1.0 + poissons_ratio))
    return mu, youngs_modulus * poissons_ratio / (1.0 - poissons_ratio * poissons_ratio)


@ti.func
def first_invariant(F, across):
    """I1 = tr C, in the plane with F_33 = across."""
    return (F * F).sum() + (3.0 - F.n) * across * across


@ti.func
def second_invariant(F, across):
    """I2 = ((tr C)^2 - tr C^2) / 2, in the plane with F_33 = across."""
    C = F.transpose() @ F
    first = first_invariant(F, across)
    square = across * across
    return 0.5 * (first * first - (C * C).sum() - (3.0 - F.n) * square * square)


@ti.func
def dilation(J, bulk_modulus):
    """K/4 (J^2 - 1 - 2 ln J), infinite where J is 0 and where it is infinite (Simo & Taylor 1982)."""
    return 0.25 * bulk_modulus * (J * J - 1.0 - 2.0 * ti.log(J))
