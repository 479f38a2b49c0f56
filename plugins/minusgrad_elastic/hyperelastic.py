"""Hyperelastic solids: an energy density psi of the deformation gradient F, one function each.

    U(x) = sum over cells of V psi(F),          F = sum_a x_a (x) grad N_a

    St Venant-Kirchhoff    psi = mu E:E + lambda/2 (tr E)^2,     E = (F^T F - I) / 2
    neo-Hookean            psi = mu/2 (tr F^T F - d) - mu ln J + lambda/2 (ln J)^2,     J = det F

F (d, d) [1], V [m^3] the cell's rest volume, psi [J/m^3]; Young's modulus E [Pa] and Poisson's ratio nu give
Lame's mu = E / (2 (1 + nu)) and lambda = E nu / ((1 + nu) (1 - 2 nu)). d = 3, or d = 2 for plane strain
(F33 = 1, whose terms cancel in both densities). The first Piola-Kirchhoff stress is P = d psi / d F.

Bonet & Wood 2008, Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed., sections 6.4 (the
compressible neo-Hookean material with logarithms) and 6.3 (St Venant-Kirchhoff).

Decisions 0327.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Linear, Node, Parameter, local_energy, ti

SOLID: dict[str, Any] = {
    "symmetries": ("translation", "rotation"),
    "images": "first",
    "x": Node("m", ("d",)),
    "gradients": Datum(
        "m^-1", ("k", "d"), about="Gradients of the shape functions at rest, one for each node of a cell."
    ),
    "F": Linear("x", "gradients"),
    "volume": Datum("m^3", about="Volume at rest of a cell, or of a quadrature point."),
    "youngs_modulus": Parameter(
        "Pa", bounds=(0.0, inf), open=True, reason="a solid resists", about="Young's modulus of the solid."
    ),
    "poissons_ratio": Parameter(
        "1",
        scale=0.3,
        bounds=(-1.0, 0.5),
        open=True,
        reason="0.5 is incompressible, its lambda infinite: take 0.49 at most, and know that cells lock",
        about="Poisson's ratio, between -1 and 0.5.",
    ),
}
"""Of a simplex, or of any cell at one of its quadrature points: gradients of the shape functions, volume."""


@ti.func
def lame(youngs_modulus, poissons_ratio):
    """Lame's constants mu and lambda."""
    mu = youngs_modulus / (2.0 * (1.0 + poissons_ratio))
    return mu, 2.0 * mu * poissons_ratio / (1.0 - 2.0 * poissons_ratio)


@ti.func
def green(across, F, mu, lam):
    """St Venant and Kirchhoff's psi; of F in the plane with F_33 = across."""
    E = 0.5 * (F.transpose() @ F - ti.Matrix.identity(ti.f64, F.n))
    E33 = 0.5 * (3.0 - F.n) * (across * across - 1.0)
    trace = E.trace() + E33
    return mu * ((E * E).sum() + E33 * E33) + 0.5 * lam * trace * trace


@ti.func
def logarithmic(across, F, mu, lam):
    """The neo-Hookean psi; of F in the plane with F_33 = across."""
    log_J = ti.log(F.determinant() * across)
    stretch = (F * F).sum() - F.n + (3.0 - F.n) * (across * across - 1.0)
    return 0.5 * mu * stretch - mu * log_J + 0.5 * lam * log_J * log_J


@local_energy("st_venant_kirchhoff", over="tuples", **SOLID)
def st_venant_kirchhoff(F, volume, youngs_modulus, poissons_ratio):
    """St Venant-Kirchhoff solid: linear in Green's strain; soft in compression, for small strains."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    return volume * green(1.0, F, mu, lam)


@local_energy("neo_hookean", over="tuples", **SOLID)
def neo_hookean(F, volume, youngs_modulus, poissons_ratio):
    """Compressible neo-Hookean solid with logarithms: resists collapse, for large strains."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    return volume * logarithmic(1.0, F, mu, lam)
