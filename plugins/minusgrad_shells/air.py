"""Air: drag on the facets of surfaces, in air at rest or in a wind.

    R(v, x) = sum over facets of a (rho/6 (C_n (u_n^2 + c^2)^(3/2) + C_t (u_t^2 + c^2)^(3/2))
                                    + k_n/2 u_n^2 + k_t/2 u_t^2)
    u = sum_a N_a v_a - w,       u_n = u . n,       u_t = |u - u_n n|

v (n, 3) [m/s] velocities, w (3,) [m/s] the wind, n (3,) the normal and a [m^2] the area of a facet as it is.
-dR/dv is the drag: rho/2 C_n a |u_n| u_n against the normal velocity, rho/2 C_t a |u_t| u_t against that
along the facet, of both sides together; rho [kg/m^3] is the density of the air, C [1] coefficients of drag,
some 1.2 across a plate and 0.01 along it (Hoerner 1965, Fluid-Dynamic Drag, chapters 2 and 3). Below the
speed c [m/s] the drag is linear, so that R is smooth at rest. k_n and k_t [Pa s/m] are linear drags, as of
slow motion.

A wind is no potential: its force depends on velocities, and does work on a sheet. What has one is a uniform
pressure p on a surface that is closed, or whose rim is held: the energy `pressure`, with
p = rho/2 C_n |w|^2 for a sail at rest across the wind.

Decisions 0134.
"""

from math import inf

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti


@local_energy(
    "air_drag",
    over="tuples",
    unit="W",
    x=Node("m", (3,)),
    v=Node("m s^-1", (3,)),
    shares=Datum("1", ("k",), about="Shape functions at the point, one for each node."),
    tangents=Datum("1", ("k", 2), about="Derivatives of the shape functions along the facet."),
    weight=Datum("1", about="Weight of the quadrature point."),
    air_density=Parameter("kg m^-3", default=1.2, bounds=(0.0, inf), about="Density of the air."),
    normal_drag=Parameter(
        "1", default=1.2, bounds=(0.0, inf), about="Coefficient of drag across the facet, of both sides."
    ),
    tangential_drag=Parameter(
        "1", default=0.01, bounds=(0.0, inf), about="Coefficient of drag along the facet, of both sides."
    ),
    linear_normal_drag=Parameter(
        "Pa s m^-1", default=0.0, bounds=(0.0, inf), about="Force per area and normal velocity, in addition."
    ),
    linear_tangential_drag=Parameter(
        "Pa s m^-1",
        default=0.0,
        bounds=(0.0, inf),
        about="Force per area and velocity along it, in addition.",
    ),
    wind=Parameter("m s^-1", (3,), about="Velocity of the air; [0, 0, 0] at rest."),
    creep=Parameter(
        "m s^-1",
        default="1 mm/s",
        bounds=(0.0, inf),
        open=True,
        reason="at rest drag has no direction",
        about="Speed below which drag is linear, so that rest is smooth.",
    ),
)
def air_drag(
    x,
    v,
    shares,
    tangents,
    weight,
    air_density,
    normal_drag,
    tangential_drag,
    linear_normal_drag,
    linear_tangential_drag,
    wind,
    creep,
):
    """Drag of the air on facets, quadratic in the velocity across and along them; of a wind, too."""
    u = shares[0] * v[0]
    along = 0.0 * x[0]
    beside = 0.0 * x[0]
    for a in ti.static(range(1, len(x))):
        u += shares[a] * v[a]
        along += tangents[a, 0] * (x[a] - x[0])
        beside += tangents[a, 1] * (x[a] - x[0])
    u -= wind
    normal = along.cross(beside)
    size = normal.norm()
    across = u.dot(normal) / size
    normal_sqr = across * across
    along_sqr = (u - across / size * normal).norm_sqr()
    fast, sliding = normal_sqr + creep * creep, along_sqr + creep * creep
    quadratic = normal_drag * fast * ti.sqrt(fast) + tangential_drag * sliding * ti.sqrt(sliding)
    linear = linear_normal_drag * normal_sqr + linear_tangential_drag * along_sqr
    return weight * size * (air_density / 6.0 * quadratic + 0.5 * linear)
