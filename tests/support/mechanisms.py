"""Small mechanisms: nodes with constraints, at given places, and integrators of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minusgrad import (
    Fields,
    Hold,
    Motion,
    Node,
    Parameter,
    Potential,
    Time,
    bind,
    constraint,
    local_energy,
    ti,
)
from minusgrad.plugin import SCHEMES, Constraints, Integrator
from minusgrad.steppers.holds import Holds
from minusgrad_elastic.rods import rod
from tests.support.systems import system_from


@local_energy("weight", over="nodes", x=Node("m", ("d",)), m=Node("kg"), g=Parameter("m/s^2"))
def weight(x, m, g):
    """Uniform gravity along the last but one axis of the plane, or the last of space."""
    return m[0] * g * x[0][x[0].n - 1]


@constraint("on_sphere", over="nodes", x=Node("m", ("d",)), radius=Parameter("m"))
def on_sphere(x, radius):
    """A node at a distance from the origin."""
    return x[0].dot(x[0]) - radius * radius


@constraint("in_turning_plane", over="nodes", x=Node("m", ("d",)), rate=Parameter("rad/s"), t=Time())
def in_turning_plane(x, rate, t):
    """A node in a plane through the vertical that turns about it."""
    return x[0][1] * ti.cos(rate * t) - x[0][0] * ti.sin(rate * t)


def mechanism(
    x: Any,
    v: Any,
    m: Any,
    constraints: Sequence[tuple[Any, dict]],
    dt: float,
    energies: Sequence[tuple[Any, dict]] = (),
    scheme: str = "leapfrog",
    holds: Sequence[Hold] = (),
    projected: Sequence[str] = (),
    precision: str = "f64",
    **more: Any,
) -> Integrator:
    """An integrator of nodes with constraints; these, and energies, with the arguments of `bind`."""
    fields = Fields({"x": x, "v": v, "m": m}, precision=precision)
    motions = [Motion("x", "v", "m")]
    kept = Constraints(fields, [bind(one, fields, **k) for one, k in constraints], frozenset(projected))
    potential = Potential(fields, [bind(one, fields, **k) for one, k in energies])
    held = Holds(fields, list(holds), motions)
    system = system_from(more, potential, motions, holds=held, constraints=kept)
    return Integrator(system, SCHEMES[scheme], dt, **more)


PIVOT = Hold("pivot", "x", np.array([0]))


def pendulum(dt: float, scheme: str = "leapfrog", angle: float = 2.0, **more: Any) -> Integrator:
    """A mass at a rod of 1 m in the plane, released at an angle; g = 1 m/s^2."""
    x = np.array([[0.0, 0.0], [np.sin(angle), -np.cos(angle)]])
    rods = [(rod, {"tuples": [[0, 1]], "data": {"length": 1.0}})]
    weights = [(weight, {"parameters": {"g": 1.0}})]
    return mechanism(x, 0.0 * x, np.ones(2), rods, dt, weights, scheme, [PIVOT], **more)


def hoop(dt: float, start: float, rate: float = 4.0, **more: Any) -> Integrator:
    """A bead on a hoop of 1 m that turns about its vertical diameter, at rest relative to it."""
    x = np.array([[np.sin(start), 0.0, -np.cos(start)]])
    v = np.array([[0.0, rate * np.sin(start), 0.0]])
    kept = [(on_sphere, {"parameters": {"radius": 1.0}}), (in_turning_plane, {"parameters": {"rate": rate}})]
    return mechanism(x, v, np.ones(1), kept, dt, [(weight, {"parameters": {"g": 9.81}})], **more)


def state(one: Integrator) -> tuple[np.ndarray, np.ndarray]:
    """Copies of positions and velocities."""
    fields = one.potential.fields
    return fields["x"].values.copy(), fields["v"].values.copy()


def energy(one: Integrator) -> float:
    """Kinetic and potential energy."""
    fields = one.potential.fields
    v = fields["v"].values.astype(float)
    return float((0.5 * fields["m"].values[:, None] * v**2).sum() + one.potential.value(one.time))


def violation(one: Integrator) -> float:
    """The largest violation, in parts of the largest coordinate."""
    assert one.constraints
    system = one.constraints.equations(["x"])
    system.load(one.time)
    return float(system.violation(system.values(), system.rows(), system.extent()).max())
