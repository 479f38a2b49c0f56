"""Contact with floors, walls, balls and cylinders: penalties with two continuous derivatives.

    U(x) = sum_i k/3 max(0, delta_i)^3           delta the depth of a node inside the obstacle

    floor    delta = h - x_d                      the last component is the height
    wall     delta = c - n . x / |n|              n points to the free side
    sphere   delta = (R^2 - |x - c|^2) / (2 R)    the depth, to first order; smooth at the centre
    cylinder the same with the distance |r| from its axis, r = (x - c) - n (n . (x - c)) / |n|^2

x (n, d) [m], k [N/m^2]: the force is k delta^2, of a sphere k delta^2 |x - c| / R. A cylinder has no ends; a
rod of radius a on it is a line of nodes on one of radius R + a. A cubic penalty is C2, so that leapfrog keeps
its order and Newton's method its speed (contrast k/2 delta^2, whose stiffness jumps at the surface).

Decisions 0193.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, Plane, Sphere, local_energy, ti

STIFFNESS = Parameter(
    "N m^-2", bounds=(0.0, inf), about="Stiffness of the obstacle: force per squared depth."
)
CENTRE = Parameter("m", (3,), about="A point on the axis of the cylinder.")
AXIS = Parameter("1", (3,), about="Direction of the axis of the cylinder; its length does not count.")


@ti.func
def pushed(depth, stiffness):
    """The penalty of a node at this depth."""
    inside = ti.max(0.0, depth)
    return stiffness * inside * inside * inside / 3.0


@ti.func
def across_axis(r, axis):
    """The part of a vector across an axis of any length."""
    return r - axis * (axis.dot(r) / axis.dot(axis))


def ground(height, d):
    """The plane of a floor, along the last axis."""
    up = [0.0] * (d - 1) + [1.0]
    return [Plane([height * one for one in up], up)]


def side(normal, offset):
    """The plane of a wall."""
    unit = normal / (normal @ normal) ** 0.5
    return [Plane(offset * unit, unit)]


@local_energy(
    "floor",
    over="nodes",
    looks=ground,
    x=Node("m", ("d",)),
    height=Parameter("m", default=0.0, about="Height of the floor, along the last axis."),
    stiffness=STIFFNESS,
)
def floor(x, height, stiffness):
    """Keeps nodes above a height, along the last axis."""
    return pushed(height - x[0][x[0].n - 1], stiffness)


@local_energy(
    "wall",
    over="nodes",
    looks=side,
    x=Node("m", ("d",)),
    normal=Parameter(
        "1", ("d",), about="Normal of the wall, towards the free side; its length does not count."
    ),
    offset=Parameter("m", default=0.0, about="Distance of the wall from the origin, along its normal."),
    stiffness=STIFFNESS,
)
def wall(x, normal, offset, stiffness):
    """Keeps nodes on the side of a plane that its normal points to; the plane lies off the origin."""
    return pushed(offset - normal.normalized().dot(x[0]), stiffness)


@local_energy(
    "sphere",
    over="nodes",
    looks=lambda centre, radius: [Sphere(centre, radius)],
    x=Node("m", ("d",)),
    centre=Parameter("m", ("d",), about="Centre of the ball."),
    radius=Parameter(
        "m", bounds=(0.0, inf), open=True, reason="a ball has a size", about="Radius of the ball."
    ),
    stiffness=STIFFNESS,
)
def sphere(x, centre, radius, stiffness):
    """Keeps nodes outside of a ball."""
    r = x[0] - centre
    return pushed((radius * radius - r.dot(r)) / (2.0 * radius), stiffness)


@local_energy(
    "cylinder",
    over="nodes",
    x=Node("m", (3,)),
    centre=CENTRE,
    axis=AXIS,
    radius=Parameter(
        "m", bounds=(0.0, inf), open=True, reason="a cylinder has a size", about="Radius of the cylinder."
    ),
    stiffness=STIFFNESS,
)
def cylinder(x, centre, axis, radius, stiffness):
    """Keeps nodes outside of a cylinder without ends."""
    r = across_axis(x[0] - centre, axis)
    return pushed((radius * radius - r.dot(r)) / (2.0 * radius), stiffness)
