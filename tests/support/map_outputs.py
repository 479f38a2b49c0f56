"""Two maps with several outputs, particles on a grid and pairs that collide; their references."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

from minusgrad import (
    Cell,
    Fields,
    Node,
    Output,
    Parameter,
    Potential,
    local_map,
    ti,
)
from minusgrad.energies.fields import Grid

X, V = Node("m", ("d",)), Node("m/s", ("d",))
GRIDS = {2: Grid((7, 6), 0.75), 3: Grid((4, 5, 6), 1.25)}
SIZE, SOFT = 0.9, 0.5


def reached_cells(x, h):
    low = [ti.floor(x[0][a] / h - 0.5) for a in ti.static(range(x[0].n))]
    return low, [a + 2.0 for a in low]


@local_map(
    "scatter",
    over="nodes",
    gives={"p": Output("kg m/s", ("d",)), "mass": Output("kg")},
    x=X,
    v=V,
    C=Node("s^-1", ("d", "d")),
    m=Node("kg"),
    at=Cell(window=reached_cells, spacing="h"),
    h=Parameter("m"),
)
def scatter(x, v, C, m, at, h):
    """w m (v + C (x_c - x)) and w m, with w a product of quadratic B-splines (APIC, Jiang et al. 2015)."""
    weight, reach = m[0], 0.0 * x[0]
    for a in ti.static(range(x[0].n)):
        reach[a] = h * at[a] - x[0][a]
        u = ti.abs(x[0][a] / h - at[a])
        weight *= ti.select(u < 0.5, 0.75 - u * u, 0.5 * ti.max(1.5 - u, 0.0) ** 2)
    return weight * (v[0] + C[0] @ reach), weight


@local_map(
    "impact",
    over="pairs",
    gives={"dv": Output("m/s", ("d",)), "dx": Output("m", ("d",)), "hits": Output()},
    x=X,
    v=V,
    e=Parameter(default=0.4),
    size=Parameter("m", default=SIZE),
)
def impact(x, v, e, size):
    """Smooth impulses along the line between two balls, and how far they are pushed apart."""
    r = x[0] - x[1]
    near = ti.exp(-r.norm_sqr() / (size * size))
    n = r / (r.norm() + 0.05)
    closing = (v[0] - v[1]).dot(n)
    return -0.5 * (1.0 + e) * near * closing * n, 0.1 * near * n, near


def particles(d: int, precision: str = "f64", seed: int = 0, n: int = 5) -> Fields:
    """Particles strewn over a grid and its edges, away from the knots of the splines; V and W of cells."""
    rng, grid = np.random.default_rng(seed), GRIDS[d]
    x = (rng.integers(-1, 1 + np.array(grid.shape), (n, d)) + rng.uniform(-0.4, 0.4, (n, d))) * grid.spacing
    values = {
        "x": x,
        "v": rng.normal(size=(n, d)),
        "C": rng.normal(size=(n, d, d)),
        "m": rng.uniform(0.5, 1.5, n),
        "V": rng.normal(size=(len(grid), d)),
        "W": rng.normal(size=len(grid)),
    }
    units = {"x": "m", "v": "m/s", "C": "s^-1", "m": "kg", "V": "m/s", "W": "m^2/s^2"}
    return Fields(values, units, precision)


def balls(d: int, precision: str = "f64", n: int = 5) -> Fields:
    """Balls at random places with random velocities."""
    rng = np.random.default_rng(4)
    values = {"x": rng.normal(size=(n, d)), "v": rng.normal(size=(n, d))}
    return Fields(values, {"x": "m", "v": "m/s"}, precision)


def impulses(x: np.ndarray, v: np.ndarray, e: float = 0.4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The outputs of `impact` by a loop over pairs."""
    dv, dx, hits = np.zeros_like(x), np.zeros_like(x), np.zeros(len(x))
    for i, j in permutations(range(len(x)), 2):
        r = x[i] - x[j]
        near, n = np.exp(-(r @ r) / SIZE**2), r / (np.sqrt(r @ r) + 0.05)
        dv[i] += -0.5 * (1.0 + e) * near * ((v[i] - v[j]) @ n) * n
        dx[i] += 0.1 * near * n
        hits[i] += near
    return dv, dx, hits


def error(found: Any, expected: Any) -> float:
    """Relative to the largest component."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def differences(
    value: Callable[[], Any], values: np.ndarray, put: Callable[[np.ndarray], None]
) -> np.ndarray:
    """d(value)/d(values), with an error of order h^4."""
    start, out = values.astype(float).copy(), []
    for place in np.ndindex(start.shape):
        found = []
        for step in (1e-3, -1e-3, 2e-3, -2e-3):
            moved = start.copy()
            moved[place] += step
            put(moved)
            found.append(np.array(value(), float))
        near, far = (found[0] - found[1]) / 2e-3, (found[2] - found[3]) / 4e-3
        out.append((4.0 * near - far) / 3.0)
    put(start)
    return np.array(out).reshape((*start.shape, *out[0].shape))


def setter_of(potential: Potential, name: str) -> Callable[[np.ndarray], None]:
    """What sets the values of a field or of a parameter."""
    if name in potential.fields:
        return potential.fields[name].set
    return lambda values: potential.set_parameter(name, values)


def values_of(potential: Potential, name: str) -> np.ndarray:
    """The values of a field or of a parameter."""
    return np.array(potential.fields[name].values if name in potential.fields else potential.parameter(name))
