"""Linear elasticity: Hooke's law for small displacements and small rotations.

    psi = mu e : e + lambda/2 (tr e)^2,          e = (F + F^T) / 2 - I

F (d, d) [1], psi [J/m^3]; mu and lambda are Lame's constants. In three dimensions, in plane strain (e_33 =
0), and in plane stress, where sigma_33 = 0 gives e_33 = -lambda / (lambda + 2 mu) (e_11 + e_22) and with it

    lambda* = 2 mu lambda / (lambda + 2 mu) = E nu / (1 - nu^2)          in place of lambda

(Timoshenko & Goodier 1951, Theory of Elasticity, sections 6 and 10). A rotation by an angle w makes the
strain 1 - cos w: beyond some degrees take a corotated or hyperelastic solid.
"""

from minusgrad.plugin import local_energy, ti

from ..hyperelastic import SOLID, lame
from .roles import FLAT_STRAINS, plane_stress_lame


@ti.func
def hooke(F, mu, lam):
    """The energy density of a strain that is linear in F."""
    e = 0.5 * (F + F.transpose()) - ti.Matrix.identity(ti.f64, F.n)
    return mu * (e * e).sum() + 0.5 * lam * e.trace() * e.trace()


@local_energy("linear", over="tuples", **SOLID | {"symmetries": ("translation",)})
def linear(F, volume, youngs_modulus, poissons_ratio):
    """Linear elastic solid (Hooke's law), in space or in plane strain: for small strains and rotations."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    return volume * hooke(F, mu, lam)


@local_energy("linear_plane_stress", over="tuples", **FLAT_STRAINS | {"symmetries": ("translation",)})
def linear_plane_stress(F, volume, youngs_modulus, poissons_ratio):
    """Linear elastic plate in plane stress: thin, loaded in its plane; small strains and rotations."""
    mu, lam = plane_stress_lame(youngs_modulus, poissons_ratio)
    return volume * hooke(F, mu, lam)
