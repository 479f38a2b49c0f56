"""Dead loads: forces that keep size and direction while the body moves.

    body force    U = -sum_i m_i a . x_i                     weight, where a is the acceleration of gravity
    traction      U = -sum over facets of A t . x_mean       x_mean the mean of the facet's nodes
    load          U = -sum_i f . x_i                         the same force on every node

x (n, d) [m], m (n,) [kg], a (d,) [m/s^2]; A [m^2] the facet's area at rest, t (d,) [Pa] the force on an
area at rest (first Piola-Kirchhoff traction); f (d,) [N].
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
    traction=Parameter("Pa", ("d",)),
)
def traction(x, area, traction):
    """Force on the facets of a surface, per area at rest, with a fixed direction."""
    mean = x[0] / len(x)
    for a in ti.static(range(1, len(x))):
        mean += x[a] / len(x)
    return -area * traction.dot(mean)


@local_energy("load", over="nodes", x=Node("m", ("d",)), force=Parameter("N", ("d",)))
def load(x, force):
    """The same force, with a fixed direction, on every node."""
    return -force.dot(x[0])
