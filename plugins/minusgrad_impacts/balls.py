"""Equal balls that meet, each pair at its own time of impact.

Two balls of radius R with the distance d and the relative velocity w at the start of a step touch at the time
s after it at which |d + s w| = 2 R. With b = d.w, c = |d|^2 - 4 R^2 and q = sqrt(b^2 - c |w|^2):

    s = c / (q - b)                         the smaller root; the balls meet if b < 0, b^2 > c |w|^2, s < dt
    n = (d + s w) / 2R                      the normal where they touch
    u = (1 + e) q / 4R                      half of the change of the closing speed q / 2R; e the restitution
    dv = sum of u n                         the change of velocity
    dx = sum of (dt - s) u n                how far it takes the ball after the impact

    v <- v + dv,    x <- x + dt v + dx

x (n, d) [m], v (n, d) [m/s]. A pair that is alone moves exactly. Without dx (or with dt u n in its place) the
gradient lacks ds/dx = -n / (w.n) and stays wrong for every dt: Hu et al. 2020, DiffTaichi, ICLR, who
introduced times of impact into differentiable simulation. They take n at the end of the step; that it has to
be taken where the balls touch is due to Zhong et al. 2023, Proc. Mach. Learn. Res. 211.

A pair sees the velocities at the start of the step, so balls that meet several others in one step are pushed
by each as if it were the only one.
"""

from math import inf

from minusgrad.plugin import Node, Output, Parameter, TimeStep, local_energy, local_map, ti

X, V = Node("m", ("d",)), Node("m/s", ("d",))


@local_map(
    "impact",
    over="pairs",
    gives={"dv": Output("m/s", ("d",)), "dx": Output("m", ("d",))},
    x=X,
    v=V,
    radius=Parameter(
        "m", bounds=(0.0, inf), open=True, reason="a ball has a size", about="Radius of every ball."
    ),
    restitution=Parameter(
        "1", bounds=(0.0, 1.0), default=1.0, about="Coefficient of restitution: 1 elastic, 0 plastic."
    ),
    dt=TimeStep(),
)
def impact(x, v, radius, restitution, dt):
    """Change of velocity of a ball that meets another, and the way that it goes by it in the same step."""
    d, w = x[0] - x[1], v[0] - v[1]
    b, c = d.dot(w), d.dot(d) - 4.0 * radius * radius
    root = b * b - c * w.dot(w)
    q = ti.sqrt(root)
    s = c / (q - b)
    meets = (b < 0.0) & (root > 0.0) & (s < dt)
    before = ti.select(meets, s, 0.0)
    after = ti.select(meets, dt - s, 0.0)
    dv = ti.select(meets, 0.125 * (1.0 + restitution) * q / (radius * radius), 0.0) * (d + before * w)
    return dv, after * dv


@local_map(
    "roll",
    over="nodes",
    gives={"x_next": Output("m", ("d",)), "v_next": Output("m/s", ("d",))},
    x=X,
    v=V,
    dx=X,
    dv=V,
    dt=TimeStep(),
)
def roll(x, v, dx, dv, dt):
    """Free motion for a step, with the impacts within it."""
    return x[0] + dt * v[0] + dx[0], v[0] + dv[0]


@local_energy("pocket", over="nodes", unit="m^2", x=X, at=Parameter("m", ("d",), about="The place."))
def pocket(x, at):
    """Squared distance from a place [m^2]."""
    return (x[0] - at).norm_sqr()
