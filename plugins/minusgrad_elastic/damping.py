"""Damping and friction: dissipations R(v, x), whose -dR/dv is the friction force.

    mass damping      R = sum_i alpha/2 m_i |v_i|^2        a force -alpha m v: motion fades as e^(-alpha t)
    strain rate       R = sum over cells of V (eta D:D + zeta/2 (tr D)^2),     D = (F^T F' + F'^T F) / 2
    ground friction   R = sum_i mu N_i sqrt(|u_i|^2 + c^2),                    N = k max(0, h - x_d)^2
    on a cylinder     the same with N = k max(0, delta)^2 |r| / R,             u = v - r (r . v) / |r|^2

v (n, d) [m/s], m (n,) [kg], alpha [1/s]; D the rate of Green's strain E, F' = sum_a v_a (x) grad N_a, eta and
zeta [Pa s] the shear and bulk viscosities of a Kelvin-Voigt solid. Rigid motion has D = 0 and is not damped.
For these two, R is half of the dissipated power.

On the ground: u the velocity along it, without the last component; N [N] the force of a `floor` of the same
height h [m] and stiffness k [N/m^2], taken where the node is (lagged, as in Li et al. 2020, Incremental
Potential Contact, ACM Trans. Graph. 39, 49); mu [1] Coulomb's coefficient. The friction mu N u / sqrt(u^2 +
c^2) is Coulomb's above the speed c [m/s] and viscous below it, so that a body at rest on a slope creeps (Oden
& Martins 1985, Comput. Methods Appl. Mech. Eng. 52, 527). It needs time steps below 4 m c / (mu N). On a
cylinder delta and r (3,) are those of the contact `cylinder` (`contacts`), and u is the whole velocity in its
surface.

Decisions 0193.
"""

from math import inf

from minusgrad.plugin import Datum, Linear, Node, Parameter, local_energy, ti

from .contacts import AXIS, CENTRE, across_axis

COEFFICIENT = Parameter("1", bounds=(0.0, inf), about="Coulomb's coefficient of friction.")
CREEP = Parameter(
    "m s^-1",
    bounds=(0.0, inf),
    open=True,
    reason="at rest friction has no direction",
    about="Speed below which friction is viscous, so that rest is smooth.",
)


@local_energy(
    "mass_damping",
    over="nodes",
    unit="W",
    v=Node("m s^-1", ("d",)),
    m=Node("kg"),
    rate=Parameter("s^-1", bounds=(0.0, inf), about="Rate alpha at which motion fades, as exp(-alpha t)."),
)
def mass_damping(v, m, rate):
    """Resists every motion in proportion to mass: velocities fade at this rate."""
    return 0.5 * rate * m[0] * v[0].dot(v[0])


@local_energy(
    "strain_rate_damping",
    over="tuples",
    unit="W",
    symmetries=("translation", "rotation"),
    images="first",
    x=Node("m", ("d",)),
    v=Node("m s^-1", ("d",)),
    gradients=Datum(
        "m^-1", ("k", "d"), about="Gradients of the shape functions at rest, one for each node of a cell."
    ),
    F=Linear("x", "gradients"),
    dF=Linear("v", "gradients"),
    volume=Datum("m^3", about="Volume at rest of a cell, or of a quadrature point."),
    viscosity=Parameter("Pa s", bounds=(0.0, inf), about="Shear viscosity of the solid."),
    bulk_viscosity=Parameter("Pa s", default=0.0, bounds=(0.0, inf), about="Bulk viscosity of the solid."),
)
def strain_rate_damping(F, dF, volume, viscosity, bulk_viscosity):
    """Kelvin-Voigt damping: resists deformation, not rigid motion."""
    C = F.transpose() @ dF
    D = 0.5 * (C + C.transpose())
    return volume * (viscosity * (D * D).sum() + 0.5 * bulk_viscosity * D.trace() * D.trace())


@local_energy(
    "ground_friction",
    over="nodes",
    unit="W",
    x=Node("m", ("d",)),
    v=Node("m s^-1", ("d",)),
    coefficient=COEFFICIENT,
    creep=CREEP,
    height=Parameter("m", default=0.0, about="Height of the floor, along the last axis."),
    stiffness=Parameter(
        "N m^-2",
        bounds=(0.0, inf),
        about='Stiffness of the floor, as that of the energy "floor": force per squared depth.',
    ),
)
def ground_friction(x, v, coefficient, creep, height, stiffness):
    """Coulomb friction of nodes on a floor, smooth at rest: below the speed `creep` it is viscous."""
    depth = ti.max(0.0, height - x[0][x[0].n - 1])
    speed_sqr = creep * creep
    for a in ti.static(range(x[0].n - 1)):
        speed_sqr += v[0][a] * v[0][a]
    return coefficient * stiffness * depth * depth * ti.sqrt(speed_sqr)


@local_energy(
    "cylinder_friction",
    over="nodes",
    unit="W",
    x=Node("m", (3,)),
    v=Node("m s^-1", (3,)),
    coefficient=COEFFICIENT,
    creep=CREEP,
    centre=CENTRE,
    axis=AXIS,
    radius=Parameter(
        "m", bounds=(0.0, inf), open=True, reason="a cylinder has a size", about="Radius of the cylinder."
    ),
    stiffness=Parameter(
        "N m^-2",
        bounds=(0.0, inf),
        about='Stiffness of the cylinder, as that of the energy "cylinder": force per squared depth.',
    ),
)
def cylinder_friction(x, v, coefficient, creep, centre, axis, radius, stiffness):
    """Coulomb friction of nodes on a cylinder, smooth at rest: below the speed `creep` it is viscous."""
    r = across_axis(x[0] - centre, axis)
    depth = ti.max(0.0, (radius * radius - r.dot(r)) / (2.0 * radius))
    into = r.dot(v[0])
    speed = ti.sqrt(r.dot(r) * (v[0].dot(v[0]) + creep * creep) - into * into)
    return coefficient * stiffness * depth * depth / radius * speed
