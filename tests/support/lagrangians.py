"""Lagrangians of textbooks, and integrators of them; references are right sides for SciPy's DOP853."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from minusgrad.energies.constraint import constraint
from minusgrad.energies.fields import Fields, Motion
from minusgrad.energies.lagrangian import lagrangian
from minusgrad.energies.local_energy import local_energy
from minusgrad.energies.roles import Datum, Node, Parameter, Time, Velocity
from minusgrad.energies.term import bind
from minusgrad.plugin import ti
from minusgrad.potential.constraints.constraints import Constraints
from minusgrad.potential.potential import Potential
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.variational.variational_integrator import VariationalIntegrator
from tests.support.systems import system_from

G = 9.81
Q2, V2 = Node("rad", (2,)), Velocity("rad/s", (2,))


@lagrangian("twin", over="nodes", q=Q2, v=V2, m=Parameter("kg"))
def double_pendulum(q, v, m):
    """A double pendulum of unit rods, the upper mass 1, the lower m."""
    a, b = q[0][0], q[0][1]
    u, w = v[0][0], v[0][1]
    moving = 0.5 * (1.0 + m) * u * u + 0.5 * m * w * w + m * u * w * ti.cos(a - b)
    return moving + 9.81 * ((1.0 + m) * ti.cos(a) + m * ti.cos(b))


def double_pendulum_rate(t: float, y: np.ndarray, m: float = 1.0) -> list[float]:
    """The right side of its equations of motion, from the books."""
    a, b, u, w = y
    s, c = np.sin(a - b), np.cos(a - b)
    mass = np.array([[1.0 + m, m * c], [m * c, m]])
    force = [-m * w * w * s - (1.0 + m) * G * np.sin(a), m * u * u * s - m * G * np.sin(b)]
    return [u, w, *np.linalg.solve(mass, force)]


def _turn(q):
    return ti.Vector([0.0, 1.0])


@lagrangian(
    "kepler",
    over="nodes",
    q=Node("1", (2,)),
    v=Velocity("1/s", (2,)),
    k=Parameter("J"),
    generators={"spin": _turn},
)
def kepler(q, v, k):
    """A planet of unit mass in polar coordinates (r, phi)."""
    r = q[0][0]
    return 0.5 * (v[0][0] * v[0][0] + r * r * v[0][1] * v[0][1]) + k / r


@lagrangian("linked", over=2, q=Node("rad"), v=Velocity("rad/s"), c=Datum("J"), m=Parameter("kg"))
def linked(q, v, c, m):
    """Two pendula whose rates are coupled, and a spring between them."""
    stretch = q[0] - q[1]
    moving = 0.5 * m * (v[0] * v[0] + v[1] * v[1]) + 0.25 * m * v[0] * v[1] * ti.cos(stretch)
    return moving - 0.5 * c * stretch * stretch


@lagrangian("cart", over="nodes", s=Node("m"), a=Node("rad"), v_s=Velocity("m/s", rate_of="s"),
            v_a=Velocity("rad/s", rate_of="a"), M=Parameter("kg"))  # fmt: skip
def cart(s, a, v_s, v_a, M):
    """A cart of mass M with a pole of unit mass and length, which hangs at a = 0."""
    moving = 0.5 * (M + 1.0) * v_s[0] * v_s[0] + v_s[0] * v_a[0] * ti.cos(a[0]) + 0.5 * v_a[0] * v_a[0]
    return moving + 9.81 * ti.cos(a[0])


@lagrangian("shaken", over="nodes", q=Node("rad"), v=Velocity("rad/s"), t=Time(), f=Parameter("J"))
def shaken(q, v, t, f):
    """An oscillator of unit mass and stiffness, pushed by f cos 2t."""
    return 0.5 * (v[0] * v[0] - q[0] * q[0]) + f * q[0] * ti.cos(2.0 * t)


@lagrangian("charge", over="nodes", x=Node("m", ("d",)), v=Velocity("m/s", ("d",)), B=Parameter("T"))
def charge(x, v, B):
    """A charge and mass of one in a uniform field along the normal of the plane, A = B (-y, x) / 2."""
    return 0.5 * v[0].dot(v[0]) + 0.5 * B * (x[0][0] * v[0][1] - x[0][1] * v[0][0])


@lagrangian("flat", over="nodes", q=Q2, v=V2)
def flat(q, v):
    """A Lagrangian with the rate of its first component alone."""
    return 0.5 * v[0][0] * v[0][0] - q[0][1] * q[0][1]


@lagrangian("wall", over="nodes", q=Node("m"), v=Velocity("m/s"))
def wall(q, v):
    """A unit mass before a wall, which it cannot reach: nothing is defined at q <= 0."""
    return 0.5 * v[0] * v[0] - 1.0 / ti.sqrt(q[0])


@local_energy("weight", over="nodes", q=Node("rad"), k=Parameter("J"))
def weight(q, k):
    """The potential energy of a pendulum."""
    return -k * ti.cos(q[0])


@local_energy("drag", over="nodes", q=Node("rad"), v=Node("rad/s"), c=Parameter("J s"))
def drag(q, v, c):
    """A dissipation that depends on the place, too."""
    return 0.5 * c * (1.0 + q[0] * q[0]) * v[0] * v[0]


@lagrangian(
    "ball", over="nodes", x=Node("m", (3,)), v=Velocity("m/s", (3,)), m=Parameter("kg"), a=Parameter("1")
)
def ball(x, v, m, a):
    """A weight in space, heavier aloft by a part a per length."""
    return 0.5 * m * (1.0 + a * x[0][2] * x[0][2]) * v[0].dot(v[0]) - 9.81 * m * x[0][2]


@local_energy("rubbed", over="nodes", x=Node("m", (3,)), v=Node("m/s", (3,)), c=Parameter("N s/m"))
def rubbed(x, v, c):
    """A dissipation in space that depends on the height, too."""
    return 0.5 * c * (1.0 + x[0][2] * x[0][2]) * v[0].dot(v[0])


@constraint("swelling", over=1, x=Node("m", (3,)), t=Time(), r=Parameter("m"), c=Parameter("m/s"))
def swelling(x, t, r, c):
    """A sphere of radius r + c t."""
    here = r + c * t
    return x[0].dot(x[0]) - here * here


@constraint("stick", over=2, x=Node("m", (3,)), length=Parameter("m"))
def stick(x, length):
    """Two nodes at a distance."""
    r = x[0] - x[1]
    return r.dot(r) - length * length


def made(
    values: Mapping[str, Any],
    lagrangians: Sequence[tuple[Any, dict[str, Any]]],
    dt: float,
    order: int = 2,
    motions: Sequence[Motion] = (Motion("q", "v"),),
    energies: Sequence[tuple[Any, dict[str, Any]]] = (),
    losses: Sequence[tuple[Any, dict[str, Any]]] = (),
    constraints: Sequence[tuple[Any, dict[str, Any]]] = (),
    precision: str = "f64",
    holds: Sequence[Any] = (),
    **options: Any,
) -> VariationalIntegrator:
    """An integrator of terms, each an energy and its arguments for `bind`."""
    fields = Fields(values, precision=precision)

    def total(some: Sequence[tuple[Any, dict[str, Any]]]) -> Potential:
        return Potential(fields, [bind(energy, fields, **given) for energy, given in some])

    held = Holds(fields, holds, motions) if holds else None
    dissipation = total(losses) if losses else None
    kept = [bind(g, fields, **given) for g, given in constraints]
    bound = Constraints(fields, kept, {term.name for term in kept}) if kept else None
    parts = {"holds": held, "dissipation": dissipation, "constraints": bound}
    system = system_from(options, total(energies), motions, lagrangian=total(lagrangians), **parts)
    return VariationalIntegrator(system, dt, order, **options)


def state(one: VariationalIntegrator) -> np.ndarray:
    """Coordinates, then velocities, as one vector."""
    moving = [f.values.ravel() for f in one.moving]
    return np.concatenate([*moving[::2], *moving[1::2]])


def reference(rate: Callable, start: Sequence[float], end: float, *args: Any) -> np.ndarray:
    """The state at a time, by DOP853 near rounding."""
    found = solve_ivp(rate, (0.0, end), start, method="DOP853", rtol=1e-13, atol=1e-13, args=args)
    return found.y[:, -1]


def slope(errors: Sequence[float]) -> float:
    """The order from errors at dt, dt / 2, dt / 4, ..."""
    return float(np.polyfit(np.arange(len(errors)), -np.log2(errors), 1)[0])
