"""Bending and torsion energies: of the angle at a node, and of the dihedral angle between two planes.

    angle       U(x) = sum over (i, j, k) of k/2 (theta - theta_0)^2
                theta = atan2(|a ^ b|, a . b),                              a = x_i - x_j, b = x_k - x_j
    dihedral    U(x) = sum over (i, j, k, l) of k (1 + cos(n phi - delta))
                phi = atan2(|q| p . (q x r), (p x q) . (q x r)),            p, q, r from node to node

x (n, d) [m], k [J] a stiffness (per rad^2), theta_0 and delta [rad], n minima per turn. theta is 0
where the arms lie on each other and pi where they are straight, in the plane and in space: |a ^ b|^2 =
sum_{p<q} (a_p b_q - a_q b_p)^2. Both are flat; d is how far theta is from the nearer one (above: from pi):

    theta = flat -+ d,   d = atan(sqrt(s)),   s = |a ^ b|^2 / (a . b)^2,   d^2 = s - 2 s^2/3 + 23 s^3/45 - ...
    (theta - theta_0)^2 = (flat - theta_0)^2 -+ 2 (flat - theta_0) d + d^2

d^2 is smooth: a rod whose theta_0 is pi, or a hairpin whose theta_0 is 0, has its true force and stiffness
also where it is flat. d has a kink there; its derivatives are taken as zero, the mean over all directions.

phi is 0 for cis and pi for trans, positive where the far bond is turned clockwise (IUPAC-IUB 1970,
Biochemistry 9, 3471); by atan2 its derivatives have no 1 / sin phi (Blondel & Karplus 1996, J. Comput. Chem.
17, 1132), and only where three nodes lie on a line there are none: the force is NaN there, or 0 if k is 0, as
force fields list torsions of a linear group. An arm of length zero has no angle, and no derivative.

Decisions 0052.
"""

from math import inf, pi

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti

STIFFNESS = Parameter(
    "J", bounds=(0.0, inf), about="Stiffness: energy per squared radian of an angle, amplitude of a torsion."
)
NEAR = 1e-6
"""Below this s the series are used: their error is 4e-19 of d^2, and 7e-18 of its second derivatives."""
FLAT = 1e-31
"""Below this s nothing leans to a side: d is less than a digit of pi, and 1 / s is a number also in f32."""


@ti.func
def wedge_sqr(a, b, scale):
    """|a ^ b|^2 scale^2, scaled before it is squared; |a ^ b| is the area that two vectors span."""
    area = 0.0
    for p in ti.static(range(1, a.n)):
        for q in ti.static(range(p)):
            side = (a[q] * b[p] - a[p] * b[q]) * scale
            area += side * side
    return area


@local_energy(
    "angle",
    over=3,
    symmetries=("translation", "rotation"),
    x=Node("m", ("d",)),
    stiffness=STIFFNESS,
    rest=Datum("rad", differentiable=True, about="Angle at rest; pi where the arms are straight."),
)
def angle(x, stiffness, rest):
    """Harmonic in the angle at the middle one of three nodes."""
    a, b = x[0] - x[1], x[2] - x[1]
    area, dot = wedge_sqr(a, b, 1.0), a.dot(b)
    side = ti.select(dot < 0.0, -1.0, 1.0)
    away = ti.select(dot < 0.0, pi, 0.0) - rest
    bend_sqr = 0.0
    if area < NEAR * dot * dot:
        s = wedge_sqr(a, b, 1.0 / dot)
        lean = ti.select(s > FLAT, ti.sqrt(s), 0.0) * (1.0 - s * (1.0 / 3.0 - s / 5.0))
        bend_sqr = away * (away + 2.0 * side * lean) + s * (1.0 - s * (2.0 / 3.0 - s * 23.0 / 45.0))
    else:
        bend = away + side * ti.atan2(ti.sqrt(area), side * dot)
        bend_sqr = bend * bend
    return 0.5 * stiffness * bend_sqr


@local_energy(
    "dihedral",
    over=4,
    symmetries=("translation", "rotation"),
    x=Node("m", (3,)),
    stiffness=STIFFNESS,
    multiplicity=Datum(integer=True, about="Number of minima per turn."),
    phase=Parameter(
        "rad",
        default=0.0,
        about="Phase delta: the energy is largest where the multiplicity times the angle is delta.",
    ),
)
def dihedral(x, stiffness, multiplicity, phase):
    """Periodic in the angle by which the bond 2-3 is turned around 1-2 against the bond 0-1."""
    p, q, r = x[1] - x[0], x[2] - x[1], x[3] - x[2]
    far = q.cross(r)
    sine, cosine = q.norm() * p.dot(far), p.cross(q).dot(far)
    idle = (stiffness == 0.0) & (sine * sine + cosine * cosine == 0.0)
    phi = ti.atan2(ti.select(idle, 0.0, sine), ti.select(idle, 1.0, cosine))
    return stiffness * (1.0 + ti.cos(multiplicity * phi - phase))
