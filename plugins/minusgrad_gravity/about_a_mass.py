"""Energies of a body about a central mass, over listed pairs (central body, body): x_0, m_0 and x_1, m_1.

    oblateness          U = G m_0 m_1 J_2 R^2 (3 s^2 - 1) / (2 r^3),  s = n.(x_1 - x_0) / r
    post_newtonian      U = -3 (G m_0)^2 m_1 / (c^2 r^2)
    radiation_pressure  U = +b G m_0 m_1 / r

r = |x_1 - x_0| [m]; J_2 the second zonal harmonic of a central body of equatorial radius R [m] and axis n
(Murray & Dermott 1999, Solar System Dynamics, 4.5); c = 299792458 m/s; b the ratio of radiation pressure to
gravity of a grain (Burns, Lamy & Soter 1979, Icarus 40, 1). The pairs are ordered, so that the functions need
no symmetry; the reaction on the central body is derived with the rest.

post_newtonian turns the pericentre as general relativity does at first order, by 6 pi G m_0 / (c^2 a (1 -
e^2)) an orbit, but does not change the mean motion as it does (Nobili & Roxburgh 1986, in Relativity in
Celestial Mechanics and Astrometry, 105): phases along an orbit are not those of relativity.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Node, Parameter, local_energy, ti

from .constants import G_UNIT, NEWTONS_CONSTANT

SYMMETRIES = ("translation", "rotation")
G = Parameter(G_UNIT, default=NEWTONS_CONSTANT, bounds=(0.0, inf), about="Newton's constant.")
PAIR: dict[str, Any] = {"x": Node("m", ("d",)), "m": Node("kg")}


@local_energy(
    "oblateness",
    over=2,
    symmetries=("translation",),
    **PAIR,
    G=G,
    J2=Parameter("1", about="Second zonal harmonic of the central body."),
    radius=Parameter("m", bounds=(0.0, inf), about="Equatorial radius of the central body."),
    axis=Parameter("1", ("d",), about="Axis of the central body, of any length."),
)
def oblateness(x, m, G, J2, radius, axis):
    """The second zonal harmonic of an oblate central body, whose axis may have any length."""
    r = x[1] - x[0]
    r2 = r.dot(r)
    s = axis.dot(r)
    s2 = s * s / (r2 * axis.dot(axis))
    return 0.5 * G * m[0] * m[1] * J2 * radius * radius * (3.0 * s2 - 1.0) / (r2 * ti.sqrt(r2))


@local_energy(
    "post_newtonian",
    over=2,
    symmetries=SYMMETRIES,
    **PAIR,
    G=G,
    c=Parameter("m s^-1", default="299792458 m s^-1", bounds=(0.0, inf), open=True, about="Speed of light."),
)
def post_newtonian(x, m, G, c):
    """The advance of the pericentre in general relativity at first order, not its mean motion."""
    r = x[1] - x[0]
    speed = G * m[0] / c
    return -3.0 * speed * speed * m[1] / r.dot(r)


@local_energy(
    "radiation_pressure",
    over=2,
    symmetries=SYMMETRIES,
    **PAIR,
    G=G,
    beta=Parameter("1", about="Ratio of radiation pressure to gravity."),
)
def radiation_pressure(x, m, G, beta):
    """The radial part of the light's force on a grain, in parts of gravity."""
    return beta * G * m[0] * m[1] / (x[1] - x[0]).norm()
