"""Dead loads: forces that keep size and direction while the body moves.

    body force    U = -sum_i m_i a . x_i                     weight, where a is the acceleration of gravity
    traction      U = -sum over facets of A t . x,  x = sum_a N_a x_a   at the quadrature points of a facet
    load          U = -sum_i f . x_i                         the same force on every node

x (n, d) [m], m (n,) [kg], a (d,) [m/s^2]; A [m^2] the area at rest of a facet, or of a point of it, N_a its
shape functions there (1/k for each of the k nodes of a triangle or of an edge of two nodes); t (d,) [Pa] the
force on an area at rest (first Piola-Kirchhoff traction); f (d,) [N].
"""

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti


@local_energy(
    "body_force",
    over="nodes",
    x=Node("m", ("d",)),
    m=Node("kg"),
    acceleration=Parameter("m s^-2", ("d",), scale=10.0),
)
def body_force(x, m, acceleration):
    """Uniform acceleration of every node: weight."""
    return -m[0] * acceleration.dot(x[0])


@local_energy(
    "traction",
    over="tuples",
    x=Node("m", ("d",)),
    area=Datum("m^2"),
    shares=Datum("1", ("k",)),
    traction=Parameter("Pa", ("d",)),
)
def traction(x, area, shares, traction):
    """Force on the facets of a surface, per area at rest, with a fixed direction."""
    place = shares[0] * x[0]
    for a in ti.static(range(1, len(x))):
        place += shares[a] * x[a]
    return -area * traction.dot(place)


@local_energy("load", over="nodes", x=Node("m", ("d",)), force=Parameter("N", ("d",)))
def load(x, force):
    """The same force, with a fixed direction, on every node."""
    return -force.dot(x[0])
