"""Velocity of the cells of a grid, and the boundary conditions on it.

    free        V = p / (mass + tiny) + dt g                      p / mass is 0 in empty cells
    obstacle    V - s n,                s = min(V . n, 0)         nothing enters it, matter slides along it
    walls       V_a - s e_a,            s = min(e_a V_a, 0)       for each axis a, and Coulomb's law:
                V_t max(1 + mu_a s / |V_t|, 0)                    of the components V_t along the wall
    sticking    0  if e_a V_a < 0 for an axis a, else V           what meets a wall is held until it parts

p (cells, d) [kg m/s] and mass (cells,) [kg] as `to_grid` gives them; V (cells, d) [m/s]; g (d,) [m/s^2];
n (cells, d) [1] the field `obstacle` of the state: outward normals within an obstacle, 0 elsewhere; e (cells,
d) [1] its field `wall`: 1 within the lower wall of an axis, -1 within the upper one, else 0; mu (d,) [1] the
friction on the walls of each axis: 0 slips. Matter parts from all of them freely.

The conditions act on a cell's velocity one after another, in the order of the file. Sticking jumps at
e_a V_a = 0, which has no derivative; the others are continuous, with kinks at s = 0 and where friction stops
what slides.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, TimeStep, local_map, ti

VECTOR = ("d",)
SPEED, NORMAL = Node("m s^-1", VECTOR), Node("1", VECTOR)
STILL = 1e-10
"""Added to the speed along a wall [in the run's units], which divides."""


@local_map(
    "grid_velocity",
    over="nodes",
    gives="V",
    unit="m s^-1",
    shape=VECTOR,
    p=Node("kg m s^-1", VECTOR),
    mass=Node("kg", bounds=(0.0, inf)),
    gravity=Parameter("m s^-2", VECTOR, scale=10.0, about="Acceleration of gravity."),
    tiny=Parameter(
        "kg",
        default=0.0,
        bounds=(0.0, inf),
        reason="it divides, with the mass",
        about="Mass that is added to that of a cell, which divides.",
    ),
    dt=TimeStep(),
)
def grid_velocity(p, mass, gravity, tiny, dt):
    """Velocity of the cells after a step of gravity."""
    whole = mass[0] + tiny
    empty = whole <= 0.0
    return ti.select(empty, 0.0, 1.0 / ti.select(empty, 1.0, whole)) * p[0] + dt * gravity


@local_map(
    "obstacle_contact", over="nodes", gives="V_outside", unit="m s^-1", shape=VECTOR, V=SPEED, obstacle=NORMAL
)
def obstacle_contact(V, obstacle):
    """An obstacle that lets nothing in, and along which matter slides."""
    return V[0] - ti.min(V[0].dot(obstacle[0]), 0.0) * obstacle[0]


@local_map(
    "wall_contact",
    over="nodes",
    gives="V_walls",
    unit="m s^-1",
    shape=VECTOR,
    V=SPEED,
    wall=NORMAL,
    friction=Parameter(
        "1",
        VECTOR,
        bounds=(0.0, inf),
        scale=0.5,
        about="Coefficient of friction on the walls across each axis; 0 slips.",
    ),
)
def wall_contact(V, wall, friction):
    """Walls across the axes, with friction."""
    out = V[0] * 1.0
    for a in ti.static(range(out.n)):
        s = ti.min(wall[0][a] * out[a], 0.0)
        normal = out[a] - wall[0][a] * s
        square = out.dot(out) - out[a] * out[a]
        slides = square > 0.0
        along = ti.select(slides, ti.sqrt(ti.select(slides, square, 1.0)), 0.0)
        out *= ti.max(1.0 + friction[a] * s / (along + STILL), 0.0)
        out[a] = normal
    return out


@local_map("wall_sticking", over="nodes", gives="V_walls", unit="m s^-1", shape=VECTOR, V=SPEED, wall=NORMAL)
def wall_sticking(V, wall):
    """Walls across the axes that hold everything that meets them."""
    out = V[0] * 1.0
    for a in ti.static(range(out.n)):
        meets = wall[0][a] * V[0][a] < 0.0
        out = ti.select(meets, 0.0, 1.0) * out
    return out
