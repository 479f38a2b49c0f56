"""Runs that are differentiated: small systems with all that a run may have, and ways to ask about them.

    <J d, s> = <d, J' s>        J: how observed states change with everything that a run begins with

J d by tangents beside the run, J' s by adjoints on the way back, and both by differences of whole runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from minusgrad import (
    Datum,
    Fields,
    Motion,
    Node,
    Parameter,
    Potential,
    Time,
    TimeStep,
    bind,
    local_energy,
    ti,
)
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.tangents import Sensitivity
from minusgrad.energies.constraint import MULTIPLIER
from minusgrad.energies.fields import Body, Hold
from minusgrad.engine import storage
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.springs import spring
from tests.support.energies import electron_density, readout, threshold
from tests.support.held_oscillator import TIES, coil_in_space, dashpot_in_space, mist, tangle
from tests.support.modulated_trap import trap
from tests.support.phi4 import link, site

STENCIL = {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}
LOOKS = (0, 7, 15, 24)
STEPS = 24
Tangents = Mapping[str, np.ndarray]


# Along a line -------------------------------------------------------------------------------------------


@local_energy(
    "swing",
    over=2,
    q=Node("m"),
    m=Node("kg"),
    k=Parameter("N/m"),
    w=Parameter("s^-1", default=1.7),
    rest=Datum("m", differentiable=True),
    t=Time(),
)
def swing(q, m, k, w, rest, t):
    """k (1 + a sin(w t)) (d^2 + d^4 / 5) / 2 - m_0 m_1 cos(d) / 5,  d = q_0 - q_1 - L: stiffer when far."""
    d = q[0] - q[1] - rest
    return 0.5 * k * (1.0 + 0.4 * ti.sin(w * t)) * (d * d + 0.2 * d**4) - 0.2 * m[0] * m[1] * ti.cos(d)


@local_energy("mud", over="nodes", q=Node("m"), u=Node("m s^-1"), m=Node("kg"), c=Parameter("s^-1"), t=Time())
def mud(q, u, m, c, t):
    """c m (1 + sin(2.3 t) / 2) (1 + q^2) (u^2 + u^4 / 10) / 2."""
    thick = c * m[0] * (1.0 + 0.5 * ti.sin(2.3 * t)) * (1.0 + q[0] * q[0])
    return 0.5 * thick * (u[0] * u[0] + 0.1 * u[0] ** 4)


@local_energy(
    "seen",
    over="nodes",
    q=Node("m"),
    u=Node("m s^-1"),
    m=Node("kg"),
    target=Datum("m"),
    t=Time(),
)
def seen(q, u, m, target, t):
    """(1 + m / 5) (1 + cos(t) / 3) (q - target)^2 / 2 + q u^2 / 5."""
    r = q[0] - target
    return 0.5 * (1.0 + 0.2 * m[0]) * (1.0 + 0.3 * ti.cos(t)) * r * r + 0.2 * q[0] * u[0] * u[0]


@local_energy("probe", over="nodes", q=Node("m"), u=Node("m s^-1"), a=Datum("N"), b=Datum("kg m s^-1"))
def probe(q, u, a, b):
    """a q + b u: its derivative by the state is its data."""
    return a * q[0] + b * u[0]


LINE = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])


def line(
    kind: str = "leapfrog", damped: bool = True, held: bool = True, precision: str = "f64", dt: float = 0.1
) -> Integrator:
    """Four nodes on a line, each swinging about others, in mud; one clamped, one moved."""
    rng = np.random.default_rng(1)
    values = {"q": rng.normal(size=4), "u": rng.normal(size=4), "m": rng.uniform(0.5, 2.0, 4)}
    fields = Fields(values, precision=precision)
    bodies = [Body("left", [0, 3]), Body("right", [1, 2])]
    stiff, rest = {"k": rng.uniform(0.5, 2.0, 5)}, {"rest": 0.3 * rng.normal(size=5)}
    potential = Potential(fields, [bind(swing, fields, tuples=LINE, parameters=stiff, data=rest)])
    mire = bind(mud, fields, bodies=bodies, parameters={"c": {"left": 0.2, "right": 0.35}})
    motions = [Motion("q", "u", "m")]
    some = [
        Hold("nail", "q", np.array([1])),
        Hold("slide", "q", np.array([3]), displacement=(0.4,), duration=1.5, velocity=(0.2,)),
    ]
    holds = Holds(fields, some if held else [], motions)
    dissipation = Potential(fields, [mire]) if damped else None
    return Integrator(
        System(potential, motions, holds=holds, dissipation=dissipation), SCHEMES[kind], dt, 0.3
    )


def judged(one: Integrator, steps: int = STEPS, budget: int = 1 << 30) -> Rollout:
    """By two losses that look at some steps together and at others alone."""
    fields, rng = one.potential.fields, np.random.default_rng(2)
    first, second = LOOKS[:-1], (7, 8, steps)
    losses = []
    for name, looks in (("seen", first), ("again", second)):
        term = bind(seen, fields, name=name, data={"target": np.zeros(4)})
        losses.append(Loss(Potential(fields, [term]), looks, {f"{name}.target": rng.normal(size=(3, 4))}))
    return Rollout(one, losses, steps, budget)


# In space -----------------------------------------------------------------------------------------------


@local_energy(
    "probe_in_space",
    over="nodes",
    x=Node("m", ("d",)),
    v=Node("m s^-1", ("d",)),
    a=Datum("N", ("d",)),
    b=Datum("kg m s^-1", ("d",)),
)
def probe_in_space(x, v, a, b):
    """a.x + b.v"""
    return a.dot(x[0]) + b.dot(v[0])


def space(kind: str = "yoshida4", precision: str = "f64") -> Integrator:
    """Five nodes in the plane, tied by springs and dashpots, in a trap and a mist; all kinds of holds."""
    rng = np.random.default_rng(3)
    values = {"x": rng.normal(size=(5, 2)), "v": rng.normal(size=(5, 2)), "m": rng.uniform(0.5, 2.0, 5)}
    fields = Fields(values, precision=precision)
    stiff = {"stiffness": rng.uniform(0.5, 2.0, 6), "rest": 0.9}
    terms = [bind(trap, fields), bind(coil_in_space, fields, tuples=TIES, parameters=stiff)]
    damped = [bind(mist, fields), bind(dashpot_in_space, fields, tuples=TIES, parameters={"drag": 0.4})]
    motions = [Motion("x", "v", "m")]
    holds = Holds(fields, list(tangle(2)), motions)
    return Integrator(
        System(Potential(fields, terms), motions, holds=holds, dissipation=Potential(fields, damped)),
        SCHEMES[kind],
        0.05,
        0.3,
    )


@local_energy("stiffening", over=2, x=Node("m", ("d",)), k=Parameter("N/m", default=1.0))
def stiffening(x, k):
    """k (|d|^2 + |d|^4 / 2) / 2,  d = x_0 - x_1: the chain of Fermi, Pasta, Ulam and Tsingou."""
    square = (x[0] - x[1]).norm_sqr()
    return 0.5 * k * (square + 0.5 * square * square)


def chain(bodies: int = 1000, dt: float = 0.02) -> Integrator:
    """Bodies in space, each tied to the next."""
    rng = np.random.default_rng(6)
    places = {"x": 0.03 * rng.normal(size=(bodies, 3)), "v": 0.03 * rng.normal(size=(bodies, 3))}
    fields = Fields(places | {"m": rng.uniform(0.5, 2.0, bodies)})
    ties = np.stack([np.arange(bodies - 1), np.arange(1, bodies)], axis=1)
    potential = Potential(fields, [bind(stiffening, fields, tuples=ties)])
    return Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], dt)


def net(kind: str = "leapfrog") -> Integrator:
    """Eleven nodes in space, each tied to each other by a spring of its own length: more than a block."""
    rng = np.random.default_rng(9)
    places = {"x": rng.normal(size=(11, 3)), "v": 0.1 * rng.normal(size=(11, 3))}
    fields = Fields(places | {"m": rng.uniform(0.5, 2.0, 11)})
    ties = np.stack(np.triu_indices(11, 1), axis=1)
    own = {"rest": rng.uniform(0.5, 2.0, 55)}
    springs = bind(spring, fields, tuples=ties, parameters={"stiffness": 0.7}, data=own)
    return Integrator(System(Potential(fields, [springs]), [Motion("x", "v", "m")]), SCHEMES[kind], 0.05)


def ended(one: Integrator, steps: int, budget: int = 1 << 30) -> Rollout:
    """By a linear loss of where the chain ends."""
    losses, _ = probes(one, [steps])
    return Rollout(one, losses, steps, budget)


# Two that move, one of which is slowed; and what maps give -----------------------------------------------


@local_energy("tug", over="nodes", phi=Node(), x=Node("m", ("d",)), k=Parameter("J m^-2", default=0.7))
def tug(phi, x, k):
    """k phi |x|^2 / 2: the lattice's field and the bodies feel each other."""
    return 0.5 * k * phi[0] * x[0].norm_sqr()


