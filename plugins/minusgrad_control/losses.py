"""Losses of controllers.

travel    L = -sum over nodes of a . x            x (n, d) [m], a (d,) [1/m]: how far nodes are along a
"""

from minusgrad.plugin import Node, Parameter, local_energy


@local_energy(
    "travel",
    over="nodes",
    unit="1",
    x=Node("m", ("d",)),
    along=Parameter("m^-1", ("d",), about="Direction along which farther is better, per length."),
)
def travel(x, along):
    """How far nodes went along a direction: less is farther."""
    return -along.dot(x[0])
