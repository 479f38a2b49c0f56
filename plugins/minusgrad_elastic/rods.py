"""Rods of fixed length, and nodes that a drive turns about a centre: constraints of mechanisms.

    rod      g = |x_0 - x_1|^2 - L^2 = 0
    crank    g = (x - c) . (-sin theta, cos theta) = 0,      theta = phi + w t

x (n, d) [m], L [m] the length. A crank has x in the plane (of the first two axes), c (2,) [m] the centre, w
[rad/s] the angular velocity, phi [rad] the angle at time 0: the node stays on a line through c that turns.
With a rod to the centre, or on a held circle, its place is prescribed.
"""

from math import inf

from minusgrad.plugin import Datum, Node, Parameter, Time, constraint, ti


@constraint(
    "rod",
    over=2,
    symmetries=("translation", "rotation"),
    x=Node("m", ("d",)),
    length=Datum("m", differentiable=True, about="Length of the rod."),
)
def rod(x, length):
    """Rod of fixed length between two nodes; its multiplier is half of the force per length in it."""
    r = x[0] - x[1]
    return r.dot(r) - length * length


@constraint(
    "crank",
    over="nodes",
    x=Node("m", ("d",)),
    centre=Parameter("m", (2,), about="Centre of the crank, in the plane."),
    rate=Parameter("rad/s", about="Angular velocity."),
    phase=Parameter("rad", default=0.0, bounds=(-inf, inf), about="Angle at time 0."),
    t=Time(),
)
def crank(x, centre, rate, phase, t):
    """A node that stays on a line through a centre, which turns at a constant rate."""
    angle = phase + rate * t
    return (x[0][1] - centre[1]) * ti.cos(angle) - (x[0][0] - centre[0]) * ti.sin(angle)