@local_energy("drag", over="nodes", v=Node("m s^-1", ("d",)), phi=Node(), c=Parameter("kg s^-1", default=0.3))
def drag(v, phi, c):
    """c (1 + phi^2) |v|^2 / 2: only the bodies are slowed."""
    return 0.5 * c * (1.0 + phi[0] * phi[0]) * v[0].norm_sqr()


def pair(kind: str = "leapfrog") -> Integrator:
    """Four sites of a lattice, each with a body in the plane, whose inertia is one number for all."""
    rng = np.random.default_rng(4)
    values = {"phi": rng.normal(size=4), "pi": rng.normal(size=4), "m": rng.uniform(0.5, 2.0, 4)}
    fields = Fields(values | {n: 0.5 * rng.normal(size=(4, 2)) for n in ("x", "v")})
    terms = [bind(site, fields), bind(link, fields, tuples=LINE), bind(tug, fields), bind(trap, fields)]
    motions = [Motion("phi", "pi", "m"), Motion("x", "v", 1.3)]
    damped = Potential(fields, [bind(drag, fields)])
    return Integrator(System(Potential(fields, terms), motions, dissipation=damped), SCHEMES[kind], 0.1)


@local_energy("bowl", over="nodes", y=Node(), k=Parameter("J", default=0.8))
def bowl(y, k):
    """k y^2 / 2, of what maps give."""
    return 0.5 * k * y[0] * y[0]


