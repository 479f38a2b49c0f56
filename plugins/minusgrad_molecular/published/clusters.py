"""Published values of Lennard-Jones clusters: their lowest minima, found at random, or near a known shape."""

from itertools import product
from typing import Any

import numpy as np

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

DATABASE = (
    "The Cambridge Cluster Database, Lennard-Jones clusters; Wales & Doye 1997, J. Phys. Chem. A 101, 5111"
)
DIGIT = "half a unit of the last published digit"
SMALL = {
    **{2: -1.0, 3: -3.0, 4: -6.0, 5: -9.103852, 6: -12.712062, 7: -16.505384, 8: -19.821489},
    **{9: -24.113360, 10: -28.422532, 11: -32.765970, 12: -37.967600},
}
"""The energies of the lowest minima, in epsilon, by the number of atoms."""


def _lowest_of_quenches(place: Workplace, atoms: int, quenches: int) -> float:
    """The lowest energy where searches from random starts end."""
    changes = {
        "state.n": atoms,
        "state.radius": 0.8 * atoms ** (1.0 / 3.0),
        "state.apart": 0.75,
        'ensemble.vary."runtime.seed".range.to': quenches,
    }
    run = minusgrad.run(place.scene("lj_minima"), changes, out=place.folder / f"of_{atoms}")
    return float(run.series("observables/potential/lennard_jones").value[-1].min())


def _relaxed_energy(x: np.ndarray) -> float:
    """The energy of the minimum next to these places (n, 3)."""
    one: Any = minusgrad.Simulation(
        fields={"x": x, "m": np.ones(len(x))},
        energies=[minusgrad.energy("lennard_jones", epsilon=1.0, sigma=1.0)],
        stepper={"kind": "lbfgs", "gradient": 1e-9},
        units="dimensionless",
    )
    one.step(2000)
    return float(one.potential.value())


@published_value(
    "LJ13 minimum",
    area="molecules",
    value=-44.326801,
    tolerance=5e-7,
    why=DIGIT,
    source=f"{DATABASE}; Hoare & Pal 1971, Adv. Phys. 20, 161",
    unit="epsilon",
    quick=True,
)
def lowest_energy_of_thirteen(place: Workplace) -> float:
    """Lowest energy that 200 searches from random starts find: the icosahedron."""
    return _lowest_of_quenches(place, 13, 200)


@published_value(
    "LJ2 to LJ12 minima",
    area="molecules",
    value=[*SMALL.values()],
    tolerance=5.1e-7,
    why=DIGIT,
    source=DATABASE,
    unit="epsilon",
)
def lowest_energies_of_few(place: Workplace) -> list[float]:
    """Lowest energies that 400 searches from random starts find, by the number of atoms."""
    return [_lowest_of_quenches(place, atoms, 400) for atoms in SMALL]


@published_value(
    "LJ38 minimum",
    area="molecules",
    value=-173.928427,
    tolerance=5e-7,
    why=DIGIT,
    source=DATABASE,
    unit="epsilon",
    quick=True,
)
def energy_of_the_truncated_octahedron(place: Workplace) -> float:
    """Energy of the minimum next to an fcc truncated octahedron of 38 atoms."""
    lattice = np.array([p for p in product(range(-2, 3), repeat=3) if sum(p) % 2])  # about a hole of fcc
    kept = lattice[(lattice**2).sum(axis=1) <= 5]
    return _relaxed_energy(2.0 ** (1.0 / 6.0) / 2.0**0.5 * kept)


@published_value(
    "LJ55 minimum",
    area="molecules",
    value=-279.248470,
    tolerance=5e-7,
    why=DIGIT,
    source=DATABASE,
    unit="epsilon",
    quick=True,
)
def energy_of_the_second_icosahedron(place: Workplace) -> float:
    """Energy of the minimum next to a Mackay icosahedron of 55 atoms."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    turned = [np.roll([0.0, s, t * golden], k) for s in (-1, 1) for t in (-1, 1) for k in range(3)]
    corners = np.array(turned) / np.hypot(1.0, golden)
    gaps = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    pairs = np.argwhere(np.triu(gaps < 1.1, 1))
    edges = corners[pairs].sum(axis=1)
    return _relaxed_energy(1.08 * np.concatenate([np.zeros((1, 3)), corners, 2.0 * corners, edges]))


ROWS: list[PublishedValue] = [
    lowest_energy_of_thirteen,
    lowest_energies_of_few,
    energy_of_the_truncated_octahedron,
    energy_of_the_second_icosahedron,
]
