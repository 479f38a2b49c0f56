"""Friction of a body about a central mass, over listed pairs (central body, body): potentials R, F = -dR/dv.

    poynting_robertson   R = b G m_0 m_1 (|w|^2 + (w.e)^2) / (2 c r^2)
    gas_drag             R = k |w - u|^3 / 3

r e = x_1 - x_0, w = v_1 - v_0; b the ratio of radiation pressure to gravity (Burns, Lamy & Soter 1979,
Icarus 40, 1); k = C_D A rho / 2 [kg/m] of a sphere of cross-section A in gas of density rho that moves about
the axis z at u = (1 - lag) sqrt(G m_0 / s), s the distance from the axis (Adachi, Hayashi & Nakazawa 1976,
Prog. Theor. Phys. 56, 1756).
"""

from math import inf
from typing import Any

from minusgrad.plugin import Node, Parameter, local_energy, ti

from .about_a_mass import G

MOVING: dict[str, Any] = {
    "x": Node("m", ("d",)),
    "v": Node("m s^-1", ("d",)),
    "m": Node("kg", bounds=(0.0, inf)),
}


@local_energy(
    "poynting_robertson",
    over=2,
    unit="W",
    symmetries=("translation", "rotation"),
    **MOVING,
    G=G,
    c=Parameter("m s^-1", default="299792458 m s^-1", bounds=(0.0, inf), open=True, about="Speed of light."),
    beta=Parameter("1", bounds=(0.0, inf), about="Ratio of radiation pressure to gravity."),
)
def poynting_robertson(x, v, m, G, c, beta):
    """The drag of starlight on a grain: it spirals inwards."""
    r, w = x[1] - x[0], v[1] - v[0]
    r2 = r.dot(r)
    radial = r.dot(w)
    return 0.5 * beta * G * m[0] * m[1] * (w.dot(w) + radial * radial / r2) / (c * r2)


@local_energy(
    "gas_drag",
    over=2,
    unit="W",
    symmetries=("translation",),
    **MOVING,
    G=G,
    k=Parameter(
        "kg m^-1",
        bounds=(0.0, inf),
        about="Drag coefficient C_D A rho / 2 of a sphere of cross-section A in gas of density rho.",
    ),
    lag=Parameter(
        "1", default=0.0, about="How much slower than a circular orbit the gas turns, relative to that speed."
    ),
)
def gas_drag(x, v, m, G, k, lag):
    """The quadratic drag of gas that turns about the central mass, in the plane of the first two axes."""
    r, w = x[1] - x[0], v[1] - v[0]
    s2 = r[0] * r[0] + r[1] * r[1]
    u = (1.0 - lag) * ti.sqrt(G * m[0] / ti.sqrt(s2)) / ti.sqrt(s2)
    a, b = w[0] + u * r[1], w[1] - u * r[0]
    rest = w.dot(w) - w[0] * w[0] - w[1] * w[1]
    return k * (a * a + b * b + rest) ** 1.5 / 3.0
