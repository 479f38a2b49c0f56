"""Inputs of a controller: sines of time, and the positions and velocities of a body as numbers near 1.

    sines          s_k = sin(omega t + phi_k)                    s (n,) [1]
    centre         c_b = sum over masses i of f_i x_i            c (bodies, d) [m]
    offset         r_i = (x_i - c_b) / L                         r (n, d) [1]
    place          q_i = (x_i - o) / L                           q (n, d) [1]
    velocity       u_i = v_i / V                                 u (n, d) [1]
    goal_offset    g_b = (goal - c_b) / L                        g (bodies, d) [1]

t [s] the time, omega [rad/s] the angular frequency, phi [rad] a phase for each sine; x (n, d) [m] and
v (n, d) [m/s] the positions and velocities of masses, f [1] the fraction of each in the mass of its body;
goal and o (d,) [m] places; L [m] and V [m/s] the scales in which a layer reads lengths and velocities.

Sines of time that drive limbs are a central pattern generator: Ijspeert 2008, Neural Networks 21, 642.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter, Time, local_map, ti

LENGTH = Parameter("m", default=1.0, bounds=(0.0, inf), open=True, about="Length that counts as one.")
VECTORS: dict[str, Any] = {"shape": ("d",)}


@local_map(
    "sines",
    gives="wave",
    over=("wave",),
    omega=Parameter("rad/s", about="Angular frequency of the sines."),
    phase=Parameter("rad", default=0.0, about="Phase of each sine."),
    t=Time(),
)
def sines(omega, phase, t):
    """Sines of time, with a phase for each: a central pattern generator."""
    return ti.sin(omega * t + phase)


@local_map(
    "centre",
    gives="centre",
    unit="m",
    over=("body", "mass"),
    x=Node("m", ("d",), of="mass"),
    fraction=Datum(about="Fraction of each mass in the mass of its body."),
    **VECTORS,
)
def centre(x, fraction):
    """The centre of mass of a body, from the fraction of each mass in it."""
    return fraction * x[1]


@local_map(
    "offset",
    gives="offset",
    over=("mass", "body"),
    x=Node("m", ("d",), of="mass"),
    centre=Node("m", ("d",), of="body"),
    length=LENGTH,
    **VECTORS,
)
def offset(x, centre, length):
    """The positions of masses relative to the centre of their body, in units of a length."""
    return (x[0] - centre[1]) / length


@local_map(
    "place",
    gives="place",
    over="nodes",
    x=Node("m", ("d",)),
    origin=Parameter("m", ("d",), about="The place that positions are relative to."),
    length=LENGTH,
    **VECTORS,
)
def place(x, origin, length):
    """The positions of nodes relative to a fixed place, in units of a length."""
    return (x[0] - origin) / length


@local_map(
    "velocity",
    gives="velocity",
    over="nodes",
    v=Node("m/s", ("d",)),
    speed=Parameter("m/s", default=1.0, bounds=(0.0, inf), open=True, about="Speed that counts as one."),
    **VECTORS,
)
def velocity(v, speed):
    """The velocities of masses, in units of a speed."""
    return v[0] / speed


@local_map(
    "goal_offset",
    gives="goal_offset",
    over="nodes",
    centre=Node("m", ("d",)),
    goal=Parameter("m", ("d",), about="Place of the goal."),
    length=LENGTH,
    **VECTORS,
)
def goal_offset(centre, goal, length):
    """The way from the centre of a body to its goal, in units of a length."""
    return (goal - centre[0]) / length
