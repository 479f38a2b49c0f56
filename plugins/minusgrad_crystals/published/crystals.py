"""Published values of crystals: lattice constants, cohesive energies, elastic constants."""

from typing import Any

import numpy as np

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

from ..lattices import LATTICES

EV = 1.602176634e-19
"""J."""
DIGIT = "half a unit of the last published digit"


def _relaxed(place: Workplace, scene: str, of_cell: int, changes: dict[str, Any]) -> list[float]:
    """Lattice constant [angstrom], energy of an atom [eV], C11, C12, C44, C44 without relaxation [GPa].

    of_cell: the atoms of a cubic cell.
    """
    run = minusgrad.run(place.scene(scene), changes, out=place.folder / "run")
    one: Any = run.simulation
    fields, of_run = one.fields, one.units.in_si("J") / EV
    atoms = len(fields["x"])
    a = (abs(np.linalg.det(fields["box"].values[0])) * of_cell / atoms) ** (1.0 / 3.0)
    energy = one.stepper.energy * of_run / atoms
    relaxed, unrelaxed = (
        run.series(f"observables/elastic_constants/{name}").value[-1] for name in ("relaxed", "unrelaxed")
    )
    return [float(n) for n in (a, energy, relaxed[0, 0], relaxed[0, 1], relaxed[3, 3], unrelaxed[3, 3])]


@published_value(
    "silicon of Stillinger and Weber",
    area="crystals",
    value=[5.431, -2.0, 151.0, 76.0, 56.0],
    tolerance=[5e-4, 1e-6, 0.5, 0.5, 0.5],
    why=f"{DIGIT}; the energy is exact, because three-body terms vanish in the crystal",
    source="Stillinger & Weber 1985, PRB 31, 5262; elastic constants: Cowley 1988, PRL 60, 2379",
    unit="angstrom, epsilon, GPa",
    quick=True,
)
def constants_of_silicon(place: Workplace) -> list[float]:
    """Lattice constant, energy of an atom, C11, C12, C44, from a disturbed crystal of 64 atoms."""
    a, energy, *constants, _ = _relaxed(place, "silicon", 8, {})
    epsilon = 50.0 * 4184.0 / 6.02214076e23 / EV
    return [a, energy / epsilon, *constants]


@published_value(
    "silicon of Tersoff",
    area="crystals",
    value=[5.432, -4.63, 142.5, 75.4, 69.0, 118.8],
    tolerance=[5e-4, 5e-3, 0.1, 0.1, 0.1, 0.1],
    why="a unit of the last published digit of elastic constants, half of one of the others",
    source="Tersoff 1988, PRB 38, 9902: Si(C)",
    unit="angstrom, eV, GPa",
    quick=True,
)
def constants_of_tersoffs_silicon(place: Workplace) -> list[float]:
    """Lattice constant, energy of an atom, C11, C12, C44, C44 without relaxation; 64 atoms."""
    return _relaxed(place, "silicon_tersoff", 8, {})


@published_value(
    "copper of Sutton and Chen",
    area="crystals",
    value=[3.61, -3.50],
    tolerance=5e-3,
    why=DIGIT,
    source="Sutton & Chen 1990, Philos. Mag. Lett. 61, 139",
    unit="angstrom, eV",
    quick=True,
)
def constants_of_copper(place: Workplace) -> list[float]:
    """Lattice constant and energy of an atom."""
    return _relaxed(place, "copper_constants", 4, {"state.cells": [1, 1, 1]})[:2]


@published_value(
    "lattice sums of fcc",
    area="crystals",
    value=[12.13188, 14.45392],
    tolerance=[2e-3, 2e-3],
    why="pairs beyond 16 sigma are replaced by an integral, to 1e-5; sums are differences of energies",
    source="Jones & Ingham 1925, Proc. R. Soc. A 107, 636: sums over fcc of r^-12 and r^-6, r in distances of"
    " neighbours",
    quick=True,
)
def lattice_sums(place: Workplace) -> list[float]:
    """Sums of r^-12 and r^-6, from Lennard-Jones energies of an atom at two distances of neighbours."""
    distances = np.array([1.05, 1.3])
    powers = np.stack([2.0 * distances**-12, -2.0 * distances**-6], axis=1)
    return [*np.linalg.solve(powers, [_energy_of_fcc(distance) for distance in distances])]


def _energy_of_fcc(distance: float) -> float:
    """Of an atom, by pairs within 16 sigma and an integral beyond."""
    cutoff, a = 16.0, distance * 2.0**0.5
    x, box = LATTICES["fcc"].crystal(a, [2, 2, 2])
    one: Any = minusgrad.Simulation(
        fields={"x": x, "m": np.ones(len(x))},
        energies=[
            minusgrad.energy(
                "lennard_jones", epsilon=1.0, sigma=1.0, cutoff=cutoff, switch="none", images=True
            )
        ],
        stepper={"kind": "leapfrog", "dt": 1.0},
        units="dimensionless",
        box=np.diag(box),
    )
    beyond = 8.0 * np.pi * (4.0 / a**3) * (cutoff**-9 / 9.0 - cutoff**-3 / 3.0)
    return float(one.potential.value() / len(x) + beyond)


ROWS: list[PublishedValue] = [
    constants_of_silicon,
    constants_of_tersoffs_silicon,
    constants_of_copper,
    lattice_sums,
]
