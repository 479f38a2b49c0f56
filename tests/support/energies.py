"""Energies and maps that exist for the tests only: together they use everything that one may be.

Each opens with its equation. `tests/support/instances.py` holds an instance of each.
"""

from minusgrad import Cell, Datum, Node, Parameter, Table, Time, erf, local_energy, local_map, ti

X = Node("m", ("d",))
X2 = Node("m", (2,))


@local_energy("spring", over=2, x=X, k=Parameter("N/m", default=2.0), rest=Datum("m", differentiable=True))
def spring(x, k, rest):
    """k (|x_0 - x_1| - rest)^2 / 2."""
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * k * stretch * stretch


@local_energy(
    "trap", over="nodes", x=X, k=Parameter("N/m", default=1.5), w=Parameter("s^-1", default=0.7), t=Time()
)
def trap(x, k, w, t):
    """k (1 + sin(w t) / 2) |x|^2 / 2: depends on the time explicitly."""
    return 0.5 * k * (1.0 + 0.5 * ti.sin(w * t)) * x[0].norm_sqr()


@local_energy("site", over="nodes", phi=Node(), m2=Parameter(default=-1.0), lam=Parameter(default=0.5))
def site(phi, m2, lam):
    """m2 phi^2 / 2 + lam phi^4 / 4: on-site part of the phi-4 lattice."""
    return 0.5 * m2 * phi[0] ** 2 + 0.25 * lam * phi[0] ** 4


@local_energy("link", over=2, phi=Node(), phi_0=Parameter(default=0.3))
def link(phi, phi_0):
    """(phi_0 - phi_1 - shift)^2 / 2 between neighbours; the parameter's name begins like a leaf's."""
    return 0.5 * (phi[0] - phi[1] - phi_0) ** 2


@local_energy(
    "membrane",
    over=3,
    x=X2,
    inverse_rest=Datum("m^-1", (2, 2), differentiable=True),
    mu=Parameter(default=1.0),
    lam=Parameter(default=0.6),
)
def membrane(x, inverse_rest, mu, lam):
    """mu (tr F^T F - 2 - 2 log J) / 2 + lam (log J)^2 / 2 + (tr F^-1)^2 / 20, F = D D_rest^-1, J = det F."""
    D = ti.Matrix.cols([x[1] - x[0], x[2] - x[0]])
    F = D @ inverse_rest
    log_J = ti.log(F.determinant())
    stretch = (F.transpose() @ F).trace()
    back = F.inverse().trace()
    return 0.5 * mu * (stretch - 2.0 - 2.0 * log_J) + 0.5 * lam * log_J * log_J + 0.05 * back * back


@local_energy("contact", over=2, x=X, k=Parameter(default=5.0), gap=Parameter("m", default=2.0))
def contact(x, k, gap):
    """k depth^2 / 2 within the gap, softened to k (depth - 1/8) / 4 where depth > 1/4, else 0."""
    depth = gap - (x[0] - x[1]).norm()
    u = 0.0
    if depth > 0.25:
        u = 0.25 * k * (depth - 0.125)
    elif depth > 0.0:
        u = 0.5 * k * depth * depth
    return u


@local_energy(
    "limits", over=2, x=X, y=Node("1"), a=Parameter(default=0.7), w=Parameter(shape=(2,), default=1.0)
)
def limits(x, y, a, w):
    """Everything that has a kink: select, min, max, abs, clamp, sign."""
    r = x[0] - x[1]
    chosen = ti.select(y[0] > a, y[0] * y[0], ti.sin(y[0]) + r[0])
    bounded = ti.math.clamp(y[1], -0.5, a) * w[0] + ti.min(r[0], r[1], a) * w[1]
    return chosen + bounded + ti.max(r.norm(), y[0]) + abs(y[1] - r[1]) * ti.math.sign(r[0]) + r.max()