def mapped(kind: str = "leapfrog") -> Integrator:
    """Charges that feel each other's density, and a threshold of it."""
    rng = np.random.default_rng(5)
    values = {"x": rng.normal(size=(5, 2)), "v": rng.normal(size=(5, 2)), "s": rng.uniform(0.5, 1.5, 5)}
    fields = Fields(values | {"lean": rng.normal(size=5)})
    maps = [
        bind(electron_density, fields, parameters={"tilt": [0.2, 0.1]}),
        bind(threshold, fields, parameters={"level": 1.5}),
    ]
    terms = [
        bind(readout, fields, renamed={"y": "rho"}),
        bind(bowl, fields, renamed={"y": "depth"}),
        bind(trap, fields),
    ]
    return Integrator(System(Potential(fields, terms, maps), [Motion("x", "v", 0.8)]), SCHEMES[kind], 0.1)


# Asking -------------------------------------------------------------------------------------------------


def names(one: Integrator) -> list[str]:
    """Everything that a run may be differentiated by."""
    fields = one.potential.fields
    given = fields.derived
    found = [n for n in fields if n not in given]
    for part in (part for p in potentials(one) for part in p.parts.values()):
        varying = [a for a in part.data if part.energy.roles[a].differentiable and a != MULTIPLIER]
        steps = part.energy.of_role(TimeStep)
        found += [f"{part.name}.{a}" for a in [*part.parameters, *varying] if a not in steps]
    return found


def potentials(one: Integrator) -> list[Potential]:
    kept = one.constraints.potential if one.constraints else None
    return [p for p in (one.potential, one.dissipation, kept, *one.system.of_stepper) if p]


def present(one: Integrator, name: str) -> np.ndarray:
    """The values of a field, parameter or datum."""
    if name in one.potential.fields:
        return one.potential.fields[name].values.copy()
    term, _, argument = name.partition(".")
    data = _owner(one, name).parts[term].data
    return storage.host_copy(data[argument]) if argument in data else _owner(one, name).parameter(name)


