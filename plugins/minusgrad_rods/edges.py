"""Stretch and shear of the edges of rods, which tie the frame of an edge to its direction.

    cosserat    U = sum over edges of l/2 (E A (v_3 - 1)^2 + G A_1 v_1^2 + G A_2 v_2^2)  +  unit
    kirchhoff   U = sum over edges of l/2 E A (|r| / l - 1)^2 + K E I_p / (2 l) |r / |r| - d_3|^2  +  unit
    unit        U = E I_p / (2 l) (|q|^2 - 1)^2

x (n, 3) [m]; q (e, 4) [1] the quaternion of the frame d_1, d_2, d_3 of each edge; r = x_1 - x_0, v_k = r .
d_k / l the strains of an edge of length l [m] at rest. A, A_1, A_2 [m^2] area and the areas that bear shear,
I_p [m^4] the sum of the second moments; E, G [Pa].

All else of a rod reads the directions d_k of q / |q| alone, so that the term `unit` vanishes at every
equilibrium and changes none: no constraint is needed, and whatever minimises or steps takes rods. Without
shear d_3 is the direction of the edge in the limit l -> 0: the tie K = 100 makes the deflection of a
cantilever of length L too large by 3 I l^2 / (K I_p L^2) parts, of second order in l as all other errors,
whatever the thickness.

Simo 1985, Comput. Methods Appl. Mech. Engrg 49, 55 (the rod); Lang, Linn & Arnold 2011, Multibody Syst. Dyn.
25, 285 (quaternions on edges, positions on nodes).

Decisions 0188, 0189.
"""

from minusgrad.plugin import local_energy, ti

from .roles import AREA, LENGTH, POLAR, SHEAR, SHEAR_AREAS, YOUNG, Q, X
from .rotations import material_axes

TIE = 100.0
"""K, the stiffness of the tie of a rod without shear in parts of that of bending on an edge."""
EDGE = ("rod_edge", "rod_node", "rod_node")


@ti.func
def unit_energy(q, length, polar, youngs_modulus):
    """The energy that keeps a quaternion of unit length."""
    size = q.norm_sqr() - 1.0
    return 0.5 * youngs_modulus * polar / length * size * size


@local_energy(
    "cosserat_edge",
    over=EDGE,
    x=X,
    q=Q,
    length=LENGTH,
    area=AREA,
    shear_areas=SHEAR_AREAS,
    polar=POLAR,
    youngs_modulus=YOUNG,
    shear_modulus=SHEAR,
)
def cosserat_edge(x, q, length, area, shear_areas, polar, youngs_modulus, shear_modulus):
    """Stretch and shear of an edge of a rod."""
    d1, d2, d3 = material_axes(q[0])
    v = (x[2] - x[1]) / length
    e, a, b = v.dot(d3) - 1.0, v.dot(d1), v.dot(d2)
    sheared = shear_modulus * (shear_areas[0] * a * a + shear_areas[1] * b * b)
    stretched = youngs_modulus * area * e * e
    return 0.5 * length * (stretched + sheared) + unit_energy(q[0], length, polar, youngs_modulus)


@local_energy(
    "kirchhoff_edge",
    over=EDGE,
    x=X,
    q=Q,
    length=LENGTH,
    area=AREA,
    polar=POLAR,
    youngs_modulus=YOUNG,
)
def kirchhoff_edge(x, q, length, area, polar, youngs_modulus):
    """Stretch of an edge of a rod without shear, whose frame follows the direction of the edge."""
    _, _, d3 = material_axes(q[0])
    r = x[2] - x[1]
    size = r.norm()
    strain, aside = size / length - 1.0, r / size - d3
    tied = TIE * polar / length * aside.norm_sqr()
    stretched = 0.5 * youngs_modulus * (area * length * strain * strain + tied)
    return stretched + unit_energy(q[0], length, polar, youngs_modulus)
