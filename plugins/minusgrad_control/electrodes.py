"""Charges that electrodes steer towards moving goals.

    way_point_line      g_i = sum over way points k of w(t/T - k) p_ik        g (n, d) [m]
                        u_i = dg_i/dt                                         u (n, d) [m/s]
    electrode           U = sum over electrodes e of C q_e phi(|x - X_e|)     [J]
    pursuit             v <- exp(-c dt) v + dt f/m,   x <- x + dt v,   l <- l + dt |x - g|^2
    running_cost        L = a sum over charges of l

p (n w, d) [m] the way points, T [s] the time between two of them, t [s] the time; x, v, f (n, d)
[m, m/s, N] the charges, X (d,) [m] the place of an electrode, q [1] the part of its largest charge that it
has, C [N m^2] the product of that charge, the other one and Coulomb's constant; c [1/s] the damping, m [kg]
the mass, l (n,) [m^2 s] the running cost, a [1/(m^2 s)] its weight.

w(s) = max(1 - |s|, 0), so a goal moves on straight lines, and at a way point its velocity is that of the next
one. Electrodes are balls of radius R with a uniform charge:
phi(r) = 1/r outside, (3 R^2 - r^2) / (2 R^3) inside (Griffiths 2013, Introduction to Electrodynamics, ch. 2).
Inside its force is linear, as that of `electric` in DiffTaichi (Hu et al. 2020, ICLR).
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Output, Parameter, Time, TimeStep, local_energy, local_map, ti

VECTOR: tuple[Any, ...] = ("d",)
ABOVE: dict[str, Any] = {"bounds": (0.0, inf), "open": True}


@local_map(
    "way_point_line",
    gives={"goal": Output("m", VECTOR), "goal_velocity": Output("m/s", VECTOR)},
    over=("goal", "way_point"),
    way_point=Node("m", VECTOR, of="way_point"),
    knot=Datum(about="Time of a way point, in intervals."),
    interval=Parameter("s", **ABOVE, about="Time between two way points."),
    t=Time(),
)
def way_point_line(way_point, knot, interval, t):
    """Goals on straight lines from way point to way point, and their velocities."""
    s = t / interval - knot
    rises, falls = ti.select(s < -1.0, 0.0, 1.0), ti.select(s < 1.0, -1.0, 0.0)
    slope = ti.select(s < 0.0, rises, falls)
    return ti.max(1.0 - abs(s), 0.0) * way_point[1], slope / interval * way_point[1]


@local_energy(
    "electrode",
    over=("charge", "electrode"),
    x=Node("m", VECTOR, of="charge"),
    q=Node(of="electrode"),
    place=Datum("m", VECTOR, about="Place of the electrode."),
    strength=Parameter(
        "N m^2", about="Largest charge of an electrode times the other charge and Coulomb's constant."
    ),
    radius=Parameter("m", **ABOVE, about="Radius of an electrode."),
)
def electrode(x, q, place, strength, radius):
    """A point charge and an electrode, a ball with a uniform charge that a controller sets."""
    d = x[0] - place
    squared = d.norm_sqr()
    outside = squared > radius * radius
    r = ti.sqrt(ti.select(outside, squared, radius * radius))
    inside = (3.0 * radius * radius - squared) / (2.0 * radius * radius * radius)
    return strength * q[1] * ti.select(outside, 1.0 / r, inside)


@local_map(
    "pursuit",
    gives={
        "x_next": Output("m", VECTOR),
        "v_next": Output("m/s", VECTOR),
        "cost_next": Output("m^2 s"),
    },
    over="nodes",
    x=Node("m", VECTOR),
    v=Node("m/s", VECTOR),
    f=Node("N", VECTOR),
    goal=Node("m", VECTOR),
    cost=Node("m^2 s"),
    mass=Parameter("kg", **ABOVE, about="Mass of a charge."),
    damping=Parameter("s^-1", bounds=(0.0, inf), about="Rate at which velocities fade."),
    dt=TimeStep(),
)
def pursuit(x, v, f, goal, cost, mass, damping, dt):
    """A damped step of a charge, and the cost of its distance to the goal before it."""
    v_next = ti.exp(-damping * dt) * v[0] + dt / mass * f[0]
    return x[0] + dt * v_next, v_next, cost[0] + dt * (x[0] - goal[0]).norm_sqr()


@local_energy(
    "running_cost",
    over="nodes",
    unit="1",
    cost=Node("m^2 s"),
    weight=Parameter("m^-2 s^-1", default=1.0, about="Weight of the running cost."),
)
def running_cost(cost, weight):
    """A sum over the costs of copies."""
    return weight * cost[0]
