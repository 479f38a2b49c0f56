"""The density of a fluid of particles: a sum over kernels.

    rho_i = m_i W(0) + sum_{j != i} m_j W(|x_i - x_j|)

x (n, d) [m], m (n,) [kg], rho (n,) [kg m^-3], W of `kernels` with the smoothing length h [m]. The second
term is a map over pairs, which gives node i what node j adds; the first one a map over nodes that adds to
the same field. A cutoff of 2 h leaves nothing out.

Decisions 0332.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_map

from .kernels import scale, shape

X, MASS = Node("m", ("d",)), Node("kg")
LENGTH = Parameter(
    "m",
    bounds=(0.0, inf),
    open=True,
    reason="a kernel has a width",
    about="Smoothing length of the kernel, which reaches as far as twice of it.",
)


@local_map("kernel_density", over="pairs", gives="rho", unit="kg m^-3", x=X, m=MASS, h=LENGTH)
def kernel_density(x, m, h):
    """The density that the second particle gives at the first one."""
    r = x[0] - x[1]
    return m[1] * scale(r, h) * shape(r.norm() / h)


@local_map("self_density", over="nodes", gives="rho", unit="kg m^-3", x=X, m=MASS, h=LENGTH)
def self_density(x, m, h):
    """The density that a particle gives at its own place."""
    return m[0] * scale(x[0], h) * shape(0.0)
