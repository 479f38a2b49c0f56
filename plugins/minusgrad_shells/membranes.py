"""Membranes: the stretching of triangles in space, of materials in plane stress.

    U(x) = sum over triangles of A t psi(C),        C = F^T F,        F (3, 2) = sum_a x_a (x) grad N_a

    St Venant-Kirchhoff    psi = mu E:E + lambda*/2 (tr E)^2,       E = (C - I) / 2
    neo-Hookean            psi = min over s > 0 of mu/2 (tr C + s^2 - 3) - mu ln(J s) + lambda/2 (ln(J s))^2

x (n, 3) [m], A [m^2] the area at rest, t [m] the thickness, J = sqrt(det C) the ratio of areas, s [1] the
stretch across, which is eliminated: the membrane is free across, and becomes thinner where it is stretched.
Young's modulus E [Pa] and Poisson's ratio nu give Lame's mu and lambda, and lambda* = E nu / (1 - nu^2) of
plane stress. The thickness is a parameter, by which U has derivatives.

A triangle that is pressed in its plane resists as it does when it is pulled, up to where cells of the mesh
buckle: wrinkles narrower than a cell are not resolved, and those of a fine mesh depend on the bending.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Linear, Node, Parameter, least_value, local_energy, ti
from minusgrad_elastic.hyperelastic import lame
from minusgrad_elastic.materials.roles import plane_stress_lame

THICKNESS = Parameter(
    "m", bounds=(0.0, inf), open=True, reason="a sheet has two sides", about="Thickness of the sheet at rest."
)
YOUNGS_MODULUS = Parameter(
    "Pa", bounds=(0.0, inf), open=True, reason="a sheet resists", about="Young's modulus of the sheet."
)
POISSONS_RATIO = Parameter(
    "1",
    scale=0.3,
    bounds=(-1.0, 0.5),
    open=True,
    reason="the bulk modulus is positive and finite",
    about="Poisson's ratio, between -1 and 0.5.",
)
TRIANGLE: dict[str, Any] = {
    "symmetries": ("translation", "rotation"),
    "images": "first",
    "x": Node("m", (3,)),
    "gradients": Datum("m^-1", ("k", 2), about="Gradients of the shape functions in the triangle at rest."),
    "F": Linear("x", "gradients"),
    "area": Datum("m^2", about="Area at rest."),
}
"""Of any membrane."""
MEMBRANE: dict[str, Any] = TRIANGLE | {
    "youngs_modulus": YOUNGS_MODULUS,
    "poissons_ratio": POISSONS_RATIO,
    "thickness": THICKNESS,
}


@local_energy("membrane_st_venant_kirchhoff", over="tuples", **MEMBRANE)
def membrane_st_venant_kirchhoff(F, area, youngs_modulus, poissons_ratio, thickness):
    """Membrane in plane stress, linear in Green's strain, with a thickness: for small strains."""
    mu, lam = plane_stress_lame(youngs_modulus, poissons_ratio)
    E = 0.5 * (F.transpose() @ F - ti.Matrix.identity(ti.f64, 2))
    return area * thickness * (mu * (E * E).sum() + 0.5 * lam * E.trace() * E.trace())


@ti.func
def free_across(across, stretches, log_areas, mu, lam):
    """The logarithmic neo-Hookean psi of tr C in the plane, ln J there, and the stretch across."""
    log_J = log_areas + ti.log(across)
    return 0.5 * mu * (stretches + across * across - 3.0) - mu * log_J + 0.5 * lam * log_J * log_J


@local_energy("membrane_neo_hookean", over="tuples", **MEMBRANE)
def membrane_neo_hookean(F, area, youngs_modulus, poissons_ratio, thickness):
    """Compressible neo-Hookean membrane in plane stress, free across: for large strains."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    C = F.transpose() @ F
    log_areas = 0.5 * ti.log(C.determinant())
    start = ti.exp(-lam / (lam + 2.0 * mu) * log_areas)
    return area * thickness * least_value(free_across, start, C.trace(), log_areas, mu, lam)
