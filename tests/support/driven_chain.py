"""A driven chain of rods with all that a constrained run may have, for its derivatives.

rods        |x_i - x_j|^2 = L^2                       a chain of bodies, and a side arm
    track       |x|^2 (1 + q^2 / 5) = r^2                 bodies on spheres; r of each, a field q
drive       x_2 = x_1 tan(w t + p) of one body        driven: a line that turns
U           k |x|^2 / 2 + |x|^4 / 20 + x_1 sin(1.3 t)
R           c (1 + |x|^2) (|v|^2 / 2 + |v|^4 / 20)
"""

import numpy as np

from minusgrad import (
    Body,
    Datum,
    Fields,
    Hold,
    Motion,
    Node,
    Parameter,
    Potential,
    Time,
    bind,
    local_energy,
    ti,
)
from minusgrad.energies.constraint import constraint
from minusgrad.plugin import Constraints
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System

RODS = np.array([[0, 1], [1, 2], [2, 3], [1, 4]])


@constraint("rod", over=2, x=Node("m", ("d",)), length=Datum("m", differentiable=True))
def rod(x, length):
    r = x[0] - x[1]
    return r.dot(r) - length * length


@constraint("track", over="nodes", x=Node("m", ("d",)), q=Node(), radius=Parameter("m"))
def track(x, q, radius):
    return x[0].dot(x[0]) * (1.0 + 0.2 * q[0] * q[0]) - radius * radius


@constraint("drive", over="nodes", x=Node("m", ("d",)), rate=Parameter("s^-1"), phase=Parameter(), t=Time())
def drive(x, rate, phase, t):
    angle = phase + rate * t
    return x[0][1] * ti.cos(angle) - x[0][0] * ti.sin(angle)


@local_energy("well", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"), t=Time())
def well(x, k, t):
    square = x[0].dot(x[0])
    return 0.5 * k * square + 0.05 * square * square + x[0][0] * ti.sin(1.3 * t)


@local_energy("oil", over="nodes", x=Node("m", ("d",)), v=Node("m/s", ("d",)), c=Parameter("kg/s"))
def oil(x, v, c):
    square = v[0].dot(v[0])
    return c * (1.0 + x[0].dot(x[0])) * (0.5 * square + 0.05 * square * square)


def driven_chain(
    kind: str = "leapfrog",
    d: int = 2,
    precision: str = "f64",
    driven: bool = True,
    damped: bool = True,
    held: bool = True,
    seed: int = 0,
    dt: float = 0.05,
    path: Hold | None = None,
) -> Integrator:
    """Five bodies at a start that fulfils all constraints, with tangent velocities; path: of the pivot."""
    rng = np.random.default_rng(seed)
    turn = np.linspace(0.0, 2.5, 5) + 0.3 * rng.normal(size=5)
    x = rng.normal(size=(5, d))
    x[0] = 0.0
    for i, j in RODS:
        step = rng.normal(size=d)
        step[:2] += 2.0 * np.array([np.cos(turn[j]), np.sin(turn[j])])
        x[j] = x[i] + rng.uniform(0.6, 1.2) * step / np.linalg.norm(step)
    fields = Fields(
        {"x": x, "v": rng.normal(size=x.shape), "m": rng.uniform(0.5, 2.0, 5), "q": rng.normal(size=5)},
        precision=precision,
    )
    lengths = np.linalg.norm(x[RODS[:, 0]] - x[RODS[:, 1]], axis=1)
    terms = [bind(rod, fields, tuples=RODS, data={"length": lengths})]
    names = ["rod"]
    if d == 3:
        on = {
            "radius": np.linalg.norm(x[[3, 4]], axis=1) * np.sqrt(1.0 + 0.2 * fields["q"].values[[3, 4]] ** 2)
        }
        terms.append(bind(track, fields, bodies=[Body("on", [3, 4])], parameters=on))
        names.append("track")
    if driven:
        phase = {"rate": 0.7, "phase": np.arctan2(x[2, 1], x[2, 0])}
        terms.append(bind(drive, fields, bodies=[Body("end", [2])], parameters=phase))
        names.append("drive")
    motions = [Motion("x", "v", "m")]
    speed = tuple(0.2 * rng.normal(size=d))
    path = path or Hold("pivot", "x", np.array([0]), velocity=speed)
    holds = Holds(fields, [path] if held else [], motions)
    return Integrator(
        System(
            Potential(fields, [bind(well, fields, parameters={"k": 1.3})]),
            motions,
            holds=holds,
            dissipation=Potential(fields, [bind(oil, fields, parameters={"c": 0.3})]) if damped else None,
            constraints=Constraints(fields, terms, frozenset(names)),
        ),
        SCHEMES[kind],
        dt,
        0.0,
    )
