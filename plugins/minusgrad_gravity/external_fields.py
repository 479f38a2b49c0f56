"""Given fields of gravity that act on every body and do not move: U = m Phi(x - centre).

    plummer_field      Phi = -G M / sqrt(r^2 + a^2)                     Plummer 1911, MNRAS 71, 460
    hernquist_field    Phi = -G M / (r + a)                             Hernquist 1990, ApJ 356, 359
    nfw_field          Phi = -G M ln(1 + r / a) / r,  M = 4 pi rho a^3  Navarro & al. 1997, ApJ 490, 493
    logarithmic_field  Phi = v^2 ln(1 + r^2 / a^2) / 2                  Binney & Tremaine 2008, eq. 2.71a
    disc_field         Phi = -G M / sqrt(R^2 + (a + sqrt(z^2 + b^2))^2) Miyamoto & Nagai 1975, PASJ 27, 533

r [m] is the distance from the centre, R that from the axis z of the disc; M `mass` [kg], a `scale` and b
`height` [m], v `speed` [m/s], the circular speed far outside. M is the whole mass, of nfw_field, which has
none, that within 5.3 scales. In the centre itself, where hernquist_field and nfw_field have a cusp, their
force and its slope are 0: the force beside it has one size and every direction.

Decisions 0061.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, length, local_energy, log1p, log1p_ratio, ti

from .about_a_mass import G

X, M = Node("m", ("d",)), Node("kg")
CENTRE = Parameter("m", ("d",), about="Centre of the field.")
MASS = Parameter("kg", about="Mass of the source; of a halo of NFW that within 5.3 scales.")
SCALE = Parameter(
    "m",
    bounds=(0.0, inf),
    open=True,
    about="Length of the field's profile: scale radius, or scale height of a disc.",
)


@local_energy("plummer_field", over="nodes", x=X, m=M, G=G, mass=MASS, scale=SCALE, centre=CENTRE)
def plummer_field(x, m, G, mass, scale, centre):
    """The field of a Plummer sphere."""
    r = x[0] - centre
    return -G * mass * m[0] / ti.sqrt(r.dot(r) + scale * scale)


@local_energy("hernquist_field", over="nodes", x=X, m=M, G=G, mass=MASS, scale=SCALE, centre=CENTRE)
def hernquist_field(x, m, G, mass, scale, centre):
    """The field of a Hernquist sphere."""
    return -G * mass * m[0] / (length(x[0] - centre) + scale)


@local_energy("nfw_field", over="nodes", x=X, m=M, G=G, mass=MASS, scale=SCALE, centre=CENTRE)
def nfw_field(x, m, G, mass, scale, centre):
    """The field of a halo of Navarro, Frenk and White."""
    return -G * mass * m[0] / scale * log1p_ratio(length(x[0] - centre) / scale)


@local_energy(
    "logarithmic_field",
    over="nodes",
    x=X,
    m=M,
    speed=Parameter("m s^-1", about="Circular speed far outside."),
    scale=SCALE,
    centre=CENTRE,
)
def logarithmic_field(x, m, speed, scale, centre):
    """The field of a halo in which circular speeds are the same far outside its core."""
    r = x[0] - centre
    return 0.5 * m[0] * speed * speed * log1p(r.dot(r) / (scale * scale))


@local_energy(
    "disc_field",
    over="nodes",
    x=Node("m", (3,)),
    m=M,
    G=G,
    mass=MASS,
    scale=Parameter("m", bounds=(0.0, inf), about="Scale length a of the disc."),
    height=SCALE,
    centre=Parameter("m", (3,), about="Centre of the field."),
)
def disc_field(x, m, G, mass, scale, height, centre):
    """The field of a disc of Miyamoto and Nagai, whose axis is z."""
    r = x[0] - centre
    along = scale + ti.sqrt(r[2] * r[2] + height * height)
    return -G * mass * m[0] / ti.sqrt(r[0] * r[0] + r[1] * r[1] + along * along)
