"""Loads of rods that have a potential: a force per length of fixed direction, a couple on an end.

    line      U = - sum over edges of l f . (x_0 + x_1) / 2
    couple    U = - M theta,   theta = 2 atan2(e . Im p, Re p),   p = q w*

f [N/m] force per length at rest; M [N m] the moment about the unit axis e; q the frame of the end's edge, w
the wall's frame, that of the rod at its start. theta is the turn about e alone (the twist of p about e), so
that the moment about e is M whatever else the end does, and exactly the couple M e where the end turns about
e, as in plane bending; up to one turn either way. Beside that e . (dx) has no part in it.

A couple about a fixed axis without such a guide does work that depends on the way, and a force that follows
the rod does so too: they have no potential, and are no energies (Ziegler 1952, Ing. Arch. 20, 49).

Decisions 0197.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Force, Parameter, local_energy, ti

from .obstacles import LENGTH, X
from .roles import AXIS, FRAME, WALL
from .rotations import conjugate_quaternion, quaternion_product

PER_LENGTH: Any = Parameter("N m^-1", (3,), about="Force per length at rest.")
MOMENT: Any = Parameter("N m", bounds=(-inf, inf), about="Moment about the axis.")


@local_energy("rod_load", over=2, looks=lambda force: [Force(force)], x=X, length=LENGTH, force=PER_LENGTH)
def rod_load(x, length, force):
    """A uniform load on the length of rods, of fixed direction."""
    return -0.5 * length * force.dot(x[0] + x[1])


@local_energy("rod_couple", over=1, q=FRAME, wall=WALL, axis=AXIS, moment=MOMENT)
def rod_couple(q, wall, axis, moment):
    """A moment on an end about a fixed axis: its potential is the turn about it, up to one turn."""
    p = quaternion_product(q[0], conjugate_quaternion(wall))
    along = p[1] * axis[0] + p[2] * axis[1] + p[3] * axis[2]
    return -2.0 * moment * ti.atan2(along, p[0])
