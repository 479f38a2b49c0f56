"""What takes energy out: dissipations R(v, x), whose -dR/dv is the friction force.

    mass damping      R = sum_i alpha/2 m_i |v_i|^2        a force -alpha m v: motion fades as e^(-alpha t)
    strain rate       R = sum over cells of V (eta D:D + zeta/2 (tr D)^2),     D = (F^T F' + F'^T F) / 2

v (n, d) [m/s], m (n,) [kg], alpha [1/s]; D the rate of Green's strain E, F' = sum_a v_a (x) grad N_a, eta and
zeta [Pa s] the shear and bulk viscosities of a Kelvin-Voigt solid. Rigid motion has D = 0 and is not damped.
R is half the power that is lost.
"""

from math import inf

from minusgrad import Datum, Linear, Node, Parameter, local_energy


@local_energy(
    "mass_damping",
    over="nodes",
    v=Node("m s^-1", ("d",)),
    m=Node("kg"),
    rate=Parameter("s^-1", bounds=(0.0, inf)),
)
def mass_damping(v, m, rate):
    """Resists every motion in proportion to mass: velocities fade at this rate."""
    return 0.5 * rate * m[0] * v[0].dot(v[0])


@local_energy(
    "strain_rate_damping",
    over="tuples",
    x=Node("m", ("d",)),
    v=Node("m s^-1", ("d",)),
    gradients=Datum("m^-1", ("k", "d")),
    F=Linear("x", "gradients"),
    dF=Linear("v", "gradients"),
    volume=Datum("m^3"),
    viscosity=Parameter("Pa s", bounds=(0.0, inf)),
    bulk_viscosity=Parameter("Pa s", default=0.0, bounds=(0.0, inf)),
)
def strain_rate_damping(F, dF, volume, viscosity, bulk_viscosity):
    """Kelvin-Voigt damping: resists deformation, not rigid motion."""
    C = F.transpose() @ dF
    D = 0.5 * (C + C.transpose())
    return volume * (viscosity * (D * D).sum() + 0.5 * bulk_viscosity * D.trace() * D.trace())
