"""A thin shell as a function of its first and second fundamental forms, on triangles with directors on edges.

    stretching  U = sum over triangles of A t / 2 Q(E),      E = (F^T F - I) / 2
    bending     U = sum over triangles of A t^3 / 24 Q(k),   k = sum_e theta_e B_e - k_0
                theta_e = atan2(n_e . m, n_e . N),           B_e = l_e / A m_e (x) m_e
    director    U = sum over edges of E t^3 / 24 s ((|n|^2 - 1)^2 + (n . r)^2 / l^2),  s = l^2 / (A_1 + A_2)
    Q(e) = E / (1 - nu^2) ((e_11 + e_22)^2 - 2 (1 - nu) (e_11 e_22 - e_12^2))

x (n, 3) [m]; n_e (k, 3) [1] the director of each edge; F (3, 2) along two axes in the triangle at rest; N the
normal of the triangle now, m across the edge in the triangle now, outwards, m_e (2,) the same at rest; r [m]
the edge now, l [m] its length and A [m^2] the area at rest; t [m]; E [Pa]. theta_e [rad] is the turn of the
director about its edge, from the normal of the triangle: nothing else of a director is read, so that the last
energy vanishes at every equilibrium and changes none.

k [1/m], constant in a triangle, is the second fundamental form less that at rest: the turn of the normal per
length at rest, positive where normals diverge. The turn about an edge is shared by both of its triangles,
which is all the continuity that bending needs: in the linear limit this is Morley's element, also that of
Hellan, Herrmann and Johnson of lowest order, which converges on every mesh. E of a flat triangle is its own
interpolant in Regge's space, so membranes do not lock.

Koiter 1966, Proc. K. Ned. Akad. Wet. B 69, 1 (the energy); Morley 1968, Aeronaut. Q. 19, 149; Grinspun,
Gingold, Reisman & Zorin 2006, Comput. Graph. Forum 25, 547 (normals in the middle of edges); Neunteufel &
Schoeberl 2019, Comput. Struct. 225, 106109 (large bending), and 2021, Comput. Methods Appl. Mech. Engrg 373,
113524 (locking).

Decisions 0103.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Linear, Node, Parameter, local_energy, ti

TRIANGLE = ("shell_edge",) * 3 + ("shell_node",) * 3
"""Nodes of a triangle: the edge across each corner, then the corners."""
EDGE = ("shell_edge", "shell_node", "shell_node")
X: Any = Node("m", (3,), of="shell_node")
DIRECTOR: Any = Node("1", (3,), scale=0.1, of="shell_edge")
AREA: Any = Datum("m^2", about="Area at rest.")
THICKNESS: Any = Parameter(
    "m", bounds=(0.0, inf), open="below", reason="a shell has a thickness", about="Thickness of the shell."
)
YOUNG: Any = Parameter("Pa", bounds=(0.0, inf), about="Young's modulus E.")
POISSON: Any = Parameter(
    "1",
    scale=0.3,
    bounds=(-1.0, 0.5),
    open="below",
    reason="the bulk modulus is positive",
    about="Poisson's ratio, above -1 and up to 0.5, incompressible.",
)
GRADIENTS: Any = Datum("m^-1", (3, 2), about="Gradients of the shape functions in the triangle at rest.")
TURNS: Any = Datum("m^-1", (3, 3), about="B_e of each edge: components 11, 22 and 12.")
CURVATURE: Any = Datum(
    "m^-1", (3,), differentiable=True, about="Second fundamental form at rest: components 11, 22 and 12."
)
FORMS: dict[str, Any] = {"x": X, "director": DIRECTOR, "gradients": GRADIENTS, "turns": TURNS}
"""The arguments of the fundamental forms, for energies of one's own over `TRIANGLE`."""


