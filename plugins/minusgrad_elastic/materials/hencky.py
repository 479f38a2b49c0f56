"""Hencky's solid: Hooke's law between Kirchhoff stress and logarithmic strain.

    psi = mu H : H + lambda/2 (tr H)^2,          H = ln S,  F = R S

F (d, d) [1], psi [J/m^3]; H : H = sum (ln s_i)^2 of the principal stretches s_i, tr H = ln det F; mu and
lambda are Lame's constants. The Kirchhoff stress J sigma is 2 mu H + lambda tr H I in the axes of stretch.
In the plane H_33 = 0 (plane strain); in plane stress tau_33 = 0 is linear in H_33, so that lambda* = E nu /
(1 - nu^2) in place of lambda is exact for all strains. Tension and compression by one factor have equal
energies; beyond a stretch of e = 2.7 the force of a pulled bar falls.

Hencky 1928, Z. Techn. Phys. 9, 215; Anand 1979, J. Appl. Mech. 46, 78 (up to stretches of 0.7 and 1.3 the
same moduli as for small strains describe metals and polymers).
"""

from minusgrad.plugin import local_energy, log_stretch_squares, ti

from ..hyperelastic import SOLID, lame
from .roles import FLAT_STRAINS, plane_stress_lame


@ti.func
def logarithmic(F, mu, lam):
    """Hooke's energy density of Hencky's strain."""
    trace = ti.log(F.determinant())
    return mu * log_stretch_squares(F) + 0.5 * lam * trace * trace


@local_energy("hencky", over="tuples", **SOLID)
def hencky(F, volume, youngs_modulus, poissons_ratio):
    """Hencky's solid (Hooke's law in logarithmic strain): for metals and polymers at moderate strains."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    return volume * logarithmic(F, mu, lam)


@local_energy("hencky_plane_stress", over="tuples", **FLAT_STRAINS)
def hencky_plane_stress(F, volume, youngs_modulus, poissons_ratio):
    """Hencky's solid as a thin plate in plane stress, exact at all strains."""
    mu, lam = plane_stress_lame(youngs_modulus, poissons_ratio)
    return volume * logarithmic(F, mu, lam)
