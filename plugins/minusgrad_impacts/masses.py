"""Masses joined by springs of variable length above a ground, with times of impact.

    actuated_spring    U = sum over springs of k/2 (|x_a - x_b| - L (1 + swing act))^2
    damped_kick        u = exp(-damping h) v + h (f / m + g)                       the velocity of free flight
    landing            x' = x + tau u,  v' = 0      of masses that the ground stops: u_y < 0, y + h u_y < y_0
                       x' = x + h u,    v' = u      of all others
                       tau = (y_0 - y) / u_y        the time of impact

x (n, d) [m], v and u (n, d) [m/s], f (n, d) [N], m [kg], g (d,) [m/s^2], h [s] the time step, damping
[1/s]; k [N/m], L [m] the length at rest, swing [1] the largest relative change of it, act [1] the
activation, from -1 to 1; y the second component, y_0 [m] the ground's. The ground is sticky. Without the
time of impact tau the derivative of a landing by the velocity would depend on the step: Hu et al. 2020,
DiffTaichi (ICLR), appendix.
"""

from math import inf

from minusgrad.plugin import Datum, Node, Output, Parameter, TimeStep, local_energy, local_map, ti


@local_energy(
    "actuated_spring",
    over=("spring", "mass", "mass"),
    symmetries=("translation", "rotation"),
    x=Node("m", ("d",), of="mass"),
    act=Node(of="spring", bounds=(-1.0, 1.0)),
    stiffness=Parameter("N/m", bounds=(0.0, inf), listed=True, about="Stiffness of a spring."),
    rest=Datum("m", about="Length at rest."),
    swing=Datum(about="Largest change of the length at rest, relative to it."),
)
def actuated_spring(x, act, stiffness, rest, swing):
    """Linear spring whose length at rest an activation changes: a muscle."""
    stretch = (x[1] - x[2]).norm() - rest * (1.0 + swing * act[0])
    return 0.5 * stiffness * stretch * stretch


@local_map(
    "damped_kick",
    gives="u",
    unit="m s^-1",
    shape=("d",),
    over="nodes",
    v=Node("m/s", ("d",)),
    f=Node("N", ("d",)),
    mass=Parameter("kg", bounds=(0.0, inf), open=True, default=1.0, about="Mass of every node."),
    gravity=Parameter("m s^-2", ("d",), about="Acceleration of gravity."),
    damping=Parameter("s^-1", bounds=(0.0, inf), default=0.0, about="Rate at which velocities fade."),
    dt=TimeStep(),
)
def damped_kick(v, f, mass, gravity, damping, dt):
    """The velocity after a step of free flight, damped exactly and accelerated by the force."""
    return ti.exp(-damping * dt) * v[0] + dt * (f[0] / mass + gravity)


@local_map(
    "landing",
    gives={"x_next": Output("m", ("d",)), "v_next": Output("m s^-1", ("d",))},
    over="nodes",
    x=Node("m", ("d",)),
    u=Node("m/s", ("d",)),
    ground=Parameter("m", default=0.0, about="Height of the ground."),
    slowest=Parameter(
        "m/s",
        bounds=(0.0, inf),
        open=True,
        default=1e-4,
        about="Speed downwards below which a mass does not land.",
    ),
    dt=TimeStep(),
)
def landing(x, u, ground, slowest, dt):
    """A step of free flight, ended by the ground at the time of impact of a mass faster than `slowest`."""
    y, down = x[0][1], u[0][1]
    lands = (down < -slowest) & (y + dt * down < ground)
    impact = (ground - y) / ti.min(down, -slowest)
    return x[0] + ti.select(lands, impact, dt) * u[0], ti.select(lands, 0.0, 1.0) * u[0]
