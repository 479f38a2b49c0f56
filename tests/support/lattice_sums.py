"""Crystals by direct summation in NumPy: energies, stress, elastic constants, dynamical matrices.

Shares nothing with the engine: lattice vectors, loops over neighbours and difference quotients in double
precision, all per atom of a lattice with one atom or a basis.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

FCC = 0.5 * np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
"""Primitive vectors in rows, of the lattice constant 1."""
DIAMOND = np.array([[0.0, 0.0, 0.0], [0.25, 0.25, 0.25]])
"""The basis of diamond over `FCC`, Cartesian."""


def neighbours(vectors: np.ndarray, reach: float, shift: np.ndarray | None = None) -> np.ndarray:
    """All n . vectors + shift, (m, d), that are not longer than `reach`, without the zero vector."""
    d = len(vectors)
    heights = 1.0 / np.linalg.norm(np.linalg.inv(vectors), axis=0)
    most = int(np.ceil(reach / heights.min())) + 1
    n = np.indices((2 * most + 1,) * d).reshape(d, -1).T - most
    r = n @ vectors + (0.0 if shift is None else shift)
    length = np.linalg.norm(r, axis=1)
    return r[(length <= reach) & (length > 1e-9)]


def born(r: np.ndarray, slope: Callable, curvature: Callable, volume: float) -> tuple[np.ndarray, np.ndarray]:
    """Stress and second Piola constants of a pair potential on a Bravais lattice (Born & Huang 1954, ch. 3).

    r: the neighbours of an atom; slope, curvature: phi' and phi'' of their distances; volume: of an atom.
    """
    s = np.linalg.norm(r, axis=1)
    first, second = slope(s) / s, curvature(s) / s**2 - slope(s) / s**3
    stress = np.einsum("n,na,nb->ab", first, r, r) / (2.0 * volume)
    return stress, np.einsum("n,na,nb,nc,nd->abcd", second, r, r, r, r) / (2.0 * volume)


def dynamical(r: np.ndarray, slope: Callable, curvature: Callable, q: np.ndarray) -> np.ndarray:
    """D(q) (d, d) of a Bravais lattice of unit masses: sum of K(r) (1 - cos q.r)."""
    s = np.linalg.norm(r, axis=1)
    unit = r / s[:, None]
    along = np.einsum("na,nb->nab", unit, unit)
    stiffness = curvature(s)[:, None, None] * along + (slope(s) / s)[:, None, None] * (
        np.eye(r.shape[1]) - along
    )
    return ((1.0 - np.cos(r @ q))[:, None, None] * stiffness).sum(axis=0)


def constants_by_differences(
    energy: Callable[[np.ndarray], float], volume: float, step: float = 1e-3
) -> np.ndarray:
    """(d2E/de_P de_Q) / volume over Voigt's six strains, of the energy of a symmetric strain."""
    pairs = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]
    units = []
    for k, m in pairs:
        e = np.zeros((3, 3))
        e[k, m] += 0.5
        e[m, k] += 0.5
        units.append(e)
    marks, weights = (-2.0, -1.0, 1.0, 2.0), (1.0 / 12.0, -2.0 / 3.0, 2.0 / 3.0, -1.0 / 12.0)
    table = np.zeros((6, 6))
    for p, a in enumerate(units):
        for q, b in enumerate(units[: p + 1]):
            found = sum(
                v * w * energy(step * (m * a + n * b))
                for m, v in zip(marks, weights, strict=True)
                for n, w in zip(marks, weights, strict=True)
            )
            table[p, q] = table[q, p] = found / step**2 / volume
    return table


# Stillinger and Weber, in units of epsilon and sigma --------------------------------------------------------


def stillinger_weber(vectors: np.ndarray, basis: np.ndarray) -> float:
    """The energy of a cell, by the formulas of the paper; parameters of silicon."""
    A, B, a, stiffness, gamma = 7.049556277, 0.6022245584, 1.8, 21.0, 1.2
    energy = 0.0
    for one in basis:
        arms = np.concatenate([neighbours(vectors, a, other - one) for other in basis])
        r = np.linalg.norm(arms, axis=1)
        arms, r = arms[r < a], r[r < a]
        energy += 0.5 * float((A * (B / r**4 - 1.0) * np.exp(1.0 / (r - a))).sum())
        reach = np.exp(gamma / (r - a))
        cosine = (arms @ arms.T) / np.outer(r, r)
        table = stiffness * np.outer(reach, reach) * (cosine + 1.0 / 3.0) ** 2
        energy += float(np.triu(table, 1).sum())
    return energy


def silicon_strained(a: float, strain: np.ndarray, relaxed: bool) -> float:
    """The energy of the two atoms of a cell of diamond under a strain, the second one free to move or not."""
    F = np.eye(3) + strain
    vectors, basis = a * FCC @ F.T, a * DIAMOND @ F.T

    def moved(u: np.ndarray) -> float:
        return stillinger_weber(vectors, basis + np.array([np.zeros(3), u]))

    if not relaxed:
        return moved(np.zeros(3))
    found = minimize(moved, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    return float(found.fun)
