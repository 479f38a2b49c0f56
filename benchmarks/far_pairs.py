"""Gravity by a tree at one measured error of the forces: dU/dx of a Plummer sphere, and a leapfrog step.

    10000-forces, ...     ms a gradient of bodies that have moved, tree included, at an rms error of 1e-3
    30000-exact           the same at 1e-6, in f64, beside direct sums in lanes
    100000-step           ms a step of two spheres that collide, at 1e-3

Each column's opening angle is chosen for that error. Its answer is the error that was measured, at 200 bodies
against sums by NumPy in f64, in parts of the one that it shall have: the harness refuses a column that is off
by more than a third. Nothing is softened, because pytreegrav's softening is another function.
Time and memory against size: `python -m benchmarks.far_pairs_scaling`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.energies.pairs.far import Far
from minusgrad.engine import runtime, storage
from minusgrad.plugin import SCHEMES, Integrator
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.compiled import DTYPE
from .harness.peers import peer

DIRECT, PEER = "direct sums", "pytreegrav"
OFF, SHOWN, DT, STEPS = 1 / 3, 200, 1e-3, 3
ANGLES = {10_000: (0.58, 0.47), 100_000: (0.65, 0.55), 1_000_000: (0.65, 0.65)}
"""By number of bodies: of our expansions of order 5 and of pytreegrav, for an error of 1e-3."""
COLLISION = {10_000: (0.57, 0.45), 100_000: (0.59, 0.52)}
"""The same for the two spheres."""
EXACT = {10_000: 0.23, 30_000: 0.2}
"""Of expansions of order 6, for an error of 1e-6."""
MOST_DIRECT = 10_000


@dataclass(frozen=True)
class Bodies:
    """Places and velocities (n, 3), masses (n,), and the rms error that forces shall have."""

    x: np.ndarray
    v: np.ndarray
    m: np.ndarray
    error: float


class ForceError:
    """The rms error of accelerations (n, 3) in parts of the one that was asked for, found when it is read."""

    def __init__(self, bodies: Bodies, accelerations: Callable[[], np.ndarray]):
        self._bodies, self._accelerations = bodies, accelerations

    def numpy(self) -> np.ndarray:
        """(1,)"""
        rows = np.linspace(0, len(self._bodies.x) - 1, SHOWN).astype(int)
        exact = np.array([direct(self._bodies, row) for row in rows])
        off = np.asarray(self._accelerations(), float)[rows] - exact
        return np.array([np.sqrt((off**2).sum() / (exact**2).sum()) / self._bodies.error])


def direct(bodies: Bodies, row: int) -> np.ndarray:
    """The acceleration of one body, G = 1."""
    between = bodies.x - bodies.x[row]
    squared = (between**2).sum(axis=1)
    squared[row] = 1.0
    return (bodies.m * squared**-1.5) @ between


def cases() -> Iterator[Case]:
    """Forces of each size, those at 1e-6, and steps."""
    quick = session.quick()
    for n in (10_000,) if quick else ANGLES:
        yield forces(n)
    yield exact(10_000 if quick else 30_000)
    yield step(10_000 if quick else 100_000)


def forces(n: int) -> Case:
    """A gradient in f32 at an error of 1e-3, a fifth of pytreegrav's time from 100,000 bodies on."""
    columns = {
        OURS: Column(lambda: gradient(sphere(n), "f32", _far(ANGLES[n])), engine=True),
        PEER: Column(lambda: in_pytreegrav(sphere(n), ANGLES[n][1]), peer=True),
        DIRECT: _direct(sphere, n, "f32"),
    }
    if n > MOST_DIRECT:
        del columns[DIRECT]
    return _case(f"{n}-forces", "f32", columns, PEER, (Goal(PEER, 0.2),) if n > MOST_DIRECT else (), n)


def exact(n: int) -> Case:
    """A gradient in f64 at an error of 1e-6, sooner than direct sums."""
    columns = {
        OURS: Column(
            lambda: gradient(sphere(n, 1e-6), "f64", Far(opening_angle=EXACT[n], order=6)), engine=True
        ),
        DIRECT: _direct(lambda n: sphere(n, 1e-6), n, "f64"),
    }
    return _case(f"{n}-exact", "f64", columns, DIRECT, (Goal(DIRECT, 1.0),) if n >= 30_000 else (), n)


def step(n: int) -> Case:
    """A step of leapfrog in f32 at an error of 1e-3, in a fifth of the time with pytreegrav's forces."""
    columns = {
        OURS: Column(lambda: steps(collision(n), _far(COLLISION[n])), engine=True),
        PEER: Column(lambda: steps_by_pytreegrav(collision(n), COLLISION[n][1]), peer=True),
    }
    goals = (Goal(PEER, 0.2),) if n > MOST_DIRECT else ()
    return _case(f"{n}-step", "f32", columns, PEER, goals, n, STEPS, "ms a step")


