"""A Lennard-Jones liquid: a crystal that has melted, in units of sigma, epsilon and the mass.

    density 0.8442, cutoff 2.5 (sharp), skin 0.3, dt 0.005

It is LAMMPS's own benchmark `lj`, after the crystal has melted. A liquid of 256,000 atoms is eight copies of
one of 32,000, as LAMMPS's command `replicate` makes them.
"""

from functools import cache

import numpy as np
from scipy.spatial import cKDTree

from minusgrad import Fields, Potential, bind
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.energies.fields import Motion
from minusgrad.plugin import Cutoff
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_molecular.lennard_jones import lennard_jones

DENSITY, RADIUS, SKIN, DT, HOT = 0.8442, 2.5, 0.3, 0.005, 1.44
MELTING = 300
"""Steps after which the crystal has melted."""
COPIED = 40
"""Cells along each axis from which on the liquid is eight copies of one with half as many."""


def stepper(x: np.ndarray, v: np.ndarray, box: float, precision: str) -> tuple[Fields, Integrator]:
    """Velocity Verlet from this state."""
    values = {"x": x, "v": v, "m": np.ones(len(x)), "box": box * np.eye(3)[None]}
    fields = Fields(values, precision=precision)
    cutoff = Cutoff(RADIUS, skin=SKIN, sharp=True)
    term = bind(lennard_jones, fields, cutoff=cutoff, parameters={"epsilon": 1.0, "sigma": 1.0})
    return fields, Integrator(
        System(Potential(fields, [term]), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], DT
    )


@cache
def state(side: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Positions (n, 3), velocities (n, 3) and the edge of the box, of so many cells along each axis."""
    if side >= COPIED:
        x, v, box = state(side // 2)
        corners = np.stack(np.meshgrid(*[[0.0, box]] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
        return (corners + x).reshape(-1, 3), np.tile(v, (8, 1)), 2.0 * box
    rng, edge = np.random.default_rng(0), (4.0 / DENSITY) ** (1.0 / 3.0)
    cells = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    corners = 0.5 * np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    x = edge * (cells + corners).reshape(-1, 3)
    v = rng.normal(size=x.shape) * HOT**0.5
    v -= v.mean(axis=0)
    fields, integrator = stepper(x, v, edge * side, "f64")
    integrator.advance(MELTING)
    return fields["x"].values % (edge * side), fields["v"].values.copy(), edge * side


@cache
def expected(side: int, steps: int) -> np.ndarray:
    """The last x, by the loops over one target at a time."""
    kept, lane_loops.LEAST_TARGETS = lane_loops.LEAST_TARGETS, 100 * side**3
    try:
        fields, integrator = stepper(*state(side), "f64")
        integrator.advance(steps)
    finally:
        lane_loops.LEAST_TARGETS = kept
    return fields["x"].values


@cache
def pairs(side: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """The pairs within a radius at the start, (m, 2), and their vectors from first to second, by SciPy."""
    x, _, box = state(side)
    found = cKDTree(x % box, boxsize=box).query_pairs(radius, output_type="ndarray")
    apart = x[found[:, 1]] - x[found[:, 0]]
    return found, apart - box * np.rint(apart / box)


@cache
def energy(side: int) -> float:
    """U an atom of the start, by a sum over pairs in NumPy."""
    _, apart = pairs(side, RADIUS)
    s6 = np.einsum("ij,ij->i", apart, apart) ** -3.0
    return float(4.0 * np.sum(s6 * (s6 - 1.0)) / (4 * side**3))


def near(x: np.ndarray, side: int) -> np.ndarray:
    """Positions without the images that a program has wrapped them to."""
    began, _, box = state(side)
    return x - box * np.rint((x - began) / box)