@local_energy("kinds", over=2, x=X, order=Datum(integer=True), k=Parameter(default=2.0))
def kinds(x, order, k):
    """r^2, r or log r by the order of the bond (its datum), times k and half the order."""
    r = (x[0] - x[1]).norm()
    u = 0.0
    if order == 0:
        u = r * r
    elif order == 1:
        u = r
    else:
        u = ti.log(r)
    return k * u * (order // 2 + 0.5 * (order % 2) + 0.25)


@local_energy("powers", over=2, q=Node(), n=Parameter(default=2.4))
def powers(q, n):
    """Constant, half, negative and variable exponents of positive bases, and the smooth functions of one."""
    a, b = 1.0 + q[0] ** 2, ti.exp(0.3 * q[1])
    u = a**2.5 + b**-3 + a**0.5 * b ** (-1.5) + a**n + 2.0 ** q[1] + b**1.3
    return u + ti.tanh(q[0]) * ti.cos(q[1]) + ti.atan2(a, b) + ti.asin(0.5 / a) + ti.acos(0.3 / a)


@local_energy(
    "flicker",
    over="pairs",
    x=X,
    q=Node("A s"),
    c=Parameter(shape=(2,), default=1.0),
    w=Parameter("s^-1"),
    t=Time(),
)
def flicker(x, q, c, w, t):
    """q_0 q_1 (c_0 + c_1 cos(w t)) / sqrt(r^2 + 1/10): a pair with a parameter of two, and the time."""
    return q[0] * q[1] * (c[0] + c[1] * ti.cos(w * t)) * (x[0] - x[1]).norm_inv(0.1)


@local_energy("grains", over="pairs", F=Node(shape=(2, 2)), s=Node(), A=Parameter(shape=(2, 2), default=1.0))
def grains(F, s, A):
    """tr(F_0 F_1) + s_0 s_1 det(F_0 + F_1) A_01 + |A|^2: matrices at nodes, and one for all."""
    mixed = s[0] * s[1] * (F[0] + F[1]).determinant() * A[0, 1]
    return (F[0] @ F[1]).trace() + mixed + (A * A).sum()


@local_energy(
    "flags", over=3, y=Node(), flag=Datum(shape=(2,), integer=True), B=Datum(shape=(2,), differentiable=True)
)
def flags(y, flag, B):
    """y_0^2 y_1 B_0 or y_2 B_1, by two integers of the element."""
    u = 0.0
    if flag[0] == 1 and flag[1] > 0:
        u = y[0] ** 2 * y[1] * B[0]
    elif flag[0]:
        u = y[2] * B[1] ** 2
    return u + (flag[0] // 2 + flag[1] % 2) * y[1] * B[0]


@local_energy("staircase", over="nodes", q=Node(), heights=Table(axes=1), c=Parameter(default=1.3))
def staircase(q, heights, c):
    """c (h_k (1 - b) + h_{k+1} b) + erf(q): between the numbers of a table, k + b = 3 + q."""
    place = ti.floor(q[0] + 3.0)
    k, b = ti.cast(place, ti.i32), q[0] + 3.0 - place
    return c * (heights[k] * (1.0 - b) + heights[k + 1] * b) + erf(q[0])


@local_energy("readout", over="nodes", y=Node(), lean=Node())
def readout(y, lean):
    """(lean + y / 2) y: what the tests sum over a field that maps give."""
    return (lean[0] + 0.5 * y[0]) * y[0]


@local_map(
    "electron_density",
    gives="rho",
    over="pairs",
    x=X,
    s=Node("A s"),
    reach=Parameter("m", default=0.7),
    tilt=Parameter(shape=(2,), default=0.2),
)
def electron_density(x, s, reach, tilt):
    """s_1 exp(-r^2 / reach^2) + tilt_0 x_0 s_0 + tilt_1 s_1^2: the receiver and the giver differ."""
    r = x[0] - x[1]
    bulk = s[1] * ti.exp(-r.dot(r) / (reach * reach))
    return bulk + tilt[0] * x[0][0] * s[0] + tilt[1] * s[1] * s[1]


@local_map(
    "bonds",
    gives="strain",
    over=2,
    x=X,
    w=Datum(shape=("k",), differentiable=True),
    sort=Datum(integer=True),
    c=Parameter(default=0.3),
    t=Time(),
)
def bonds(x, w, sort, c, t):
    """c r + w_0 x_1 + (w_1 + sort) sin t: of a tuple the first node receives."""
    return c * (x[0] - x[1]).norm() + w[0] * x[1][0] + (w[1] + sort) * ti.sin(t)


@local_map("threshold", gives="depth", over="nodes", rho=Node(), a=Parameter(default=4.0), level=Parameter())
def threshold(rho, a, level):
    """1 / (1 + exp(-a (rho - level)))."""
    return 1.0 / (1.0 + ti.exp(-a * (rho[0] - level)))


def _spline_window(x, h):
    low = [ti.floor(x[0][a] / h - 0.5) for a in ti.static(range(x[0].n))]
    return low, [a + 2.0 for a in low]


@local_map(
    "splines",
    gives="mass",
    over="nodes",
    x=X,
    m=Node("kg"),
    at=Cell(window=_spline_window, spacing="h"),
    h=Parameter("m"),
)
def splines(x, m, at, h):
    """m times a product of quadratic B-splines of x / h - p (material points on a grid)."""
    weight = m[0]
    for a in ti.static(range(x[0].n)):
        u = ti.abs(x[0][a] / h - at[a])
        weight *= ti.select(u < 0.5, 0.75 - u * u, 0.5 * ti.max(1.5 - u, 0.0) ** 2)
    return weight


def _cloud_window(x, v, size, h, t):
    p, q = x[0] + v * t, x[1] + v * t
    low = [(ti.min(p[a], q[a]) - size) / h for a in ti.static(range(2))]
    return low, [(ti.max(p[0], q[0]) + size) / h, (ti.max(p[1], q[1]) + 2.0 * size) / h]


@local_map(
    "clouds",
    gives="smoke",
    over=2,
    x=X2,
    v=Datum("m s^-1", (2,), differentiable=True),
    size=Parameter("m", default=0.8),
    sort=Datum(integer=True),
    at=Cell(window=_cloud_window, spacing="h"),
    h=Parameter("m"),
    t=Time(),
)
def clouds(x, v, size, sort, at, h, t):
    """(1 + sort) |x_0 - x_1|^(1/2) exp(-|r|^2 / size^2), r = p h - v t - centre, where r_0 > -size / 2."""
    r = ti.Vector([at[0] * h, at[1] * h]) - v * t - 0.5 * (x[0] + x[1])
    u = 0.0
    if r[0] > -0.5 * size:
        u = (1.0 + sort) * ti.sqrt((x[0] - x[1]).norm()) * ti.exp(-r.norm_sqr() / (size * size))
    return u


def _stamp_window(x, size):
    row = ti.floor(x[0][0]) - 1
    return [row, x[0][1] - size], [row + 4, x[0][1] + size]


@local_map(
    "stamps",
    gives="ink",
    over="nodes",
    x=X2,
    size=Parameter(default=2.0),
    at=Cell(window=_stamp_window),
    profile=Table(axes=1),
    face=Table(axes=2),
)
def stamps(x, size, at, profile, face):
    """Tables read where the window says it (the rows), and where it does not (the columns)."""
    row = at[0] - ti.cast(ti.floor(x[0][0]), ti.i32)
    column = ti.cast(ti.floor(2.0 * (at[1] - x[0][1]) + size), ti.i32)
    b = x[0][0] - ti.floor(x[0][0])
    edge = profile[row] * (1.0 - b) + profile[row - 1] * b
    return edge * (size * face[row, column] + 0.1 * face[column, row + 1] * x[0][1]) + 0.01 * profile[at[1]]
