"""Linear springs between pairs of nodes.

    U(x) = sum over edges (i, j) of k/2 (|x_i - x_j| - L)^2

x (n, d) [m], k [N/m] the stiffness, L [m] the length at rest. A spring of length zero that wants to be
longer has no direction, and no derivative.
"""

from math import inf

from minusgrad import Datum, Node, Parameter, local_energy


@local_energy(
    "spring",
    over=2,
    x=Node("m", ("d",)),
    stiffness=Parameter("N/m", bounds=(0.0, inf)),
    rest=Datum("m", differentiable=True),
)
def spring(x, stiffness, rest):
    """Linear spring between two nodes, without force at its length at rest."""
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * stiffness * stretch * stretch
