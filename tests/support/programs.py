"""A chain of masses as a program, and the same in NumPy; a scatter whose transpose is a gather."""

from typing import Any

import numpy as np

from minusgrad import Fields, Node, Parameter, Potential, Time, TimeStep, bind, local_energy, local_map, ti
from minusgrad.plugin import Evolution, Slope
from tests.support.systems import system_from

N = 6
LINKS = np.array([[k, k + 1] for k in range(N - 1)])
ALL = np.array([[i, j] for i in range(N) for j in range(N)])
K, DRAG, PUSH, OMEGA, DT = 2.0, 0.3, 0.7, 1.9, 0.05


@local_energy("link", over=2, x=Node("m"), k=Parameter("N/m"))
def link(x, k):
    """A spring that stiffens."""
    s = x[0] - x[1]
    return 0.5 * k * s * s + 0.1 * s * s * s * s


@local_map(
    "kick",
    gives="v_next",
    over="nodes",
    unit="m s^-1",
    v=Node("m s^-1"),
    f=Node("N"),
    drag=Parameter("s^-1", default=DRAG),
    push=Parameter("N", default=PUSH),
    omega=Parameter("rad/s", default=OMEGA),
    dt=TimeStep(),
    t=Time(),
)
def kick(v, f, drag, push, omega, dt, t):
    """Unit masses with friction, pushed periodically."""
    return (1.0 - drag * dt) * v[0] + dt * (f[0] + push * ti.sin(omega * t))


@local_map("drift", gives="x_next", over="nodes", unit="m", x=Node("m"), v=Node("m s^-1"), dt=TimeStep())
def drift(x, v, dt):
    """With the new velocity."""
    return x[0] + dt * v[0]


@local_map(
    "scatter", gives="density", over=2, x=Node("m"), w=Node("kg"), reach=Parameter("m"), unit="kg m^-1"
)
def scatter(x, w, reach):
    """From the second node to the first; not linear in w."""
    s = (x[0] - x[1]) / reach
    return ti.exp(-s * s) * w[1] * (1.0 + 0.2 * w[1]) / reach


def fields(precision: str = "f64", seed: int = 1, **more: Any) -> Fields:
    rng = np.random.default_rng(seed)
    x, v = np.arange(N) + 0.2 * rng.normal(size=N), 0.3 * rng.normal(size=N)
    return Fields({"x": x, "v": v, **more}, {"x": "m", "v": "m s^-1"}, precision)


def chain(of: Fields) -> Potential:
    """f = -dU/dx of the links, then both maps."""
    links = bind(link, of, tuples=LINKS, parameters={"k": K})
    force = Slope("force", Potential(of, [links], frozen=True), {"x": "f"}, factor=-1.0)
    return Potential(of, [], [force, bind(kick, of), bind(drift, of, renamed={"v": "v_next"})])


UPDATES = {"x": "x_next", "v": "v_next"}


def program(of: Fields, dt: float = DT, **options: Any) -> Evolution:
    return Evolution(system_from(options, chain(of)), UPDATES, dt, **options)


def steps_in_numpy(x: np.ndarray, v: np.ndarray, steps: int, dt: float = DT, k: float = K) -> Any:
    """x and v after so many steps from time 0."""
    x, v = x.astype(np.float64), v.astype(np.float64)
    for step in range(steps):
        s = x[:-1] - x[1:]
        slope = k * s + 0.4 * s**3
        force = -np.concatenate([slope, [0.0]]) + np.concatenate([[0.0], slope])
        v = (1.0 - DRAG * dt) * v + dt * (force + PUSH * np.sin(OMEGA * step * dt))
        x = x + dt * v
    return x, v


def differences(value: Any, put: Any, values: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The gradient of a value by central differences."""
    start = np.array(values, np.float64)
    found = np.zeros_like(start)
    for place in np.ndindex(start.shape):
        pair = []
        for sign in (1.0, -1.0):
            moved = start.copy()
            moved[place] += sign * h
            put(moved)
            pair.append(value())
        put(start)
        found[place] = (pair[0] - pair[1]) / (2.0 * h)
    return found
