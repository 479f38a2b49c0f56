"""A bond that softens as it stretches (Morse 1929, Phys. Rev. 34, 57).

    U(x) = sum over bonds D (1 - exp(-a (|x_0 - x_1| - r0)))^2

x (n, 3) [m], r0 (E,) [m], a [1/m], D [J], U [J].
"""

from math import inf

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti


@local_energy(
    "my_plugin_bond",
    over=2,
    x=Node("m", ("d",)),
    r0=Datum("m", differentiable=True, about="Length at rest."),
    a=Parameter("1/m", bounds=(0.0, inf), about="How fast the bond softens with its stretch."),
    D=Parameter("J", bounds=(0.0, inf), about="Depth of the well."),
    symmetries=("translation", "rotation"),
)
def bond(x, r0, a, D):
    """A Morse bond: U = D (1 - exp(-a (|x_0 - x_1| - r0)))^2."""
    q = 1.0 - ti.exp(-a * ((x[0] - x[1]).norm() - r0))
    return D * q * q
