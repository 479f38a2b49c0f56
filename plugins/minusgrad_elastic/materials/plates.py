"""Plates in plane stress of nonlinear solids: the stretch across makes the energy of the solid least.

    psi*(F) = min over t > 0 of psi(F_3),          F_3 = [F 0; 0 t],          so that P_33 = d psi / dt = 0

F (2, 2) [1] in the plane, t [1] the stretch across, psi [J/m^3] the density of the solid in space. t is an
unknown of each quadrature point that is eliminated (`minusgrad.least_value`): stresses, tangents and
derivatives by moduli are those of a free plate in space. `corotated`, `hencky` and `linear` beside this
module have t in closed form.

    neo-Hookean, stable neo-Hookean, Mooney-Rivlin, Ogden     t for any F with det F > 0
    St Venant-Kirchhoff     t^2 = 1 - lambda / (lambda + 2 mu) tr(F^T F - I): none beyond a stretch of 1.5 in
                            two directions for nu = 0.3, since this solid collapses in compression

t is sought within a factor of 1,000 of a start: (det F)^(-lambda / (lambda + 2 mu)), exact for Hencky's
solid, with the moduli at rest; of St Venant and Kirchhoff's at t itself. It is found for all stretches of 1/4
to 4. A material of several blocks has one t in each: a laminate. Rubber of several Ogden terms in plane
stress is taken as incompressible (`rubber`).

Decisions 0327.
"""

from typing import Any

from minusgrad.plugin import least_value, local_energy, ti

from ..hyperelastic import green, lame, logarithmic
from .roles import PLANE_STRESS, RUBBER, RUBBER_SHEET
from .rubber import MOONEY, OGDEN, mooney, powers, stable

RUBBER_PLATE: dict[str, Any] = RUBBER_SHEET | {"bulk_modulus": RUBBER["bulk_modulus"]}
"""Of a compressible plate of rubber."""


@ti.func
def contracted_stretch(F, mu, lam):
    """The stretch across of Hencky's solid."""
    return ti.exp(-lam / (lam + 2.0 * mu) * ti.log(F.determinant()))


@local_energy("neo_hookean_plane_stress", over="tuples", **PLANE_STRESS)
def neo_hookean_plane_stress(F, volume, youngs_modulus, poissons_ratio):
    """Compressible neo-Hookean plate in plane stress: the logarithmic solid, free across."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    return volume * least_value(logarithmic, contracted_stretch(F, mu, lam), F, mu, lam)


@local_energy("stable_neo_hookean_plane_stress", over="tuples", **PLANE_STRESS)
def stable_neo_hookean_plane_stress(F, volume, youngs_modulus, poissons_ratio):
    """Stable neo-Hookean plate in plane stress: as the solid in space, for cells that are not inverted."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    return volume * least_value(stable, contracted_stretch(F, mu, lam), F, mu, lam)


@local_energy("st_venant_kirchhoff_plane_stress", over="tuples", **PLANE_STRESS)
def st_venant_kirchhoff_plane_stress(F, volume, youngs_modulus, poissons_ratio):
    """St Venant-Kirchhoff plate in plane stress: for small strains; none where it would collapse across."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    grown = (F * F).sum() - 2.0
    start = ti.sqrt(ti.max(1.0 - lam / (lam + 2.0 * mu) * grown, 1e-6))
    return volume * least_value(green, start, F, mu, lam)


@local_energy("compressible_mooney_rivlin_plane_stress", over="tuples", **RUBBER_PLATE, **MOONEY)
def compressible_mooney_rivlin_plane_stress(F, volume, c10, c01, bulk_modulus):
    """Compressible Mooney-Rivlin plate in plane stress: the solid in space with its bulk modulus."""
    mu = 2.0 * (c10 + c01)
    start = contracted_stretch(F, mu, bulk_modulus - 2.0 / 3.0 * mu)
    return volume * least_value(mooney, start, F, c10, c01, bulk_modulus)


@local_energy("compressible_ogden_plane_stress", over="tuples", **RUBBER_PLATE, **OGDEN)
def compressible_ogden_plane_stress(F, volume, shear_modulus, exponent, bulk_modulus):
    """Compressible Ogden plate of one term in plane stress, with its bulk modulus."""
    mu = 0.5 * shear_modulus * exponent
    start = contracted_stretch(F, mu, bulk_modulus - 2.0 / 3.0 * mu)
    return volume * least_value(powers, start, F, shear_modulus, exponent, bulk_modulus)
