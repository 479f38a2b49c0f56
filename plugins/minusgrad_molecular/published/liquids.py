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


def _energy_and_virial(x: np.ndarray, edges: np.ndarray, cutoff: float) -> tuple[float, float]:
    """The virial -sum over pairs of r . dU/dr is that of positions and box together."""
    fields = Fields({"x": x, "box": np.diag(edges)[None]})
    room = min(0.3, 0.99 * (0.5 * edges[0] - cutoff))
    sharp = Cutoff(cutoff, sharp=True, skin=room) if room > 0 else Cutoff(cutoff, sharp=True, images=True)
    term = bind(lennard_jones, fields, parameters={"epsilon": 1.0, "sigma": 1.0}, cutoff=sharp)
    potential = Potential(fields, [term])
    of_box = fields["box"].values[0] * potential.gradient("box")[0]
    virial = -float((fields["x"].values * potential.gradient("x")).sum() + of_box.sum())
    return float(potential.value()), virial


def _energies_and_virials(place: Workplace, cutoff: float) -> list[float]:
    """Of NIST's four configurations."""
    configurations = [configuration(place.data_bytes(name)) for name in FILES]
    found = [_energy_and_virial(x, edges, cutoff) for x, edges, _ in configurations]
    return [*(energy for energy, _ in found), *(virial for _, virial in found)]


@published_value(
    "Lennard-Jones sum of 30 digits",
    area="molecules",
    value=[-210.87334904615363, -188.8370582655621],
    tolerance=1e-10,
    why="rounding of 1e-16 of sums of pairs near their walls, of 1e4",
    source="sum over all pairs and nearest images of 4 (r^-12 - r^-6) and 24 (2 r^-12 - r^-6), by mpmath",
    unit="epsilon",
    quick=True,
)
def energy_of_a_small_configuration(place: Workplace) -> tuple[float, float]:
    """Energy and virial of 64 atoms in a periodic box of 4.8 sigma, cut at 2.3 sigma."""
    k = np.arange(64)
    places = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    waves = np.sin(np.stack([1.0 + 3.7 * k, 2.0 + 5.1 * k, 3.0 + 7.3 * k], axis=1))
    return _energy_and_virial(np.round(1.2 * places + 0.12 * waves, 3), np.full(3, 4.8), 2.3)


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


@published_value(
    "liquid argon by neutrons",
    area="molecules",
    value=[3.043, 3.7, 0.0],
    tolerance=[0.18, 0.1, 0.1],
    why="6 % of the first maximum: pairs of the real liquid are softer; a bin of the table; noise",
    source="Yarnell, Katz, Wenzel & Koenig 1973, Phys. Rev. A 7, 2130, at 85 K",
    unit="1, angstrom, 1",
)
def radial_distribution_of_argon(place: Workplace) -> list[float]:
    """First maximum of g(r), its place, and the largest distance from the measured g beyond 4.2 angstrom."""
    run = minusgrad.run(place.scene("argon_liquid"), out=place.folder / "run")
    r, g, published = (
        run.series(f"observables/radial_distribution/{name}").value for name in ("r", "g", "published")
    )
    mean, far = g.mean(axis=0), r[0] > 4.2
    return [
        float(mean.max()),
        float(r[0][np.argmax(mean)]),
        float(np.abs(mean - published[0])[far].max()),
    ]


ROWS: list[PublishedValue] = [
    energy_of_a_small_configuration,
    energies_at_three_sigma,
    energies_at_four_sigma,
    pressure_of_the_liquid,
    radial_distribution_of_argon,
]
