"""Frames and tangents of rods as maps, which energies read and observers record.

    rod_axes       d_1, d_2, d_3 = columns of R(q / |q|)          (e, 3) each [1]
    rod_tangent    t = (x_1 - x_0) / |x_1 - x_0|                  (e, 3) [1]

x (n, 3) [m], q (e, 4) [1] the quaternion of each edge; d_3 and t differ by the shear.

Decisions 0138.
"""

from minusgrad.plugin import Node, Output, local_map

from .edges import EDGE
from .roles import X
from .rotations import material_axes


@local_map(
    "rod_axes",
    gives={"d1": Output("1", (3,)), "d2": Output("1", (3,)), "d3": Output("1", (3,))},
    over="nodes",
    q=Node("1", (4,), scale=0.1),
)
def rod_axes(q):
    """The material frame of each edge, as three unit vectors."""
    return material_axes(q[0])


@local_map("rod_tangent", gives="tangent", over=EDGE, x=X, shape=(3,))
def rod_tangent(x):
    """The direction of each edge."""
    r = x[2] - x[1]
    return r / r.norm()
