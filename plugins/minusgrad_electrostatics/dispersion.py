"""The long-range correction of Lennard-Jones energies for pairs beyond the cutoff, at uniform density.

    U = C / V,    C = 8 pi N^2 < epsilon (sigma^12 / (9 R^9) - sigma^6 / (3 R^3)) + s >
    s = integral from R_s to R of (1 - S(r)) epsilon ((sigma / r)^12 - (sigma / r)^6) r^2 dr

< > is the mean over the N (N + 1) / 2 pairs of N atoms, an atom with itself among them, of sigma = (sigma_i +
sigma_j) / 2 and epsilon = sqrt(epsilon_i epsilon_j); V [m^3] is the volume, R [m] the cutoff, S the switch
from R_s on. Shirts et al. 2007, J. Phys. Chem. B 111, 13052; OpenMM User Guide, "Lennard-Jones Interaction".

Decisions 0324.
"""

import numpy as np

from minusgrad.plugin import Box, Cutoff, Parameter, local_energy

from .box import volume


@local_energy(
    "dispersion_correction",
    over=("box",),
    beyond_cutoff=True,
    box=Box(),
    coefficient=Parameter("J m^3", scale=1.0),
)
def dispersion_correction(box, coefficient):
    """Lennard-Jones energy beyond the cutoff, at uniform density: a function of the volume alone."""
    return coefficient / volume(box)


def coefficient(epsilon: np.ndarray, sigma: np.ndarray, cutoff: Cutoff) -> float:
    """C [J m^3] of atoms with depths epsilon (n,) [J] and sizes sigma (n,) [m], for a cutoff [m]."""
    kinds, counts = np.unique(np.stack([sigma, epsilon], axis=1), axis=0, return_counts=True)
    s = 0.5 * (kinds[:, None, 0] + kinds[None, :, 0])
    depth = np.sqrt(kinds[:, None, 1] * kinds[None, :, 1])
    # ordered pairs of different kinds count each pair twice, of one kind those of an atom with itself once
    pairs = 0.5 * (np.outer(counts, counts) + np.diag(counts))
    six, r = s**6, cutoff.radius
    beyond = six * six / (9.0 * r**9) - six / (3.0 * r**3) + _switched_integral(six, cutoff)
    n = int(counts.sum())
    return float(8.0 * np.pi * n * n * (pairs * depth * beyond).sum() / (0.5 * n * (n + 1)))


def _switched_integral(six: np.ndarray, cutoff: Cutoff) -> np.ndarray:
    """The integral of the part that the switch removes, over epsilon, by Gauss and Legendre's rule."""
    if cutoff.sharp:
        return np.zeros_like(six)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    half = 0.5 * (cutoff.radius - cutoff.begin)
    r = cutoff.begin + half * (nodes + 1.0)
    s = 0.5 * (nodes + 1.0)
    lost = half * weights * s**3 * (10.0 + s * (-15.0 + 6.0 * s)) * r * r
    return six * six * (lost / r**12).sum() - six * (lost / r**6).sum()
