"""Published values of NIST's reference simulations of the Lennard-Jones fluid."""

from typing import Any

import numpy as np

import minusgrad
from minusgrad import Fields, Potential, bind
from minusgrad.plugin import Cutoff, PublishedValue, Workplace, published_value

from ..lennard_jones import lennard_jones

SITE = "NIST Standard Reference Simulation Website, SRD 173, doi:10.18434/T4QC79"
FILES = tuple(f"lj_sample_config_periodic{k}.txt" for k in range(1, 5))
DIGIT = "half a unit of the fifth digit, the last that is published"
AT_3 = (-4.3515e3, -6.9000e2, -1.1467e3, -1.6790e1, -5.6867e2, -5.6846e2, -1.1649e3, -4.6249e1)
AT_4 = (-4.4675e3, -7.0460e2, -1.1754e3, -1.7060e1, -1.2639e3, -6.5599e2, -1.3371e3, -4.7869e1)
"""Energies of the four configurations, then their virials, by the cutoff."""

DENSITY, TEMPERATURE = 0.776, 0.90
SCENE: dict[str, Any] = {
    "units": {"system": "dimensionless"},
    "state": {
        "kind": "crystal",
        "lattice": "fcc",
        "cells": [5, 5, 5],
        "a": (4.0 / DENSITY) ** (1.0 / 3.0),
        "mass": 1.0,
        "displacement": 0.03,
        "temperature": TEMPERATURE,
    },
    "energy": [{"kind": "lennard_jones", "epsilon": 1.0, "sigma": 1.0, "cutoff": 3.0, "switch": "none"}],
    "stepper": {"kind": "langevin", "dt": 0.005, "friction": 1.0, "temperature": TEMPERATURE},
    "run": {"steps": 23_000},
    "observe": [{"kind": "pressure", "every": 10}],
    "checkpoint": {"every": 23_000},
}


def configuration(data: bytes) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Places (n, 3), edges of the box (3,), and the last column of a file of NIST's: the site's element."""
    lines = data.decode().splitlines()
    edges = np.array(lines[0].split(), float)
    rows = [line.split() for line in lines[2:] if line.strip()]
    return np.array([row[1:4] for row in rows], float), edges, [row[-1] for row in rows]


def half_digits(values: tuple[float, ...], digits: int) -> list[float]:
    """Half a unit of the last of so many digits of each, and a little for its binary form."""
    return [0.5001 * 10.0 ** (np.floor(np.log10(abs(value))) - digits + 1) for value in values]


def _energies_and_virials(place: Workplace, cutoff: float) -> list[float]:
    """-sum over pairs of r . dU/dr is the virial, of positions and box together."""
    energies, virials = [], []
    for name in FILES:
        x, edges, _ = configuration(place.data_bytes(name))
        fields = Fields({"x": x, "box": np.diag(edges)[None]})
        room = min(0.3, 0.99 * (0.5 * edges[0] - cutoff))
        sharp = Cutoff(cutoff, sharp=True, skin=room) if room > 0 else Cutoff(cutoff, sharp=True, images=True)
        term = bind(lennard_jones, fields, parameters={"epsilon": 1.0, "sigma": 1.0}, cutoff=sharp)
        potential = Potential(fields, [term])
        of_box = fields["box"].values[0] * potential.gradient("box")[0]
        energies.append(float(potential.value()))
        virials.append(-float((fields["x"].values * potential.gradient("x")).sum() + of_box.sum()))
    return [*energies, *virials]


@published_value(
    "NIST Lennard-Jones, cutoff 3",
    area="molecules",
    value=AT_3,
    tolerance=half_digits(AT_3, 5),
    why=DIGIT,
    source=f"{SITE}: Lennard-Jones reference calculations, cuboid cell",
    unit="epsilon",
    data=FILES,
    quick=True,
)
def energies_at_three_sigma(place: Workplace) -> list[float]:
    """Energies, then virials, of four configurations in a periodic box, cut at 3 sigma."""
    return _energies_and_virials(place, 3.0)


@published_value(
    "NIST Lennard-Jones, cutoff 4",
    area="molecules",
    value=AT_4,
    tolerance=half_digits(AT_4, 5),
    why=DIGIT,
    source=f"{SITE}: Lennard-Jones reference calculations, cuboid cell",
    unit="epsilon",
    data=FILES,
    quick=True,
)
def energies_at_four_sigma(place: Workplace) -> list[float]:
    """Energies, then virials, of four configurations in a periodic box, cut at 4 sigma."""
    return _energies_and_virials(place, 4.0)


@published_value(
    "NIST Lennard-Jones liquid",
    area="molecules",
    value=0.24056,
    tolerance=0.025,
    why="three standard errors, theirs 0.0027 and ours 0.008 of 20,000 steps",
    source=f"{SITE}: Lennard-Jones fluid properties, Monte Carlo of 500 atoms, T* = 0.90, rho* = 0.776",
    unit="epsilon / sigma^3",
)
def pressure_of_the_liquid(place: Workplace) -> float:
    """Mean pressure of 500 atoms in a heat bath, cut at 3 sigma, with the long-range correction."""
    run = minusgrad.run(SCENE, out=place.folder / "run")
    series = run.series("observables/pressure")
    tail = 16.0 / 3.0 * np.pi * DENSITY**2 * (2.0 / 3.0 * 3.0**-9 - 3.0**-3)
    return float(series.value[series.step > 3000].mean() + tail)


ROWS: list[PublishedValue] = [energies_at_three_sigma, energies_at_four_sigma, pressure_of_the_liquid]
