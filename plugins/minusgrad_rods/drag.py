"""Drag of a viscous fluid on slender rods, by resistive force theory: dissipations of edges and frames.

    along and across    R = sum over edges of 1/2 integral of (z_1 (u . t)^2 + z_2 |u - (u . t) t|^2) ds
    about the rod       R = sum over frames of 1/2 (4 pi mu a^2) w_3^2 l

    z_1 = 2 pi mu / (ln 2s - 1/2),   z_2 = 4 pi mu / (ln 2s + 1/2)          Pa s, per length

x, v (n, 3) of nodes, u = v less the velocity of the fluid, between nodes linear; t the direction of an edge;
mu [Pa s] viscosity, l [m] length at rest, a [m] radius, w_3 [rad/s] the turning about the rod. s [1] is the
slenderness: the wavelength of a wave along the rod over its radius (Gray & Hancock 1955, J. Exp. Biol. 32,
802), of a straight rod half of its length over the radius, which is the drag of a slender ellipsoid (Cox
1970, J. Fluid Mech. 44, 791). With s = 0.09 x the wavelength over the radius z_2 is Lighthill's (1976, SIAM
Review 18, 161). z_2 / z_1 is 2 in the limit. Edges do not feel the flow that others make.

Decisions 0197.
"""

from math import inf, pi
from typing import Any

from minusgrad.plugin import Node, Parameter, local_energy, ti

from .obstacles import LENGTH, THICK, V, X
from .rotations import conjugate_quaternion, quaternion_product

VISCOSITY: Any = Parameter("Pa s", bounds=(0.0, inf), about="Viscosity of the fluid.")
FLOW: Any = Parameter(
    "m s^-1", default=0.0, bounds=(-inf, inf), about="Velocity of the fluid along this axis."
)


@local_energy(
    "rod_drag",
    over=2,
    unit="W",
    x=X,
    v=V,
    length=LENGTH,
    viscosity=VISCOSITY,
    slenderness=Parameter(
        "1",
        bounds=(2.0, inf),
        reason="resistive force theory is of slender rods",
        about="Wavelength, or half of a straight rod's length, over the radius.",
    ),
    flow_x=FLOW,
    flow_y=FLOW,
    flow_z=FLOW,
)
def rod_drag(x, v, length, viscosity, slenderness, flow_x, flow_y, flow_z):
    """Drag of a viscous fluid on rods, less along them than across."""
    scale = ti.log(2.0 * slenderness)
    along = 2.0 * pi * viscosity / (scale - 0.5)
    across = 4.0 * pi * viscosity / (scale + 0.5)
    flow = ti.Vector([flow_x, flow_y, flow_z])
    t = (x[1] - x[0]).normalized()
    a, b = v[0] - flow, v[1] - flow
    whole = (a.dot(a) + a.dot(b) + b.dot(b)) / 3.0
    p, q = a.dot(t), b.dot(t)
    part = (p * p + p * q + q * q) / 3.0
    return 0.5 * length * (across * (whole - part) + along * part)


@local_energy(
    "rod_spin_drag",
    over=1,
    unit="W",
    q=Node("1", (4,), scale=0.1),
    q_rate=Node("s^-1", (4,)),
    length=LENGTH,
    radius=THICK,
    viscosity=VISCOSITY,
)
def rod_spin_drag(q, q_rate, length, radius, viscosity):
    """Drag of a viscous fluid on rods that turn about themselves."""
    turning = 2.0 * quaternion_product(conjugate_quaternion(q[0]), q_rate[0])[3] / q[0].norm_sqr()
    return 2.0 * pi * viscosity * radius * radius * length * turning * turning


DRAGS = [rod_drag, rod_spin_drag]
