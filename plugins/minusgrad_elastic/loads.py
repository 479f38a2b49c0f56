"""Loads: dead ones, which keep size and direction, and pressure, which follows the surface.

    body force    U = -sum_i m_i a . x_i                     weight, where a is the acceleration of gravity
    traction      U = -sum over facets of A t . x,  x = sum_a N_a x_a   at the quadrature points of a facet
    load          U = -sum_i f . x_i                         the same force on every node
    pressure      U = p V,  V = 1/d int x . n da             on a facet as it is, against its outward normal n

x (n, d) [m], m (n,) [kg], a (d,) [m/s^2]; A [m^2] the area at rest of a facet, or of a point of it, N_a its
shape functions there (1/k for each of the k nodes of a triangle or of an edge of two nodes); t (d,) [Pa] the
force on an area at rest (first Piola-Kirchhoff traction); f (d,) [N].

Pressure p [Pa] gives the force -p n on every deformed area. By the divergence theorem V [m^3] is the volume
that a closed surface encloses (of a cavity minus its volume), and n da = x_,1 x x_,2 dxi at a point of a
facet with the coordinates xi; in the plane n da = (y', -x') dxi times the thickness at rest. The sum over
facets is a potential of these forces where the surface is closed, or the rim of an open one is held: at a
rim that moves, x . n of a single facet, a cone with its tip at the origin, adds forces along the rim. So
derivatives, a Hessian that is symmetric, and the energy balance hold for closed surfaces and held rims
(Schweizerhof & Ramm 1984, Comput. Struct. 18, 1099).
"""

from minusgrad.plugin import Acceleration, Datum, Force, Node, Parameter, Pressure, local_energy, ti


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
    symmetries=("rotation",),
    x=Node("m", ("d",)),
    shares=Datum("1", ("k",), about="Shape functions at the point, one for each node."),
    tangents=Datum("1", ("k", "d-1"), about="Derivatives of the shape functions along the facet."),
    weight=Datum("1", about="Weight of the quadrature point, in the plane times the thickness."),
    pressure=Parameter("Pa", about="Pressure against the outward normal; positive pushes."),
)
def pressure(x, shares, tangents, weight, pressure):
    """Pressure on the deformed facets of a closed surface, or of one whose rim is held (a follower load)."""
    place = shares[0] * x[0]
    along = 0.0 * x[0]
    beside = 0.0 * x[0]
    for a in ti.static(range(1, len(x))):
        place += shares[a] * x[a]
        along += tangents[a, 0] * (x[a] - x[0])
        beside += tangents[a, x[0].n - 2] * (x[a] - x[0])
    cone = 0.0
    if ti.static(x[0].n == 3):  # noqa: SIM108 - Taichi compiles both sides of an expression
        cone = place.dot(along.cross(beside)) / 3.0
    else:
        cone = place.cross(along) / 2.0
    return pressure * weight * cone
