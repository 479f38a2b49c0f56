"""Loads: dead ones, which keep size and direction, and pressure, which follows the surface.

    body force    U = -sum_i m_i a . x_i                     weight, where a is the acceleration of gravity
    traction      U = -sum over facets of A t . x,  x = sum_a N_a x_a   at the quadrature points of a facet
    load          U = -sum_i f . x_i                         the same force on every node
    pressure      U = p V,  V = sum over facets of w (S (x - c)) . n             on a facet as it is

x (n, d) [m], m (n,) [kg], a (d,) [m/s^2]; A [m^2] the area at rest of a facet, or of a point of it, N_a its
shape functions there (1/k for each of the k nodes of a triangle or of an edge of two nodes); t (d,) [Pa] the
force on an area at rest (first Piola-Kirchhoff traction); f (d,) [N].

Pressure p [Pa] gives the force -p n on every deformed area, n its outward normal. V [m^3] is the volume
between the facets and their apex c, by the divergence theorem; n da = x_,1 x x_,2 dxi at a point of a facet
with the coordinates xi, in the plane (y', -x') dxi times the thickness at rest. It is the potential of these
forces where the surface is closed, or its rim is held or slides in held planes; c [m] and the shares S follow
from the supports, and other rims are refused (`surfaces`).

Decisions 0070, 0165, 0325.
"""

from minusgrad.plugin import Acceleration, Datum, Force, Node, Parameter, Pressure, local_energy, ti

from .surfaces import apexes, borne


@local_energy(
    "body_force",
    over="nodes",
    looks=lambda acceleration: [Acceleration(acceleration)],
    x=Node("m", ("d",)),
    m=Node("kg"),
    acceleration=Parameter(
        "m s^-2", ("d",), scale=10.0, about="Acceleration of every node, such as that of gravity."
    ),
)
def body_force(x, m, acceleration):
    """Uniform acceleration of every node: weight."""
    return -m[0] * acceleration.dot(x[0])


@local_energy(
    "traction",
    over="tuples",
    looks=lambda traction: [Force(traction)],
    images="first",
    x=Node("m", ("d",)),
    area=Datum("m^2", about="Area at rest of a facet, or of a quadrature point."),
    shares=Datum("1", ("k",), about="Shape functions at the point, one for each node."),
    traction=Parameter("Pa", ("d",), about="Force per area at rest, in a fixed direction."),
)
def traction(x, area, shares, traction):
    """Force on the facets of a surface, per area at rest, with a fixed direction."""
    place = shares[0] * x[0]
    for a in ti.static(range(1, len(x))):
        place += shares[a] * x[a]
    return -area * traction.dot(place)


@local_energy(
    "load",
    over="nodes",
    looks=lambda force: [Force(force)],
    x=Node("m", ("d",)),
    force=Parameter("N", ("d",), about="Force on every node, in a fixed direction."),
)
def load(x, force):
    """The same force, with a fixed direction, on every node."""
    return -force.dot(x[0])


@local_energy(
    "pressure",
    over="tuples",
    looks=lambda pressure: [Pressure(pressure)],
    derive=apexes,
    borne=borne,
    images="first",
    x=Node("m", ("d",)),
    shares=Datum("1", ("k",), about="Shape functions at the point, one for each node."),
    tangents=Datum("1", ("k", "d-1"), about="Derivatives of the shape functions along the facet."),
    weight=Datum("1", about="Weight of the quadrature point, in the plane times the thickness."),
    apex=Datum(
        "m",
        ("d",),
        about="A point of all planes in which the rim of the surface slides.",
        derived=True,
        place=True,
    ),
    axis_shares=Datum(
        "1", ("d", "d"), about="Shares of the axes in the volume; the trace is 1.", derived=True
    ),
    pressure=Parameter("Pa", about="Pressure against the outward normal; positive pushes."),
)
def pressure(x, shares, tangents, weight, apex, axis_shares, pressure):
    """Pressure on the deformed facets of a closed surface, or of one whose rim is held (a follower load)."""
    place = shares[0] * (x[0] - apex)
    along = 0.0 * x[0]
    beside = 0.0 * x[0]
    for a in ti.static(range(1, len(x))):
        place += shares[a] * (x[a] - apex)
        along += tangents[a, 0] * (x[a] - x[0])
        beside += tangents[a, x[0].n - 2] * (x[a] - x[0])
    volume = 0.0
    if ti.static(x[0].n == 3):
        volume = (axis_shares @ place).dot(along.cross(beside))
    else:
        volume = (axis_shares @ place).cross(along)
    return pressure * weight * volume
