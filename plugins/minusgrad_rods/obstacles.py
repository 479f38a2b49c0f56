"""Contact and friction of rods with planes, balls and cylinders: penalties along the edges, of their surface.

    U = sum over edges of l sum_p w_p k/3 max(0, delta_p)^3           delta the depth of the rod's surface
    R = sum over edges of l sum_p w_p mu k max(0, delta_p)^2 sqrt(|u_p|^2 + c^2)                  friction

    plane       delta = a - (n . x - o)                    n unit normal to the free side, o its offset
    ball        delta = ((R + a)^2 - |x - c|^2) / (2 (R + a))
    cylinder    the same with the part of x - c across the axis

x (n, 3), v (n, 3) of nodes; x_p, v_p at four Gauss points p of an edge, w_p their weights; l [m] length at
rest, a [m] the rod's radius, k [N/m^3]: a force per length of k delta^2, to first order. u = v_p without the
part along the normal, mu Coulomb's coefficient, c [m/s] the speed below which friction is viscous, as of
`ground_friction`. Points are at most a third of an edge apart: what is thinner than that may slip through.

Oden & Martins 1985, Comput. Methods Appl. Mech. Eng. 52, 527 (friction).

Decisions 0197.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter, Sphere, local_energy, ti
from minusgrad_elastic.contacts import across_axis, pushed, side
from minusgrad_elastic.damping import COEFFICIENT, CREEP

X: Any = Node("m", (3,))
V: Any = Node("m s^-1", (3,))
LENGTH: Any = Datum("m", about="Length at rest of an edge.")
THICK: Any = Parameter("m", bounds=(0.0, inf), listed=True, about="Radius of the rod; that of its section.")
STIFF: Any = Parameter("N m^-3", bounds=(0.0, inf), about="Stiffness: force per length, per squared depth.")
RUB: dict[str, Any] = {"coefficient": COEFFICIENT, "creep": CREEP}
NORMAL: Any = Parameter("1", (3,), about="Normal of the plane, towards the free side, of any length.")
OFFSET: Any = Parameter("m", default=0.0, about="Distance of the plane from the origin, along its normal.")
CENTRE: Any = Parameter("m", (3,), about="Centre of the ball.")
POINT: Any = Parameter("m", (3,), about="Point on the axis of the cylinder.")
AXIS: Any = Parameter("1", (3,), about="Direction of the axis, of any length.")
SIZE: Any = Parameter(
    "m", bounds=(0.0, inf), open=True, reason="it has a size", about="Radius of the obstacle."
)
PLACES = (0.06943184420297371, 0.33000947820757187, 0.6699905217924281, 0.9305681557970262)
WEIGHTS = (0.17392742256872692, 0.32607257743127307, 0.32607257743127307, 0.17392742256872692)
"""The points of Gauss and Legendre on an edge from 0 to 1, with their weights."""


@ti.func
def between(a, s):
    """A field at a point of an edge."""
    return (1.0 - s) * a[0] + s * a[1]


@ti.func
def depth_in_round(r, size):
    """Depth within a ball or a cylinder of this size, from the vector to its centre or axis."""
    return (size * size - r.norm_sqr()) / (2.0 * size)


@ti.func
def rubbed(depth, stiffness, v, normal, coefficient, creep):
    """The dissipation per length of Coulomb's friction, smooth at rest; normal: of any length."""
    inside = ti.max(0.0, depth)
    u = across_axis(v, normal)
    return coefficient * stiffness * inside * inside * ti.sqrt(u.norm_sqr() + creep * creep)


@local_energy(
    "rod_wall",
    over=2,
    looks=side,
    x=X,
    length=LENGTH,
    radius=THICK,
    normal=NORMAL,
    offset=OFFSET,
    stiffness=STIFF,
)
def rod_wall(x, length, radius, normal, offset, stiffness):
    """Keeps the surface of rods on the free side of a plane: a floor or a wall."""
    total = 0.0
    unit = normal.normalized()
    for p in ti.static(range(4)):
        depth = radius + offset - unit.dot(between(x, PLACES[p]))
        total += WEIGHTS[p] * pushed(depth, stiffness)
    return length * total


