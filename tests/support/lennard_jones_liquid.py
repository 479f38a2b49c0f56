"""A Lennard-Jones liquid in reduced units (epsilon = sigma = m = 1), from a crystal, in every ensemble."""

from itertools import product

import numpy as np

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.plugin import Cutoff
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.pressure.barostat import Barostat
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.heat_bath import Bath
from minusgrad_molecular.lennard_jones import lennard_jones

MOTIONS = (Motion("x", "v", "m"),)
CELLS = {2: [[0.0, 0.0], [0.5, 0.5]], 3: [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]}
"""Atoms of a conventional cell, in units of its edge: centred squares and face-centred cubes."""


def liquid(
    cells: int,
    density: float,
    temperature: float,
    cutoff: Cutoff,
    dt: float,
    d: int = 3,
    precision: str = "f64",
    friction: float = 0.0,
    barostat: Barostat | None = None,
    seed: int = 1,
    hot: float = 1.0,
) -> Integrator:
    """Atoms near the places of a crystal, with velocities of this temperature; NVE without a friction.

    hot: how many times as hot the first velocities are, for a crystal that loses heat when it melts.
    """
    basis, chance = np.array(CELLS[d]), np.random.default_rng(seed)
    edge = (len(basis) / density) ** (1.0 / d)
    corners = np.array(list(product(range(cells), repeat=d)))
    x = edge * (corners[:, None] + basis + 0.25).reshape(-1, d)
    v = chance.normal(size=x.shape) * (hot * temperature) ** 0.5
    state = {"x": x + 0.03 * chance.normal(size=x.shape), "v": v - v.mean(axis=0), "m": np.ones(len(x))}
    units = {"x": "m", "v": "m s^-1", "m": "kg", "box": "m"}
    fields = Fields(state | {"box": cells * edge * np.eye(d)[None]}, units, precision)
    pairs = bind(lennard_jones, fields, parameters={"epsilon": 1.0, "sigma": 1.0}, cutoff=cutoff)
    bath = Bath(friction, temperature, seed) if friction else None
    return Integrator(
        System(Potential(fields, [pairs]), MOTIONS, bath=bath, barostat=barostat), SCHEMES["leapfrog"], dt
    )
