"""Potentials whose minima are known on paper, and the bookkeeping of a search.

chain       k (q_i - q_{i+1})^2 / 2 between clamped ends 0 and 1: a straight line, q_i = i / (n + 1)
ceiling     a chain clamped at 0 that a load b presses against q <= h; touching it from node m on with
            h = b m^2 / (2 k):  q_i = (b / k) (m i - i^2 / 2) up to there, force b / 2 at m, b at each after
valley      (1 - q_0)^2 + 100 (q_1 - q_0^2)^2 (Rosenbrock 1960, Comput. J. 3, 175): (1, 1)
cluster     4 (r^-12 - r^-6) over pairs: three at -3; thirteen, an icosahedron, at -44.326801
            (Hoare & Pal 1971, Adv. Phys. 20, 161)
barrier     q - log q: 1
"""

from collections.abc import Callable, Sequence

import numpy as np

from minusgrad import Datum, Fields, Node, Parameter, Potential, Time, bind, local_energy, ti
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.unknowns import Unknown


@local_energy("spring", over=2, q=Node(), k=Parameter(default=1.0), base=Parameter(default=0.0))
def spring(q, k, base):
    """A spring of no length at rest, on a base that moves nothing."""
    return base + 0.5 * k * (q[0] - q[1]) * (q[0] - q[1])


@local_energy("load", over="nodes", q=Node(), b=Parameter(default=1.0))
def load(q, b):
    """A constant force."""
    return -b * q[0]


@local_energy("bowl", over="nodes", q=Node(), k=Parameter(default=1.0), c=Parameter(default=0.0))
def bowl(q, k, c):
    """Harmonic, around c."""
    return 0.5 * k * (q[0] - c) * (q[0] - c)


@local_energy("walls", over="nodes", q=Node())
def walls(q):
    """q^8 + q: flat, between walls that are steeper than any parabola."""
    return q[0] ** 8 + q[0]


@local_energy("valley", over=2, q=Node())
def valley(q):
    """Rosenbrock's."""
    a, b = 1.0 - q[0], q[1] - q[0] * q[0]
    return a * a + 100.0 * b * b


@local_energy("dispersion", over="pairs", x=Node("1", ("d",)))
def dispersion(x):
    """Lennard-Jones."""
    d = x[0] - x[1]
    s = 1.0 / d.dot(d)
    return 4.0 * (s * s * s * s * s * s - s * s * s)


@local_energy("barrier", over="nodes", q=Node())
def barrier(q):
    """No number for q < 0, where its slope is one."""
    return q[0] - ti.log(q[0])


@local_energy("cliff", over="nodes", q=Node())
def cliff(q):
    """No number for q < 0, nor its slope."""
    return q[0] - 2.0 * ti.sqrt(q[0])


@local_energy("kink", over="nodes", q=Node())
def kink(q):
    """Slope 1 above 1, -3 below."""
    return ti.max(q[0] - 1.0, 3.0 * (1.0 - q[0]))


@local_energy("edge", over="nodes", q=Node())
def edge(q):
    """Downhill to 1, where it jumps up."""
    return ti.select(q[0] < 1.0, -q[0], 5.0)


@local_energy("ripples", over="nodes", q=Node())
def ripples(q):
    """Waves on a slope: one wave to the right it looks the same, and is higher."""
    return ti.cos(q[0]) + 0.2 * q[0]


@local_energy("stretch", over=2, q=Node(), b=Datum())
def stretch(q, b):
    """F - 1 - log F, whose terms are near 1 where it is near 0; and a load."""
    F = q[1] - q[0]
    return F - 1.0 - ti.log(F) - b * (F - 1.0)


@local_energy("tied", over="nodes", near=Node(), far=Node())
def tied(near, far):
    """One field that goes to 1 and one that goes to 60, tied to each other."""
    a, b = near[0] - 1.0, (far[0] - 60.0) / 20.0
    return 0.5 * (a * a + b * b + a * b)


@local_energy("tide", over="nodes", q=Node(), t=Time())
def tide(q, t):
    """A bowl whose middle moves as 2 t."""
    return 0.5 * (q[0] - 2.0 * t) * (q[0] - 2.0 * t)


def single(energies: Sequence, q: Sequence[float], precision: str = "f64", **parameters) -> Potential:
    """Some energies of the one field q, over its nodes or over one tuple of all of them."""
    fields = Fields({"q": q}, precision=precision)
    every = list(range(len(q)))
    return Potential(
        fields,
        [
            bind(e, fields, tuples=None if e.over == "nodes" else [every], parameters=parameters.get(e.name))
            for e in energies
        ],
    )


