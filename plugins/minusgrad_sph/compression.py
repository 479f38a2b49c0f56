"""The internal energy of a weakly compressible fluid (Tait's equation of state), which resists no expansion.

    U = sum_i m_i e(rho_i),     e = c^2/7 k ((s^6 + s^5 + s^4 + s^3 + s^2 + s) / 6 - 1) / s,   s = 1 + k
    k = max(0, rho / rho_0 - 1)

so that de/drho = p / rho^2 with p = rho_0 c^2 / 7 ((rho / rho_0)^7 - 1), and the force -dU/dx is the
pressure force -sum_j m_i m_j (p_i / rho_i^2 + p_j / rho_j^2) grad W. m (n,) [kg], rho (n,) [kg m^-3] of
`density`, rho_0 the density at rest, c [m/s] the speed of sound at rest. Ten times the largest speed of the
flow keeps density within about 1 % (Monaghan 1994, J. Comput. Phys. 110, 399). e is written as a product,
because its usual form loses half of the digits near rho_0.

Below rho_0 the energy is 0: at a free surface the sum over kernels falls short, and Tait's pressure would
be a tension there. At rho_0 pressure is continuous, but its slope jumps from 0 to c^2: there a Hessian is
the mean of both sides. Variational SPH: Springel & Hernquist 2002, MNRAS 333, 649; Price 2012, J. Comput.
Phys. 231, 759.

Decisions 0332.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, ti


@local_energy(
    "tait",
    over="nodes",
    rho=Node("kg m^-3", bounds=(0.0, inf)),
    m=Node("kg"),
    rest_density=Parameter(
        "kg m^-3", bounds=(0.0, inf), open=True, reason="a fluid has a density", about="Density at rest."
    ),
    sound_speed=Parameter(
        "m s^-1",
        bounds=(0.0, inf),
        about="Speed of sound at rest; ten times the largest speed keeps the density within 1 %.",
    ),
)
def tait(rho, m, rest_density, sound_speed):
    """Resists compression beyond the density at rest, as water does; the surface is free."""
    k = ti.max(0.0, rho[0] / rest_density - 1.0)
    s = 1.0 + k
    mean = s * (1.0 + s * (1.0 + s * (1.0 + s * (1.0 + s * (1.0 + s))))) / 6.0
    return m[0] * sound_speed * sound_speed / 7.0 * k * (mean - 1.0) / s