def _far(angles: tuple[float, float]) -> Far:
    return Far(opening_angle=angles[0], order=5)


def _direct(bodies: Callable[[int], Bodies], n: int, precision: str) -> Column:
    make = lambda: gradient(bodies(n), precision, None)  # noqa: E731
    return Column(make, engine=True, expected=lambda: np.zeros(1))


def _case(
    name: str,
    precision: str,
    columns: dict[str, Column],
    base: str,
    goals: tuple[Goal, ...],
    n: int,
    count: int = 1,
    unit: str = "ms",
) -> Case:
    return Case(
        "far_pairs",
        name,
        precision,
        columns,
        expected=lambda: np.ones(1),
        tolerance=OFF,
        count=count,
        unit=unit,
        base=base,
        goals=goals,
        about={"N": n},
    )


@cache
def sphere(n: int, error: float = 1e-3) -> Bodies:
    """Point masses of a Plummer sphere at rest (Plummer 1911), G = M = a = 1."""
    rng = np.random.default_rng(0)
    radius = (rng.uniform(0.0, 1.0, n) ** (-2.0 / 3.0) - 1.0) ** -0.5
    towards = rng.normal(size=(n, 3))
    x = radius[:, None] * towards / np.linalg.norm(towards, axis=1)[:, None]
    return Bodies(x, np.zeros_like(x), np.full(n, 1.0 / n), error)


@cache
def collision(n: int) -> Bodies:
    """Two spheres that fall towards each other."""
    half = sphere(n // 2)
    apart, speed = np.array([6.0, 2.0, 0.0]), np.array([-0.3, 0.0, 0.0])
    x = np.concatenate([half.x + 0.5 * apart, half.x[:, ::-1] - 0.5 * apart])
    v = np.concatenate([np.broadcast_to(one * speed, half.x.shape) for one in (1.0, -1.0)])
    return Bodies(x, v, np.full(len(x), 1.0 / n), half.error)


def _potential(bodies: Bodies, precision: str, far: Far | None) -> Potential:
    fields = Fields({"x": bodies.x, "v": bodies.v, "m": bodies.m}, precision=precision)
    parameters = {"G": 1.0, "softening": 0.0}
    return Potential(fields, [bind(gravity, fields, parameters=parameters, far=far)])


def gradient(bodies: Bodies, precision: str, far: Far | None) -> Call:
    """dU/dx of the shipped energy; the axes are exchanged at each call, so that there is another tree."""
    potential = _potential(bodies, precision, far)
    out = storage.allocate(np.zeros_like(bodies.x, DTYPE[precision]))
    turned = False

    def call() -> ForceError:
        nonlocal turned
        turned = not turned
        axes = [2, 1, 0] if turned else [0, 1, 2]
        potential.fields["x"].set(bodies.x[:, axes])
        potential.gradient_into({"x": out})
        runtime.sync()
        return ForceError(bodies, lambda: -out[:, axes] / bodies.m[:, None])

    return call


def steps(bodies: Bodies, far: Far) -> Call:
    """`advance`"""
    potential = _potential(bodies, "f32", far)
    stepper = Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], DT)
    began, fields = stepper.state(), potential.fields

    def again() -> None:
        fields["x"].set(bodies.x)
        fields["v"].set(bodies.v)
        stepper.restore(began)

    def accelerations() -> np.ndarray:
        again()
        return -potential.gradient("x") / bodies.m[:, None]

    def call() -> ForceError:
        again()
        stepper.advance(STEPS)
        runtime.sync()
        return ForceError(bodies, accelerations)

    return call


def _pytreegrav(bodies: Bodies, theta: float) -> Callable[[np.ndarray], np.ndarray]:
    """Accelerations at given places, by its tree of monopoles, on all threads."""
    module: Any = peer("pytreegrav")
    return lambda x: module.Accel(x, bodies.m, method="tree", parallel=True, theta=theta)


def in_pytreegrav(bodies: Bodies, theta: float) -> Call:
    """The same by pytreegrav (f64)."""
    accelerations = _pytreegrav(bodies, theta)

    def call() -> ForceError:
        found = accelerations(bodies.x)
        return ForceError(bodies, lambda: found)

    return call


def steps_by_pytreegrav(bodies: Bodies, theta: float) -> Call:
    """Kick, drift, kick in NumPy, one evaluation a step."""
    accelerations = _pytreegrav(bodies, theta)

    def call() -> ForceError:
        x, v = bodies.x.copy(), bodies.v.copy()
        a = accelerations(x)
        for _ in range(STEPS):
            v += 0.5 * DT * a
            x += DT * v
            a = accelerations(x)
            v += 0.5 * DT * a
        return ForceError(bodies, lambda: accelerations(bodies.x))

    return call