def chain(n: int, precision: str = "f64", base: float = 0.0) -> tuple[Potential, dict[str, np.ndarray]]:
    """n nodes in disorder between clamped ends at 0 and 1; and which are free."""
    q = np.concatenate([[0.0], np.random.default_rng(1).normal(size=n), [1.0]])
    fields = Fields({"q": q}, precision=precision)
    links = [[i, i + 1] for i in range(n + 1)]
    potential = Potential(fields, [bind(spring, fields, tuples=links, parameters={"base": base})])
    return potential, clamped(n + 2, 0, n + 1)


def ceiling(n: int, m: int, b: float, k: float) -> tuple[Potential, dict[str, np.ndarray], np.ndarray]:
    """A chain that a load presses against a ceiling from node m on; which nodes are free; where they end."""
    fields = Fields({"q": np.zeros(n)})
    links = [[i, i + 1] for i in range(n - 1)]
    terms = [
        bind(spring, fields, tuples=links, parameters={"k": k}),
        bind(load, fields, parameters={"b": b}),
    ]
    i = np.minimum(np.arange(n), m)
    return Potential(fields, terms), clamped(n, 0), b / k * (m * i - 0.5 * i * i)


def pressed(n: int) -> Potential:
    """A chain in bowls, drawn up and down by loads in waves; between bounds at 1/2, a part of it touches."""
    fields = Fields({"q": np.zeros(n)})
    links = [[i, i + 1] for i in range(n - 1)]
    waves = 0.3 * np.sin(0.7 * np.arange(n))
    terms = [
        bind(spring, fields, tuples=links),
        bind(load, fields, parameters={"b": waves}),
        bind(bowl, fields, parameters={"k": 0.02}),
    ]
    return Potential(fields, terms)


def clamped(n: int, *nodes: int) -> dict[str, np.ndarray]:
    """The free components of q: all but these nodes."""
    return {"q": ~np.isin(np.arange(n), nodes)}


def cluster(n: int, disorder: float, precision: str = "f64") -> Potential:
    """Three bodies, or thirteen near the icosahedron."""
    x = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0], [0.5, 1.0, 0.0]]) if n == 3 else icosahedron(1.1)
    x = x + disorder * np.random.default_rng(0).normal(size=x.shape)
    fields = Fields({"x": x}, precision=precision)
    return Potential(fields, [bind(dispersion, fields)])


def icosahedron(radius: float) -> np.ndarray:
    """Its middle and its twelve corners."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    corners = [np.roll([0.0, a, b * golden], k) for k in range(3) for a in (-1, 1) for b in (-1, 1)]
    return np.array([np.zeros(3), *corners]) * radius / np.hypot(1.0, golden)


def stretched(n: int, force: float) -> tuple[Potential, dict[str, np.ndarray], np.ndarray]:
    """Elements F = 1 / (1 - b) in a row, b near `force`; which nodes are free; where they end."""
    rng = np.random.default_rng(1)
    q = np.arange(n + 1.0) + 0.3 * rng.uniform(-1.0, 1.0, n + 1)
    q[0] = 0.0
    fields, b = Fields({"q": q}), force * rng.uniform(0.5, 1.5, n)
    links = [[i, i + 1] for i in range(n)]
    potential = Potential(fields, [bind(stretch, fields, tuples=links, data={"b": b})])
    return potential, clamped(n + 1, 0), np.concatenate([[0.0], np.cumsum(1.0 / (1.0 - b))])


class Tally:
    """How often a potential is asked for its gradient from now on."""

    def __init__(self, potential: Potential):
        self.count = 0
        for name in ("gradient_into", "evaluate_into"):
            setattr(potential, name, self._counted(getattr(potential, name)))

    def _counted(self, right: Callable) -> Callable:
        def counted(*args):
            self.count += 1
            return right(*args)

        return counted


def found(search: Minimiser, name: str = "q") -> np.ndarray:
    return search.potential.fields[name].values


def steps_until(search: Minimiser, near: dict[str, float], tolerance: float, most: int = 20_000) -> int:
    """Iterations until every unknown is within a relative tolerance of where it should end."""
    while search.step < most:
        search.advance(1)
        if all(np.abs(found(search, n) / end - 1.0).max() < tolerance for n, end in near.items()):
            return search.step
    raise AssertionError(f"not there after {most} steps")


def q(**given: float) -> list[Unknown]:
    """The unknown q."""
    return [Unknown("q", **given)]
