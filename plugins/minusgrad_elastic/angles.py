"""What bends and twists: energies of the angle at a node, and of the angle between two planes.

    angle       U(x) = sum over (i, j, k) of k/2 (theta - theta_0)^2
                theta = atan2(|a ^ b|, a . b),                              a = x_i - x_j, b = x_k - x_j
    dihedral    U(x) = sum over (i, j, k, l) of k (1 + cos(n phi - delta))
                phi = atan2(|q| p . (q x r), (p x q) . (q x r)),            p, q, r from node to node

x (n, d) [m], k [J] a stiffness (per rad^2), theta_0 and delta [rad], n how many minima a turn has. theta is 0
where the arms lie on each other and pi where they are straight, in the plane and in space: |a ^ b|^2 =
sum_{p<q} (a_p b_q - a_q b_p)^2. Of straight arms the sine vanishes and has no derivative; zero stands in
its place, which is the true force where theta_0 = pi (or 0), else the mean over all directions. phi is 0 for
cis and pi for trans, positive where the far bond is turned clockwise (IUPAC-IUB 1970, Biochemistry 9, 3471);
by atan2 its derivative has no 1 / sin phi (Blondel & Karplus 1996, J. Comput. Chem. 17, 1132), and
only where three nodes lie on a line there is none. An arm of length zero has no angle, and no derivative.
"""

from math import inf

from minusgrad import Datum, Node, Parameter, local_energy, ti

STIFFNESS = Parameter("J", bounds=(0.0, inf))


@ti.func
def wedge_sqr(a, b):
    """|a ^ b|^2, the squared area that two vectors span, in any space."""
    area = 0.0
    for p in ti.static(range(1, a.n)):
        for q in ti.static(range(p)):
            side = a[q] * b[p] - a[p] * b[q]
            area += side * side
    return area


@local_energy(
    "angle", over=3, x=Node("m", ("d",)), stiffness=STIFFNESS, rest=Datum("rad", differentiable=True)
)
def angle(x, stiffness, rest):
    """Harmonic in the angle at the middle one of three nodes."""
    a, b = x[0] - x[1], x[2] - x[1]
    area = wedge_sqr(a, b)
    bend = ti.atan2(ti.select(area > 0.0, ti.sqrt(area), 0.0), a.dot(b)) - rest
    return 0.5 * stiffness * bend * bend


@local_energy(
    "dihedral",
    over=4,
    x=Node("m", (3,)),
    stiffness=STIFFNESS,
    multiplicity=Datum(integer=True),
    phase=Parameter("rad", default=0.0),
)
def dihedral(x, stiffness, multiplicity, phase):
    """Periodic in the angle by which the bond 2-3 is turned around 1-2 against the bond 0-1."""
    p, q, r = x[1] - x[0], x[2] - x[1], x[3] - x[2]
    far = q.cross(r)
    phi = ti.atan2(q.norm() * p.dot(far), p.cross(q).dot(far))
    return stiffness * (1.0 + ti.cos(multiplicity * phi - phase))