@ti.func
def first_form(x, gradients):
    """a = F^T F of a triangle: components 11, 22 and 12."""
    p, q = x[4] - x[3], x[5] - x[3]
    one = p * gradients[1, 0] + q * gradients[2, 0]
    two = p * gradients[1, 1] + q * gradients[2, 1]
    return ti.Vector([one.dot(one), two.dot(two), one.dot(two)])


@ti.func
def second_form(x, director, turns):
    """b = sum_e theta_e B_e of a triangle: components 11, 22 and 12 [1/m]."""
    p, q, r = x[4] - x[3], x[5] - x[3], x[5] - x[4]
    normal = p.cross(q)
    pp, pq, qq = p.dot(p), p.dot(q), q.dot(q)
    p0, q0 = director[0].dot(p), director[0].dot(q)
    p1, q1 = director[1].dot(p), director[1].dot(q)
    p2, q2 = director[2].dot(p), director[2].dot(q)
    a = ti.atan2(p0 * q.dot(r) - q0 * p.dot(r), r.norm() * director[0].dot(normal))
    b = ti.atan2(q1 * pq - p1 * qq, ti.sqrt(qq) * director[1].dot(normal))
    c = ti.atan2(p2 * pq - q2 * pp, ti.sqrt(pp) * director[2].dot(normal))
    return ti.Vector([a * turns[0, k] + b * turns[1, k] + c * turns[2, k] for k in ti.static(range(3))])


@ti.func
def elastic_form(e, youngs_modulus, poissons_ratio):
    """Q of a symmetric tensor with components 11, 22 and 12 [Pa]."""
    trace = e[0] + e[1]
    parted = trace * trace - 2.0 * (1.0 - poissons_ratio) * (e[0] * e[1] - e[2] * e[2])
    return youngs_modulus / (1.0 - poissons_ratio * poissons_ratio) * parted


@local_energy(
    "koiter_stretching",
    over="tuples",
    x=Node("m", (3,)),
    gradients=Datum("m^-1", ("k", 2), about="Gradients of the shape functions in the triangle at rest."),
    F=Linear("x", "gradients"),
    area=AREA,
    thickness=THICKNESS,
    youngs_modulus=YOUNG,
    poissons_ratio=POISSON,
)
def koiter_stretching(F, area, thickness, youngs_modulus, poissons_ratio):
    """Stretching of a thin shell of some thickness, in plane stress and linear in Green's strain."""
    C = F.transpose() @ F
    strain = ti.Vector([0.5 * (C[0, 0] - 1.0), 0.5 * (C[1, 1] - 1.0), 0.5 * C[0, 1]])
    return 0.5 * area * thickness * elastic_form(strain, youngs_modulus, poissons_ratio)


@local_energy(
    "koiter_bending",
    over=TRIANGLE,
    x=X,
    director=DIRECTOR,
    turns=TURNS,
    rest=CURVATURE,
    area=AREA,
    thickness=THICKNESS,
    youngs_modulus=YOUNG,
    poissons_ratio=POISSON,
)
def koiter_bending(x, director, turns, rest, area, thickness, youngs_modulus, poissons_ratio):
    """Bending of a thin shell, by the turn of its directors about the edges of a triangle."""
    k = second_form(x, director, turns) - rest
    return area * thickness**3 / 24.0 * elastic_form(k, youngs_modulus, poissons_ratio)


@local_energy(
    "shell_director",
    over=EDGE,
    x=X,
    director=DIRECTOR,
    length=Datum("m", about="Length of the edge at rest."),
    aspect=Datum("1", about="Squared length of the edge at rest, over the area of its triangles."),
    thickness=THICKNESS,
    youngs_modulus=YOUNG,
)
def shell_director(x, director, length, aspect, thickness, youngs_modulus):
    """Keeps the directors of edges of unit length and across their edges; zero at equilibrium."""
    longer = director[0].norm_sqr() - 1.0
    along = director[0].dot(x[2] - x[1]) / length
    return youngs_modulus * thickness**3 / 24.0 * aspect * (longer * longer + along * along)