@local_energy(
    "rod_wall_friction",
    over=2,
    unit="W",
    x=X,
    v=V,
    length=LENGTH,
    radius=THICK,
    normal=NORMAL,
    offset=OFFSET,
    stiffness=STIFF,
    **RUB,
)
def rod_wall_friction(x, v, length, radius, normal, offset, stiffness, coefficient, creep):
    """Coulomb friction of rods on a plane, with the keys of its `rod_wall`."""
    total = 0.0
    unit = normal.normalized()
    for p in ti.static(range(4)):
        depth = radius + offset - unit.dot(between(x, PLACES[p]))
        total += WEIGHTS[p] * rubbed(depth, stiffness, between(v, PLACES[p]), unit, coefficient, creep)
    return length * total


@local_energy(
    "rod_ball",
    over=2,
    looks=lambda centre, size: [Sphere(centre, size)],
    x=X,
    length=LENGTH,
    radius=THICK,
    centre=CENTRE,
    size=SIZE,
    stiffness=STIFF,
)
def rod_ball(x, length, radius, centre, size, stiffness):
    """Keeps the surface of rods outside of a ball."""
    total = 0.0
    for p in ti.static(range(4)):
        r = between(x, PLACES[p]) - centre
        total += WEIGHTS[p] * pushed(depth_in_round(r, size + radius), stiffness)
    return length * total


@local_energy(
    "rod_ball_friction",
    over=2,
    unit="W",
    x=X,
    v=V,
    length=LENGTH,
    radius=THICK,
    centre=CENTRE,
    size=SIZE,
    stiffness=STIFF,
    **RUB,
)
def rod_ball_friction(x, v, length, radius, centre, size, stiffness, coefficient, creep):
    """Coulomb friction of rods on a ball, with the keys of its `rod_ball`."""
    total = 0.0
    for p in ti.static(range(4)):
        r = between(x, PLACES[p]) - centre
        depth = depth_in_round(r, size + radius)
        total += WEIGHTS[p] * rubbed(depth, stiffness, between(v, PLACES[p]), r, coefficient, creep)
    return length * total


@local_energy(
    "rod_cylinder",
    over=2,
    x=X,
    length=LENGTH,
    radius=THICK,
    point=POINT,
    axis=AXIS,
    size=SIZE,
    stiffness=STIFF,
)
def rod_cylinder(x, length, radius, point, axis, size, stiffness):
    """Keeps the surface of rods outside of a cylinder without ends."""
    total = 0.0
    for p in ti.static(range(4)):
        r = across_axis(between(x, PLACES[p]) - point, axis)
        total += WEIGHTS[p] * pushed(depth_in_round(r, size + radius), stiffness)
    return length * total


@local_energy(
    "rod_cylinder_friction",
    over=2,
    unit="W",
    x=X,
    v=V,
    length=LENGTH,
    radius=THICK,
    point=POINT,
    axis=AXIS,
    size=SIZE,
    stiffness=STIFF,
    **RUB,
)
def rod_cylinder_friction(x, v, length, radius, point, axis, size, stiffness, coefficient, creep):
    """Coulomb friction of rods on a cylinder at rest, with the keys of its `rod_cylinder`."""
    total = 0.0
    for p in ti.static(range(4)):
        r = across_axis(between(x, PLACES[p]) - point, axis)
        depth = depth_in_round(r, size + radius)
        total += WEIGHTS[p] * rubbed(depth, stiffness, between(v, PLACES[p]), r, coefficient, creep)
    return length * total


CONTACTS = [rod_wall, rod_ball, rod_cylinder]
FRICTION = [rod_wall_friction, rod_ball_friction, rod_cylinder_friction]
