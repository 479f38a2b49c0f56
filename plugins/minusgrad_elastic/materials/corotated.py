"""Corotated solids: Hooke's law in the frame of the nearest rotation R, F = R S.

    linear corotated   psi = mu |F - R|^2 + lambda/2 (tr S - 3)^2
    fixed corotated    psi = mu |F - R|^2 + lambda/2 (J - 1)^2,          J = det F

F (d, d) [1], psi [J/m^3]; R the rotation with det R = 1, |F - R|^2 = sum (s_i - 1)^2 of the principal
stretches s_i, mu and lambda Lame's constants. In the plane S_33 = 1 (plane strain). In plane stress S_33 = t
minimises psi, which is quadratic in t:

    linear corotated   lambda* = E nu / (1 - nu^2) in place of lambda
    fixed corotated    psi = mu |F - R|^2 + mu lambda (J - 1)^2 / (2 mu + lambda J^2),      F, J in the plane,
                       at t = (2 mu + lambda J) / (2 mu + lambda J^2)

Both are finite for inverted cells, and go on smoothly through flat ones, until two stretches s_i + s_j add
up to zero: a mirror image has no nearest rotation, and no force.

Stomakhin et al. 2012, Energetically consistent invertible elasticity, SCA (both, and why the first is weak
against collapse).
"""

from minusgrad.plugin import biot_squares, local_energy, stretch_trace, ti

from ..hyperelastic import SOLID, lame
from .roles import FLAT_STRAINS, PLANE_STRESS, plane_stress_lame


@ti.func
def stretching(F):
    """|F - R|^2 and tr S - d."""
    return biot_squares(F), stretch_trace(F) - F.n


@local_energy("linear_corotated", over="tuples", **SOLID)
def linear_corotated(F, volume, youngs_modulus, poissons_ratio):
    """Corotated linear solid: Hooke's law without its error for rotations; for large bends, small strains."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    square, grown = stretching(F)
    return volume * (mu * square + 0.5 * lam * grown * grown)


@local_energy("linear_corotated_plane_stress", over="tuples", **FLAT_STRAINS)
def linear_corotated_plane_stress(F, volume, youngs_modulus, poissons_ratio):
    """Corotated linear plate in plane stress, exact at all strains."""
    mu, lam = plane_stress_lame(youngs_modulus, poissons_ratio)
    square, grown = stretching(F)
    return volume * (mu * square + 0.5 * lam * grown * grown)


@local_energy("fixed_corotated", over="tuples", **SOLID)
def fixed_corotated(F, volume, youngs_modulus, poissons_ratio):
    """Fixed corotated solid: as the corotated one, and resists changes of volume; for animation."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    grown = F.determinant() - 1.0
    return volume * (mu * biot_squares(F) + 0.5 * lam * grown * grown)


@local_energy("fixed_corotated_plane_stress", over="tuples", **PLANE_STRESS)
def fixed_corotated_plane_stress(F, volume, youngs_modulus, poissons_ratio):
    """Fixed corotated plate in plane stress: its stretch across is eliminated exactly."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    J = F.determinant()
    bulk = mu * lam * (J - 1.0) * (J - 1.0) / (2.0 * mu + lam * J * J)
    return volume * (mu * biot_squares(F) + bulk)