def put(one: Integrator, name: str, values: np.ndarray) -> None:
    if name in one.potential.fields:
        one.potential.fields[name].set(values)
        return
    term, _, argument = name.partition(".")
    part = _owner(one, name).parts[term]
    if argument in part.data:
        part.set_datum(argument, values)
    else:
        _owner(one, name).set_parameter(name, values)


def _owner(one: Integrator, name: str) -> Potential:
    return next(p for p in potentials(one) if name.partition(".")[0] in p.parts)


def drawn(one: Integrator, seed: int = 7) -> dict[str, np.ndarray]:
    """A direction in all that a run begins with; zero in what is held."""
    rng, found = np.random.default_rng(seed), {}
    for name in names(one):
        found[name] = rng.normal(size=present(one, name).shape)
    for motion in one.motions:
        free = one.holds.free(motion.position)
        for name in (motion.position, motion.velocity):
            found[name] = np.where(free, found[name], 0.0)
    return found


@contextmanager
def moved(one: Integrator, direction: Tangents, by: float) -> Iterator[None]:
    """A little way along a direction."""
    start = {n: present(one, n) for n in direction}
    for name, values in start.items():
        put(one, name, values + by * direction[name])
    yield
    for name, values in start.items():
        put(one, name, values)


def differences(rollout: Rollout, direction: Tangents, h: float) -> float:
    """dL along a direction, of sixth order."""
    total = 0.0
    for k, weight in STENCIL.items():
        for sign in (1.0, -1.0):
            with moved(rollout.stepper, direction, sign * k * h):
                total += sign * weight / h * rollout.value()
    return total


def dot(found: Tangents, direction: Tangents) -> float:
    return float(sum((found[n].astype(np.float64) * w).sum() for n, w in direction.items()))


def there_and_back(one: Integrator, looks: Sequence[int], steps: int) -> tuple[float, float, float]:
    """<J d, s> by tangents, <d, J' s> by adjoints, and the size of their terms; d and s at random."""
    direction, (losses, seeds) = drawn(one), probes(one, looks)
    _, found = Rollout(one, losses, steps).evaluate(list(direction))
    beside, total, scale = Sensitivity(one, list(direction)), 0.0, 0.0
    before = one.state(), [f.values.copy() for f in one.moving]
    one.evaluate()
    beside.start(direction)
    for row, stop in enumerate(looks):
        beside.advance(stop - one.step)
        for name, rows in seeds.items():
            terms = beside.tangents[name].astype(np.float64) * rows[row]
            total, scale = total + terms.sum(), scale + np.abs(terms).sum()
    one.restore(before[0])
    for field, values in zip(one.moving, before[1], strict=True):
        field.set(values)
    return total, dot(found, direction), scale


def probes(one: Integrator, looks: Sequence[int]) -> tuple[list[Loss], dict[str, np.ndarray]]:
    """Linear losses at these steps, and their derivatives by the moving fields, (steps, *shape)."""
    fields, rng, losses, seeds = one.potential.fields, np.random.default_rng(8), [], {}
    for motion in one.motions:
        x, v = motion.position, motion.velocity
        vectors = len(fields[x].shape) > 1
        energy, here = (probe_in_space, ("x", "v")) if vectors else (probe, ("q", "u"))
        rows = [rng.normal(size=(len(looks), *fields[x].shape)).astype(fields.dtype) for _ in range(2)]
        data = dict(zip("ab", rows, strict=True))
        term = bind(
            energy,
            fields,
            name=f"probe_{x}",
            renamed=dict(zip(here, (x, v), strict=True)),
            data={a: r[0] for a, r in data.items()},
        )
        losses.append(
            Loss(Potential(fields, [term]), tuple(looks), {f"probe_{x}.{a}": r for a, r in data.items()})
        )
        seeds |= {x: rows[0], v: rows[1]}
    return losses, seeds


def assert_transposed(one: Integrator, looks=LOOKS, steps: int = STEPS, bound: float = 1e-13) -> None:
    """To this part of the sum of the terms' sizes."""
    there, back, size = there_and_back(one, looks, steps)
    assert abs(there) > 1e-3 * size
    assert abs(there - back) < bound * size
