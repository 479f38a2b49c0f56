"""Bending in two directions and twist of rods, between the frames of two edges or of an edge and a wall.

    bend     U = sum over joints of (E I_1 phi_1^2 + E I_2 phi_2^2 + G J phi_3^2) / (2 l)
    clamp    the same between a wall and the edge at an end, where l is half of its length
    branch   the same between a rigid node of a network and an edge at it, + E I_p / (2 l) (|q|^2 - 1)^2

phi (3,) [rad] is the vector of the rotation from one frame to the other beyond its rest, along d_1, d_2, d_3
(`rotations`); l [m] the length at rest that a joint stands for, from the middle of an edge to that of the
next; I_1, I_2 [m^4] the second moments of area about d_1 and d_2, J [m^4] the torsion constant; E, G [Pa].
phi / l is the curvature, constant between the middles: circles, helices and uniform twist are exact. A rigid
node of a network has a frame of its own, from which its edges are turned at rest: so each half of an edge
bends about its own axes, at any angle, and any number of rods may meet. The frame has unit length as frames
of edges have (`edges`).

A clamp holds the direction and the twist of an end: the wall's frame is turned by `angle` about `axis`. A
node that is not held may move, which is a guide; a node that is held without a clamp, a hinge.

Decisions 0188, 0196.
"""

from minusgrad.plugin import local_energy, ti

from .edges import unit_energy
from .roles import ANGLE, AXIS, FRAME, LENGTH, MOMENTS, POLAR, REST, SHEAR, TORSION, TURN, WALL, YOUNG
from .rotations import quaternion_product, turn_between


@ti.func
def turning_energy(phi, length, second_moments, torsion, youngs_modulus, shear_modulus):
    """The energy of a rotation phi over a length."""
    bent = second_moments[0] * phi[0] * phi[0] + second_moments[1] * phi[1] * phi[1]
    return 0.5 * (youngs_modulus * bent + shear_modulus * torsion * phi[2] * phi[2]) / length


@local_energy(
    "rod_bend",
    over=2,
    q=FRAME,
    length=LENGTH,
    second_moments=MOMENTS,
    torsion=TORSION,
    rest=REST,
    youngs_modulus=YOUNG,
    shear_modulus=SHEAR,
)
def rod_bend(q, length, second_moments, torsion, rest, youngs_modulus, shear_modulus):
    """Bending in two directions and twist between two edges of a rod."""
    ahead = ti.Vector([1.0, rest[0], rest[1], rest[2]])
    back = ti.Vector([1.0, -rest[0], -rest[1], -rest[2]])
    phi = turn_between(quaternion_product(q[0], ahead), quaternion_product(q[1], back))
    return turning_energy(phi, length, second_moments, torsion, youngs_modulus, shear_modulus)


@local_energy(
    "rod_clamp",
    over=1,
    q=FRAME,
    length=LENGTH,
    second_moments=MOMENTS,
    torsion=TORSION,
    wall=WALL,
    axis=AXIS,
    angle=ANGLE,
    youngs_modulus=YOUNG,
    shear_modulus=SHEAR,
)
def rod_clamp(q, length, second_moments, torsion, wall, axis, angle, youngs_modulus, shear_modulus):
    """Clamp of the direction and the twist of an end, over half of an edge; its wall may be turned."""
    s = ti.sin(0.5 * angle)
    turn = ti.Vector([ti.cos(0.5 * angle), s * axis[0], s * axis[1], s * axis[2]])
    phi = turn_between(quaternion_product(turn, wall), q[0])
    return turning_energy(phi, length, second_moments, torsion, youngs_modulus, shear_modulus)


@local_energy(
    "rod_branch",
    over=2,
    q=FRAME,
    length=LENGTH,
    second_moments=MOMENTS,
    torsion=TORSION,
    polar=POLAR,
    turn=TURN,
    youngs_modulus=YOUNG,
    shear_modulus=SHEAR,
)
def rod_branch(q, length, second_moments, torsion, polar, turn, youngs_modulus, shear_modulus):
    """Bending and twist between a rigid node of a network and an edge, over half of the edge."""
    phi = turn_between(quaternion_product(q[0], turn), q[1])
    bent = turning_energy(phi, length, second_moments, torsion, youngs_modulus, shear_modulus)
    return bent + unit_energy(q[0], length, polar, youngs_modulus)
