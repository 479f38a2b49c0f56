"""Fabrics: orthotropic membranes by three measured curves, of pulling along warp and weft and of shearing.

    U(x) = sum over triangles of A (W_1(e_1) + W_2(e_2) + W_3(gamma)),      W_i' = T_i

    e_1 = |F a| - 1,   e_2 = |F b| - 1,   sin gamma = (F a) . (F b) / (|F a| |F b|)

x (n, 3) [m], A [m^2] the area at rest; a and b (2,) are the directions of warp and weft at rest, at right
angles, a at `fibre_angle` [rad] from the first direction of the material; e [1] their strains, gamma [rad]
the angle by which they are sheared. T_1 and T_2 [N/m] are forces per width of a strip that is pulled along
one of both, T_3 [N/m] the force per length of a frame of four bars that is sheared. Each T is measured: a
monotone cubic through the rows of a file (`fabric_curves`), so that U has two continuous derivatives and each
W is convex. Beyond its first and last rows a curve goes on along its slope there.

A strip that is pulled becomes no narrower: what warp and weft take from each other (crimp) is left out.
"""

from math import pi

from minusgrad.plugin import Parameter, Table, local_energy, ti

from .membranes import TRIANGLE


@ti.func
def curve_energy(curve, strain, start, spacing):
    """W of a strain: rows (W_k, T_k, h T_k') at strains `spacing` apart, from `start` on."""
    last = curve.shape[0] - 1
    place = (strain - start) / spacing
    above = ti.select(place < 0.0, 0.0, place)
    inside = ti.select(above > 1.0 * last, 1.0 * last, above)
    k = ti.min(ti.cast(ti.floor(inside), ti.i32), last - 1)
    s = inside - k
    s2 = s * s
    low, high = curve[k, 1], curve[k + 1, 1]
    rising = s2 * (0.5 - s * (2.0 / 3.0 - 0.25 * s))
    falling = s2 * s * (1.0 / 3.0 - 0.25 * s)
    ahead = s2 * s * (1.0 - 0.5 * s)
    within = low * s + curve[k, 2] * rising - curve[k + 1, 2] * falling + (high - low) * ahead
    beyond = place - inside
    tension = ti.select(beyond < 0.0, low, high)
    slope = ti.select(beyond < 0.0, curve[k, 2], curve[k + 1, 2])
    return curve[k, 0] + spacing * (within + beyond * (tension + 0.5 * slope * beyond))


@local_energy(
    "fabric",
    over="tuples",
    **TRIANGLE,
    warp=Table("N m^-1", axes=2),
    weft=Table("N m^-1", axes=2),
    shear=Table("N m^-1", axes=2),
    starts=Parameter("1", (3,), about="First strains of the three curves."),
    spacings=Parameter(
        "1", (3,), bounds=(0.0, float("inf")), open=True, reason="a curve has steps", about="Steps of strain."
    ),
    fibre_angle=Parameter(
        "rad", default=0.0, bounds=(-2.0 * pi, 2.0 * pi), about="Angle of the warp from the first direction."
    ),
)
def fabric(F, area, warp, weft, shear, starts, spacings, fibre_angle):
    """Fabric of three measured curves: tension along warp and weft, force of shear."""
    cosine, sine = ti.cos(fibre_angle), ti.sin(fibre_angle)
    a = F @ ti.Vector([cosine, sine])
    b = F @ ti.Vector([-sine, cosine])
    sheared = ti.atan2(a.dot(b), a.cross(b).norm())
    along = curve_energy(warp, a.norm() - 1.0, starts[0], spacings[0])
    across = curve_energy(weft, b.norm() - 1.0, starts[1], spacings[1])
    return area * (along + across + curve_energy(shear, sheared, starts[2], spacings[2]))
