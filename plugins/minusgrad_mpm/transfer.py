"""Transfer of mass and momentum between particles and a grid by quadratic B-splines (APIC).

    p_i = sum over particles of w_i (q + A (X_i - x)),      mass_i = sum over particles of w_i m
    w_i = product over the axes of N((X_i - x) / h)
    N(r) = 3/4 - r^2  for |r| < 1/2,      (3/2 - |r|)^2 / 2  for |r| < 3/2,      0 beyond

x (n, d) [m] places of particles, X_i those of cells, h [m] the spacing; q (n, d) [kg m/s] momentum and
A (n, d, d) [kg/s] affine momentum of particles; p (cells, d) [kg m/s], mass (cells,) [kg]. A particle reaches
3 cells along each axis, and the weights of its cells sum to one: mass, momentum and angular momentum are
conserved. The axes of the grid are those of space in reverse order: x runs along the last one.

The transpose with respect to q and A, paired with velocities V, is the gather from the grid to particles:

    dE/dq = sum over i of w_i V_i,      dE/dA = sum over i of w_i V_i (X_i - x)^T,      E = sum of V . p

so that v_next = dE/dq, and C_next = D^-1 dE/dA with D^-1 = 4 / h^2, the inverse of the second moment of N. A
`[[slope]]` through `to_grid` gives it; `to_particles` is the same as a map from cells, whose adjoint costs a
third, as it needs no second derivatives of `to_grid`.

Jiang et al. 2015, ACM Trans. Graph. 34(4), 51; Steffen, Kirby & Berzins 2008, Int. J. Numer. Methods Eng. 76,
922 (splines).
"""

from minusgrad.plugin import At, Cell, Node, Output, Parameter, local_map, ti

PLACE = Node("m", ("d",))


def reached_cells(x, h):
    """The three cells along each axis within 3/2 of a spacing, of the axes in reverse order."""
    d = x[0].n
    low = [ti.floor(x[0][d - 1 - a] / h - 0.5) for a in ti.static(range(d))]
    return low, [corner + 2.0 for corner in low]


@ti.func
def spline(r):
    """N(r)."""
    a = ti.abs(r)
    left = ti.max(1.5 - a, 0.0)
    return ti.select(a < 0.5, 0.75 - a * a, 0.5 * left * left)


@local_map(
    "to_grid",
    over="nodes",
    gives={"p": Output("kg m s^-1", ("d",)), "mass": Output("kg")},
    x=PLACE,
    q=Node("kg m s^-1", ("d",)),
    A=Node("kg s^-1", ("d", "d")),
    m=Node("kg"),
    at=Cell(window=reached_cells, spacing="h"),
    h=Parameter("m"),
)
def to_grid(x, q, A, m, at, h):
    """Momentum and mass of the cells around each particle."""
    d = x[0].n
    away = ti.Vector([at[d - 1 - a] * h - x[0][a] for a in ti.static(range(d))])
    w = 1.0
    for a in ti.static(range(d)):
        w *= spline(away[a] / h)
    return w * (q[0] + A[0] @ away), w * m[0]


@local_map(
    "to_particles",
    over="nodes",
    gives={"v_next": Output("m s^-1", ("d",)), "C_next": Output("s^-1", ("d", "d"))},
    x=PLACE,
    V=At("m s^-1", ("d",)),
    at=Cell(window=reached_cells, spacing="h"),
    h=Parameter("m"),
)
def to_particles(x, V, at, h):
    """Velocity and affine velocity of each particle, from the cells around it."""
    d = x[0].n
    away = ti.Vector([at[d - 1 - a] * h - x[0][a] for a in ti.static(range(d))])
    w = 1.0
    for a in ti.static(range(d)):
        w *= spline(away[a] / h)
    return w * V, (4.0 / (h * h)) * w * V.outer_product(away)
