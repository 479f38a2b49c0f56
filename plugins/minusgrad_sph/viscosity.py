"""Artificial viscosity between particles: Monaghan's, as a dissipation that is quadratic in velocities.

    R = sum_{i<j} m_i m_j alpha h c / (2 rho_0) (v_ij . r_ij)^2 / (|r_ij|^2 + h^2 / 100) F(|r_ij|)

x, v (n, d), r_ij = x_i - x_j, v_ij = v_i - v_j, m (n,) [kg], F of `kernels`, h [m] the smoothing length, c
[m/s] the speed of sound, rho_0 [kg m^-3] the density at rest, alpha [1]. -dR/dv is the force along r_ij of
Monaghan 1992, Annu. Rev. Astron. Astrophys. 30, 543, with rho_0 in the place of the pair's mean; it acts on
pairs that part as well as on those that approach, so that it is a viscosity nu = alpha h c / 8 in the plane
and / 10 in space (Monaghan 2005, Rep. Prog. Phys. 68, 1703). Momentum and angular momentum are kept.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy

from .density import LENGTH, MASS, X
from .kernels import scale, slope


@local_energy(
    "artificial_viscosity",
    over="pairs",
    unit="W",
    symmetries=("translation", "rotation", "permutation"),
    x=X,
    v=Node("m s^-1", ("d",)),
    m=MASS,
    alpha=Parameter(
        "1", bounds=(0.0, inf), about="Strength: a viscosity of alpha h c / 8 in the plane, / 10 in space."
    ),
    h=LENGTH,
    sound_speed=Parameter("m s^-1", bounds=(0.0, inf), about="Speed of sound at rest."),
    rest_density=Parameter(
        "kg m^-3", bounds=(0.0, inf), open=True, reason="a fluid has a density", about="Density at rest."
    ),
)
def artificial_viscosity(x, v, m, alpha, h, sound_speed, rest_density):
    """Resists the approach and the parting of neighbouring particles."""
    r = x[0] - x[1]
    closing = (v[0] - v[1]).dot(r)
    nearness = scale(r, h) * slope(r.norm() / h) / (h * h)
    strength = 0.5 * m[0] * m[1] * alpha * h * sound_speed / rest_density
    return strength * closing * closing / (r.dot(r) + 0.01 * h * h) * nearness
