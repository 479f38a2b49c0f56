"""Rigid boxes in the plane that land on a ground, with springs and joints between them.

x (n, 2) [m] the centres, v (n, 2) [m/s], angle (n,) [rad], omega (n,) [rad/s], half (n, 2) [m] half the
sizes, m (n,) [kg], inertia (n,) [kg m^2]. A point at p in a body's own axes lies at x + r, r = R(angle) p.

    strut       U = k/2 (|a - b| - L (1 + g act))^2            between points a and b of two bodies
    joint       U = k/2 |a - b|^2                              holds two points together

A step, with f = -dU/dx and torque = -dU/dangle:

    free        u = s v + dt (f / m - g e_y),   w = s omega + dt torque / inertia,      s = exp(-dt damping)
    hinge       the impulse K^-1 (u_b - u_a) that brings both points of a joint to one velocity,
                K = sum over both bodies of (1 / m + t t^T / inertia), t = (-r_y, r_x); of (v, omega), so
                that the springs of joints still close their gaps, read `fields = { u = "v", w = "omega" }`
    corner      a corner at height c above the ground that would cross it with its velocity (u_t, u_n) gets
                j_n = -(1 + e) u_n / (1 / m + r_x^2 / inertia),    |j_t| <= mu j_n        Coulomb's friction
                at the time of impact s = c / -u_n; below the ground it is lifted by stiffness x depth
    motion      v <- u + dv,   x <- x + dt (u + dv) - sum of s dv,   and so for the angles

dv and domega are sums over all impulses j, of j / m and (r x j) / inertia; each sees the velocities (u, w).

The body of DiffTaichi's rigid_body.py (Hu et al. 2020, ICLR), whose ground, springs, damping and times of
impact these are; its joints have an effective mass along one direction in the place of K (for K see Catto
2009, Game Developers Conference). Time of impact: `balls`.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Output, Parameter, TimeStep, local_energy, local_map, ti

PLANE: Any = (2,)
X, V, ANGLE, OMEGA = Node("m", PLANE), Node("m/s", PLANE), Node("rad"), Node("rad/s")
MASS = Node("kg", bounds=(0.0, inf), open=True, reason="a body has a mass")
INERTIA = Node("kg m^2", bounds=(0.0, inf), open=True, reason="a body has an inertia")
MOTION: dict[str, Any] = {"u": V, "w": OMEGA}
JUMPS = {"dv": Output("m/s", PLANE), "domega": Output("rad/s")}
POINT = Datum("m", PLANE, about="Point in the axes of a box.")
STIFFNESS = Parameter("N/m", bounds=(0.0, inf), listed=True, about="Stiffness of the spring.")


@ti.func
def turn_vector(angle, p):
    """A vector of a body in the axes of the plane."""
    c, s = ti.cos(angle), ti.sin(angle)
    return ti.Vector([c * p[0] - s * p[1], s * p[0] + c * p[1]])


@ti.func
def turning_velocity(r):
    """The velocity at r of a turn by 1 rad/s."""
    return ti.Vector([-r[1], r[0]])


@local_energy(
    "actuated_strut",
    over=("strut", "box", "box"),
    x=Node("m", PLANE, of="box"),
    angle=Node("rad", of="box"),
    act=Node(of="strut"),
    first=POINT,
    second=POINT,
    rest=Datum("m", about="Length at rest."),
    k=STIFFNESS,
    gain=Parameter(
        default=0.05,
        listed=True,
        about="Change of the length at rest at an activation of one, relative to it.",
    ),
)
def actuated_strut(x, angle, act, first, second, rest, k, gain):
    """A spring between points of two bodies, whose length at rest follows an activation."""
    d = x[1] + turn_vector(angle[1], first) - x[2] - turn_vector(angle[2], second)
    stretch = d.norm() - rest * (1.0 + gain * act[0])
    return 0.5 * k * stretch * stretch


@local_energy("joint", over=2, x=X, angle=ANGLE, first=POINT, second=POINT, k=STIFFNESS)
def joint(x, angle, first, second, k):
    """A spring of no length that holds points of two bodies together."""
    d = x[0] + turn_vector(angle[0], first) - x[1] - turn_vector(angle[1], second)
    return 0.5 * k * d.norm_sqr()


@local_map(
    "free",
    over="nodes",
    gives={"u": Output("m/s", PLANE), "w": Output("rad/s")},
    v=V,
    omega=OMEGA,
    force=Node("N", PLANE),
    torque=Node("N m"),
    m=MASS,
    inertia=INERTIA,
    gravity=Parameter("m s^-2", default=9.8, about="Acceleration of gravity, downwards along y."),
    damping=Parameter("s^-1", default=0.0, about="Rate at which velocities fade."),
    dt=TimeStep(),
)
def free(v, omega, force, torque, m, inertia, gravity, damping, dt):
    """Velocities after a step without impacts, with weight and damping."""
    s = ti.exp(-damping * dt)
    u = s * v[0] + dt * (force[0] / m[0] - ti.Vector([0.0, gravity]))
    return u, s * omega[0] + dt * torque[0] / inertia[0]


@local_map(
    "hinge",
    over=2,
    gives=JUMPS,
    **MOTION,
    angle=ANGLE,
    m=MASS,
    inertia=INERTIA,
    here=POINT,
    there=POINT,
)
def hinge(u, w, angle, m, inertia, here, there):
    """The change of the first body's velocities that keeps two points together, half of a pair's work."""
    t, o = turning_velocity(turn_vector(angle[0], here)), turning_velocity(turn_vector(angle[1], there))
    apart = u[1] + w[1] * o - u[0] - w[0] * t
    xx = 1.0 / m[0] + 1.0 / m[1] + t[0] * t[0] / inertia[0] + o[0] * o[0] / inertia[1]
    yy = 1.0 / m[0] + 1.0 / m[1] + t[1] * t[1] / inertia[0] + o[1] * o[1] / inertia[1]
    xy = t[0] * t[1] / inertia[0] + o[0] * o[1] / inertia[1]
    j = ti.Vector([yy * apart[0] - xy * apart[1], xx * apart[1] - xy * apart[0]]) / (xx * yy - xy * xy)
    return j / m[0], t.dot(j) / inertia[0]


@local_map(
    "corner",
    over="nodes",
    gives=JUMPS | {"back": Output("m", PLANE), "back_angle": Output("rad")},
    x=X,
    angle=ANGLE,
    **MOTION,
    half=Node("m", PLANE),
    m=MASS,
    inertia=INERTIA,
    height=Parameter("m", default=0.0, about="Height of the ground."),
    friction=Parameter("1", default=1.0, bounds=(0.0, inf), about="Coulomb's coefficient of friction."),
    restitution=Parameter(
        "1", default=0.0, bounds=(0.0, 1.0), about="Coefficient of restitution: 1 elastic, 0 plastic."
    ),
    stiffness=Parameter(
        "s^-2",
        default=1e4,
        bounds=(0.0, inf),
        about="Acceleration per depth that lifts a corner below the ground.",
    ),
    dt=TimeStep(),
)
def corner(x, angle, u, w, half, m, inertia, height, friction, restitution, stiffness, dt):
    """Impacts of a box's four corners with the ground, each at its time, with Coulomb's friction."""
    dv, back = 0.0 * x[0], 0.0 * x[0]
    domega, back_angle = 0.0 * w[0], 0.0 * w[0]
    for k in ti.static(range(4)):
        p = ti.Vector([(2.0 * (k % 2) - 1.0) * half[0][0], (2.0 * (k // 2) - 1.0) * half[0][1]])
        r = turn_vector(angle[0], p)
        speed = u[0] + w[0] * turning_velocity(r)
        above = x[0][1] + r[1] - height
        below = above + dt * speed[1] < 0.0
        meets = below & (speed[1] < 0.0)
        share = 1.0 / (1.0 / m[0] + r[0] * r[0] / inertia[0])
        j = ti.select(meets, -(1.0 + restitution) * speed[1] * share, 0.0)
        stop = -speed[0] / (1.0 / m[0] + r[1] * r[1] / inertia[0])
        slide = ti.min(friction * j, ti.max(-friction * j, stop))
        time = ti.select(meets & (above > 0.0), -above / speed[1], 0.0)
        lift = ti.select(below, -dt * stiffness * (above + dt * speed[1]) * share, 0.0)
        push = ti.Vector([slide, j])
        dv += (push + ti.Vector([0.0, lift])) / m[0]
        domega += (turning_velocity(r).dot(push) + r[0] * lift) / inertia[0]
        back -= time * push / m[0]
        back_angle -= time * turning_velocity(r).dot(push) / inertia[0]
    return dv, domega, back, back_angle


@local_map(
    "motion",
    over="nodes",
    gives={
        "x_next": Output("m", PLANE),
        "v_next": Output("m/s", PLANE),
        "angle_next": Output("rad"),
        "omega_next": Output("rad/s"),
    },
    x=X,
    angle=ANGLE,
    **MOTION,
    dv=V,
    domega=OMEGA,
    back=X,
    back_angle=ANGLE,
    dt=TimeStep(),
)
def motion(x, angle, u, w, dv, domega, back, back_angle, dt):
    """The next state of a body, with the impulses of the step and their times."""
    v, omega = u[0] + dv[0], w[0] + domega[0]
    return x[0] + dt * v + back[0], v, angle[0] + dt * omega + back_angle[0], omega


@local_map(
    "posture",
    over="nodes",
    gives="posture",
    shape=PLANE,
    angle=ANGLE,
    omega=OMEGA,
    turn=Parameter("rad", default=1.0, about="Angle that counts as one."),
    rate=Parameter("rad/s", default=1.0, about="Angular velocity that counts as one."),
)
def posture(angle, omega, turn, rate):
    """Angle and angular velocity as inputs of a controller, in units of their own."""
    return ti.Vector([angle[0] / turn, omega[0] / rate])


@local_energy("distance", over="nodes", unit="m", x=X, at=Parameter("m", PLANE, about="The place."))
def distance(x, at):
    """The distance from a place [m]."""
    return (x[0] - at).norm()
