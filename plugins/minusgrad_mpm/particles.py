"""Maps of particles: deformation, momentum that goes to the grid, motion.

    deformation     F_next = (1 + dt C) F
    of a fluid      F_next = (det(1 + dt C) J)^(1/d) 1,   J = det F              it keeps its volume alone
    with stress     q = m v,          A = m C - dt D^-1 P F_next^T
    with force      q = m v + dt f,   A = m C
    activation      a = h of the particle's muscle, 0 of particles of none
    motion          x_next = x + dt v_next

F (n, d, d) [1] deformation gradients; v (n, d) [m/s]; C (n, d, d) [1/s] the affine velocity, which is the
gradient of the grid's velocity; m (n,) [kg]; P (n, d, d) [J] the derivative of a particle's energy with
respect to F_next, so that P F_next^T is its volume at rest times the Kirchhoff stress; f (n, d) [N];
a (n,), h (muscles,) [1]; D^-1 = 4 / h^2 [1/m^2] for quadratic splines on a grid of spacing h.

Hu et al. 2018, ACM Trans. Graph. 37(4), 150, eqs. (16) to (18).
"""

from math import inf

from minusgrad.plugin import Node, Output, Parameter, TimeStep, local_map, ti

VECTOR, MATRIX = ("d",), ("d", "d")
PLACE, VELOCITY, MASS = Node("m", VECTOR), Node("m s^-1", VECTOR), Node("kg")
AFFINE, STRETCH = Node("s^-1", MATRIX, scale=0.1), Node("1", MATRIX)


@ti.func
def moved_by(C, dt):
    """1 + dt C."""
    return ti.Matrix.identity(ti.f64, C.n) + dt * C


@local_map(
    "particle_deformation", over="nodes", gives="F_next", shape=MATRIX, F=STRETCH, C=AFFINE, dt=TimeStep()
)
def particle_deformation(F, C, dt):
    """The deformation gradient after a step."""
    return moved_by(C[0], dt) @ F[0]


@local_map(
    "fluid_deformation", over="nodes", gives="F_next", shape=MATRIX, F=STRETCH, C=AFFINE, dt=TimeStep()
)
def fluid_deformation(F, C, dt):
    """The same for a fluid, which forgets all but its volume."""
    J = moved_by(C[0], dt).determinant() * F[0].determinant()
    return J ** (1.0 / F[0].n) * ti.Matrix.identity(ti.f64, F[0].n)


@local_map("activation", over=("particle", "muscle"), gives="a", h=Node(of="muscle"))
def activation(h):
    """The activation of each particle, which is that of its muscle."""
    return h[1]


MOMENTA = {"q": Output("kg m s^-1", VECTOR), "A": Output("kg s^-1", MATRIX)}


@local_map(
    "momentum_with_stress",
    over="nodes",
    gives=MOMENTA,
    v=VELOCITY,
    C=AFFINE,
    m=MASS,
    F=STRETCH,
    P=Node("J", MATRIX),
    inverse_moment=Parameter(
        "m^-2", bounds=(0.0, inf), about="Inverse of the second moment of the spline, 4 / spacing^2."
    ),
    dt=TimeStep(),
)
def momentum_with_stress(v, C, m, F, P, inverse_moment, dt):
    """Momentum of particles with stress."""
    return m[0] * v[0], m[0] * C[0] - dt * inverse_moment * (P[0] @ F[0].transpose())


@local_map(
    "momentum_with_force",
    over="nodes",
    gives=MOMENTA,
    v=VELOCITY,
    C=AFFINE,
    m=MASS,
    f=Node("N", VECTOR),
    dt=TimeStep(),
)
def momentum_with_force(v, C, m, f, dt):
    """Momentum of particles that are pushed: of the nodes of a mesh, for instance."""
    return m[0] * v[0] + dt * f[0], m[0] * C[0]


@local_map(
    "particles_moved",
    over="nodes",
    gives="x_next",
    unit="m",
    shape=VECTOR,
    x=PLACE,
    v=VELOCITY,
    dt=TimeStep(),
)
def particles_moved(x, v, dt):
    """Particles move with the velocity that the grid gave them."""
    return x[0] + dt * v[0]


@local_map(
    "particles_moved_within",
    over="nodes",
    gives="x_next",
    unit="m",
    shape=VECTOR,
    x=PLACE,
    v=VELOCITY,
    low=Parameter("m", VECTOR, about="Lower corner of the box."),
    high=Parameter("m", VECTOR, about="Upper corner of the box."),
    dt=TimeStep(),
)
def particles_moved_within(x, v, low, high, dt):
    """The same, clamped to a box: a particle that would leave it stays on its side."""
    return ti.min(ti.max(x[0] + dt * v[0], low), high)
