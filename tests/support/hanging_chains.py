"""Chains of rods of fixed length under their weight, and what statics says of them on paper.

    V_k = m g (k - (N - 1) / 2),  T_k = sqrt(H^2 + V_k^2),  sum of l H / T_k = span       rods k = 0 .. N - 1

H is the horizontal force, the same in all rods; V_k the vertical one in rod k, T_k the tension, l the length.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, constraint, local_energy
from minusgrad.plugin import Constraints
from minusgrad.steppers.minimisers.constrained_newton import ConstrainedNewton
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.systems.system import System

MASS, G = 0.1, 9.81
SPAN, LENGTH = 2.0, 2.6
FORCE = {"f64": 1e-11, "f32": 1e-4}


@constraint("rod", over=2, x=Node("m", ("d",)), length=Datum("m", differentiable=True))
def rod(x, length):
    r = x[0] - x[1]
    return r.dot(r) - length * length


@local_energy("weight", over="nodes", x=Node("m", ("d",)), m=Parameter("kg"), g=Parameter("m s^-2"))
def weight(x, m, g):
    return m * g * x[0][1]


@local_energy("tie", over=2, x=Node("m", ("d",)), k=Parameter("N/m", default=0.7))
def tie(x, k):
    return 0.5 * k * ((x[0] - x[1]).norm() - 1.0) ** 2


def chain(
    rods: int,
    kind: type[Minimiser] = ConstrainedNewton,
    sag: float = 0.7,
    precision: str = "f64",
    mass: float = MASS,
    lengths: Any = None,
    tolerances: Tolerances | None = None,
    pairs: Any = None,
    projected: bool = True,
    free: np.ndarray | None = None,
    more: Sequence[Any] = (),
    **options: Any,
) -> Minimiser:
    """A search that begins near a parabola through both ends, upwards for a negative `sag`."""
    s = np.linspace(-0.5, 0.5, rods + 1) * SPAN
    x = np.stack([s, sag * (s * s - 0.25 * SPAN * SPAN)], axis=1)
    x[1:-1] += 0.12 / rods * np.random.default_rng(1).normal(size=(rods - 1, 2))
    fields = Fields({"x": x}, precision=precision)
    ends = np.stack([np.arange(rods), np.arange(1, rods + 1)], axis=1) if pairs is None else np.array(pairs)
    length = np.full(len(ends), LENGTH / rods) if lengths is None else lengths
    energies = [bind(weight, fields, parameters={"m": mass, "g": G})]
    energies += [bind(energy, fields, tuples=[[1, rods - 1]]) for energy in more]
    kept = bind(rod, fields, tuples=ends, data={"length": length})
    if free is None:
        free = np.ones((rods + 1, 2), bool)
        free[[0, -1]] = False
    bound = Constraints(fields, [kept], {"rod"} if projected else frozenset())
    system = System(Potential(fields, energies), constraints=bound)
    enough = tolerances or Tolerances(force=FORCE[precision])
    return kind(system, [Unknown("x")], enough, free={"x": free}, **options)


def on_paper(
    rods: int, mass: float = MASS, length: float = LENGTH, span: float = SPAN
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes (N + 1, 2) and the tensions (N,) of a hanging chain."""
    part, vertical = length / rods, mass * G * (np.arange(rods) - 0.5 * (rods - 1))

    def short(h: float) -> float:
        return float(np.sum(part * h / np.hypot(h, vertical))) - span

    level = brentq(short, 1e-9, 1e4 * mass * G * rods, xtol=1e-15, rtol=1e-15)
    tension = np.hypot(level, vertical)
    steps = part * np.stack([np.full(rods, level), vertical], axis=1) / tension[:, None]
    start = np.array([[-0.5 * SPAN, 0.0]])
    return np.concatenate([start, start + np.cumsum(steps, axis=0)]), tension


def catenary_sag(length: float = LENGTH) -> float:
    """The sag of a continuous chain: a (cosh(s / 2a) - 1), 2 a sinh(s / 2a) = length, s the span."""
    a = brentq(lambda a: 2.0 * a * np.sinh(0.5 * SPAN / a) - length, 0.1, 1e3, xtol=1e-15)
    return float(a * (np.cosh(0.5 * SPAN / a) - 1.0))
