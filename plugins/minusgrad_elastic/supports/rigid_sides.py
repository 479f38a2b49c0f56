"""Sides that move as rigid bodies, under a force and a moment: constraints over their nodes, two energies.

    u = q - p,  v = r - p,  w = u x v           p, q, r nodes of the side, far apart (in the plane p, q)
    |u|^2 = |U|^2,  |v|^2 = |V|^2,  |v - u|^2 = |V - U|^2       rods between them
    e . (x - p - a u - b v - c w) = 0           every other node x, for each axis e: it follows them
    e . (x - p - (X - P)) = 0                   the same of a side that does not rotate
    U = -F . (x_c - X_c),    x_c = p + a u + b v + c w  a force F (d,) [N] at the point c, of fixed direction
    U = -M theta                                        a moment M [N m] about an axis e, fixed in space

Capitals are at rest; a, b, c follow from there; in the plane x = p + a u + b (-u_y, u_x). A side of n nodes
has 3 n - 6 independent constraints (2 n - 3), so that six numbers (three) are left: it moves as a rigid body
does, with the mass of its nodes.

    theta = atan2(s, c),    s = 2 e . ax(R),  c = tr R - e . R e,    R = [u v w] [U V W]^-1

theta [rad] is the angle of the part of the rotation R that is about e (its twist; of a rotation about e its
angle), counted within half a turn of `turn`. So M is the moment about e as long as the side turns about e;
beyond that it is the one whose work is M theta, as a dead moment has no potential (Ziegler 1968, Principles
of Structural Stability, section 1.3).

Decisions 0166.
"""

from math import inf

from minusgrad.plugin import Datum, Node, Parameter, constraint, local_energy, ti

WEIGHTS = Datum("1", (3,), about="Factors of u, v and w; that of w per length.")


@ti.func
def crossed(u):
    """A vector of the plane turned by a right angle."""
    found = 1.0 * u
    found[0], found[1] = -u[1], u[0]
    return found


@ti.func
def followed_place(x, weights, first):
    """The point of the side with these weights; the frame begins at the slot `first`."""
    u = x[first + 1] - x[first]
    place = x[first] + weights[0] * u
    if ti.static(u.n == 3):
        v = x[first + 2] - x[first]
        place += weights[1] * v + weights[2] * u.cross(v)
    else:
        place += weights[1] * crossed(u)
    return place


@constraint(
    "rigid_follower",
    over="tuples",
    symmetries=("translation",),
    images="first",
    x=Node("m", ("d",)),
    weights=WEIGHTS,
    axis=Datum("1", ("d",), about="The axis along which the node follows."),
)
def rigid_follower(x, weights, axis):
    """A node that follows three others (in the plane two) as a rigid body, along one axis."""
    return axis.dot(x[0] - followed_place(x, weights, 1))


@constraint(
    "rigid_companion",
    over=2,
    symmetries=("translation",),
    x=Node("m", ("d",)),
    offset=Datum("m", ("d",), about="The node at rest, as seen from its companion."),
    axis=Datum("1", ("d",), about="The axis along which the node follows."),
)
def rigid_companion(x, offset, axis):
    """A node that keeps its distance from another one, along one axis: a side that does not rotate."""
    return axis.dot(x[0] - x[1] - offset)


@constraint(
    "rigid_pin",
    over="tuples",
    images="first",
    x=Node("m", ("d",)),
    weights=WEIGHTS,
    axis=Datum("1", ("d",), about="The axis along which the point stays."),
    point=Datum("m", ("d",), place=True, about="The place of the point at rest."),
)
def rigid_pin(x, weights, axis, point):
    """A point of a rigid side that stays where it is, along one axis."""
    return axis.dot(followed_place(x, weights, 0) - point)


@local_energy(
    "rigid_load",
    over="tuples",
    images="first",
    x=Node("m", ("d",)),
    weights=WEIGHTS,
    point=Datum("m", ("d",), place=True, about="The place of the point at rest."),
    force=Parameter("N", ("d",), about="Force at the point, in a fixed direction."),
)
def rigid_load(x, weights, point, force):
    """A force, with a fixed direction, at a point of a rigid side."""
    return -force.dot(followed_place(x, weights, 0) - point)


@local_energy(
    "rigid_moment",
    over="tuples",
    images="first",
    x=Node("m", ("d",)),
    dual=Datum("m^-1", ("d", "d"), about="The inverse of the matrix of u, v and w at rest."),
    axis=Datum("1", ("d",), about="Axis of the moment, of size 1; not used in the plane."),
    moment=Parameter("N m", about="Moment about the axis; in the plane from x to y."),
    turn=Parameter(
        "rad",
        default=0.0,
        bounds=(-inf, inf),
        about="Angle within half a turn of which the side's is counted.",
    ),
)
def rigid_moment(x, dual, axis, moment, turn):
    """A moment about a fixed axis on a rigid side: the energy -M theta."""
    u = x[1] - x[0]
    sine, cosine = 0.0, 0.0
    if ti.static(u.n == 3):
        v = x[2] - x[0]
        w = u.cross(v)
        trace, along, twist = 0.0, 0.0, 0.0
        for i in ti.static(range(3)):
            for j in ti.static(range(3)):
                turned = u[i] * dual[0, j] + v[i] * dual[1, j] + w[i] * dual[2, j]
                along += axis[i] * axis[j] * turned
                if ti.static(i == j):
                    trace += turned
                elif ti.static((i - j) % 3 == 1):
                    twist += axis[3 - i - j] * turned
                else:
                    twist -= axis[3 - i - j] * turned
        sine, cosine = twist, trace - along
    else:
        w = crossed(u)
        for i in ti.static(range(2)):
            cosine += u[i] * dual[0, i] + w[i] * dual[1, i]
        sine = u[1] * dual[0, 0] + w[1] * dual[1, 0] - u[0] * dual[0, 1] - w[0] * dual[1, 1]
    back, ahead = ti.cos(turn), ti.sin(turn)
    angle = turn + ti.atan2(sine * back - cosine * ahead, cosine * back + sine * ahead)
    return -moment * angle
