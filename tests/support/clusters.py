"""Clusters and crystals of Lennard-Jones atoms, as potentials in the units of whoever calls them."""

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.plugin import Cutoff
from minusgrad_molecular.lennard_jones import lennard_jones

EPSILON, SIGMA = 0.7, 1.3


def block(seed: int = 0, side: int = 2) -> np.ndarray:
    """Positions of side^3 atoms, about sigma apart."""
    rng = np.random.default_rng(seed)
    sites = np.stack(np.meshgrid(*[np.arange(float(side))] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return 1.15 * SIGMA * sites + 0.05 * rng.normal(size=sites.shape)


def lattice(cell: np.ndarray, side: int = 3, seed: int = 0) -> np.ndarray:
    """Positions of side^3 disturbed atoms in a cell."""
    rng = np.random.default_rng(seed)
    sites = np.stack(np.meshgrid(*[np.arange(float(side))] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return (sites / side) @ cell + 0.05 * rng.normal(size=sites.shape)


def potential(
    x: np.ndarray, cell: np.ndarray | None = None, cutoff: float | None = None, precision: str = "f64"
) -> Potential:
    values = {"x": x} if cell is None else {"x": x, "box": cell[None]}
    fields = Fields(values, dict.fromkeys(values, "m"), precision)
    cut = None if cutoff is None else Cutoff(cutoff, sharp=True)
    given = {"epsilon": EPSILON, "sigma": SIGMA}
    return Potential(fields, [bind(lennard_jones, fields, parameters=given, cutoff=cut)])
