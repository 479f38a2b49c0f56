"""An elastic box around some nodes in a trap, by a barostat and without one; its energy in NumPy, too."""

import numpy as np

from minusgrad import Fields, Motion, Node, Parameter, Potential, bind, local_energy
from minusgrad.plugin import Box
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.first_order import GradientDescent
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.pressure.barostat import Barostat
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.stability.energy_balance import kept, kinetic
from minusgrad.steppers.stepper import Stepper
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.heat_bath import Bath

KT, P, SIDE, MOTIONS = 0.7, 0.4, 3.0, (Motion("x", "v", "m"),)


@local_energy("quartic_trap", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m", default=0.8))
def quartic_trap(x, k):
    """Stiffer along the first axis, so that the stress is no multiple of 1."""
    return 0.5 * k * x[0].norm_sqr() + 0.1 * k * x[0][0] ** 4


@local_energy(
    "wall", over="nodes", x=Node("m", ("d",)), box=Box(), k=Parameter("N/m", default=0.5), n=Parameter()
)
def wall(x, box, k, n):
    """An elastic box: springs along its edges, and against their shear; a part of it for each of n nodes."""
    found = 0.5 * k * (box.norm_sqr() - 0.3 * box[0, 0] * box[1, 1]) + 0.2 * k * box[0, 1] * box[1, 0]
    return found / n + 0.0 * x[0][0]


def potential(d: int, shape: str, n: int, precision: str, terms) -> Potential:
    """Some nodes in a trap, and an elastic box off its equilibrium."""
    chance = np.random.default_rng(d)
    box = SIDE * np.eye(d) + 0.1 * chance.normal(size=(d, d)) * (shape == "flexible")
    state = {"x": chance.normal(size=(n, d)), "v": chance.normal(size=(n, d)), "m": 1.0 + np.arange(n) % 3}
    fields = Fields(state | {"box": box[None]}, {"x": "m", "v": "m s^-1", "m": "kg", "box": "m"}, precision)
    counts = {term: {"n": n} if term is wall else {} for term in terms}
    return Potential(fields, [bind(term, fields, parameters=given) for term, given in counts.items()])


def elastic_box(d: int) -> Stepper:
    """A search for the rest of the nodes; the box stays."""
    of = potential(d, "flexible", 4, "f64", (quartic_trap, wall))
    return GradientDescent(of, [Unknown("x")], Tolerances(None, None))


def stepper(
    d: int = 3,
    shape: str = "isotropic",
    scheme: str = "leapfrog",
    dt: float = 0.02,
    n: int = 4,
    precision: str = "f64",
    friction: float = 0.0,
    terms=(quartic_trap, wall),
    relaxation: float = 1.0,
    pressure: float = P,
    holds=(),
) -> Integrator:
    """At constant pressure; no baths without friction."""
    of = potential(d, shape, n, precision, terms)
    return Integrator(
        System(
            of,
            MOTIONS,
            holds=Holds(of.fields, holds, MOTIONS),
            bath=Bath(friction, KT, 5) if friction else None,
            barostat=Barostat(pressure, KT, relaxation, friction, 5, shape),
        ),
        SCHEMES[scheme],
        dt,
    )


def conserved(one: Integrator) -> float:
    return kept(kinetic(one) + sum(one.potential.by_term(one.time).values()), one.balance)


def values(one: Stepper) -> dict[str, np.ndarray]:
    return {name: field.values.astype(float) for name, field in one.potential.fields.items()}


def error_of_mean(series: np.ndarray) -> float:
    """Of a correlated series: from the means of 32 blocks."""
    blocks = series[: len(series) // 32 * 32].reshape(32, -1).mean(axis=1)
    return float(blocks.std(ddof=1) / 32**0.5)


def error_by_correlation(series: np.ndarray) -> float:
    """Of the mean of a series that is not much longer than its correlation time: its deviation times
    sqrt(2 tau / n), where tau is the sum of correlations up to the first that is not positive."""
    off, n = series - series.mean(), len(series)
    correlations = np.array([off[: n - k] @ off[k:] for k in range(n // 2)]) / (off @ off)
    tau = 0.5 + correlations[1 : np.argmax(correlations <= 0.0)].sum()
    return float(series.std() * (2.0 * tau / n) ** 0.5)


def energy(x: np.ndarray, box: np.ndarray) -> float:
    """U of both terms, in NumPy."""
    trap = 0.8 * (0.5 * (x**2).sum() + 0.1 * (x[:, 0] ** 4).sum())
    elastic = 0.5 * ((box**2).sum() - 0.3 * box[0, 0] * box[1, 1])
    return trap + 0.5 * elastic + 0.1 * box[0, 1] * box[1, 0]


def slope_by_strain(x: np.ndarray, box: np.ndarray) -> np.ndarray:
    """dU/de by central differences."""
    found, d, h = np.zeros_like(box), len(box), 1e-5
    for a, b in np.ndindex(d, d):
        step = np.zeros((d, d))
        step[a, b] = h
        ends = [energy(x @ (np.eye(d) + s * step), box @ (np.eye(d) + s * step)) for s in (1.0, -1.0)]
        found[a, b] = (ends[0] - ends[1]) / (2.0 * h)
    return found
