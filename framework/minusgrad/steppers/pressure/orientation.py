"""A box that keeps its edges upright: the first along x, the second in the plane of x and y.

A flexible box follows h -> h e^S with a symmetric strain S, which turns its edges away from the axes. Rotated
by R = e^-S F they are upright again, and positions and velocities with them:

    h -> h F      x -> x F      v -> v F^-T      p -> R^T p R      F F^T = e^(2 S), F[a, b] = 0 for b > a

Energies that no rotation changes have the same motion in the rotated frame, with the same conserved energy.
Other programs know a box by the lengths and angles of its edges, and take it to stand like this.

Decisions 0060.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from ...energies.fields import BOX, Field
from ...potential.potential import Potential
from .stress import product

KEPT = 1e-9
"""The largest change of U by a rotation that is rounding, in parts of its sum of absolute values."""


def is_upright(edges: np.ndarray) -> bool:
    """True if no edge (row) has a component beyond its own axis."""
    return not np.triu(edges, 1).any()


def upright_deformation(grown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F - 1 and F^-T - 1 of F F^T = 1 + grown, to the last digit."""
    d = len(grown)
    change, inverse = np.zeros((d, d)), np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            rest = grown[i, j] - float(np.sum(change[i, :j] * change[j, :j]))
            own = 1.0 + np.sqrt(1.0 + rest) if i == j else 1.0 + change[j, j]
            change[i, j] = rest / own
    for i in range(d):
        for j in range(i + 1):
            rest = change[i, j] + float(np.sum(change[i, :i] * inverse[:i, j]))
            inverse[i, j] = -rest / (1.0 + change[i, i])
    return change, inverse.T


def rotated(tensor: np.ndarray, shrunk: np.ndarray, change: np.ndarray) -> np.ndarray:
    """R^T tensor R of a symmetric tensor, R = (1 + shrunk) (1 + change); symmetric to the last bit."""
    turn = shrunk + change + product(shrunk, change)
    half = tensor + product(tensor, turn)
    found = half + product(turn.T, half)
    return 0.5 * (found + found.T)


def may_turn(potential: Potential, moved: Collection[str]) -> bool:
    """True if U is known to stay the same as the box and these positions are rotated together.

    Energies that read positions declare it; maps, and energies of the box alone, are judged by values of U.
    """
    fields, d = potential.fields, potential.fields[BOX].shape[-1]
    for part in [*potential.terms.values(), *potential.chain.parts.values()]:
        read = [one for one in getattr(part, "fields", {}).values() if one.name not in fields.derived]
        if any(one.name not in moved and one.name != BOX and d in one.shape[1:] for one in read):
            return False
    by_value = bool(potential.chain.parts)
    for term in potential.terms.values():
        if {one.name for one in term.fields.values()}.isdisjoint(moved):
            by_value = by_value or bool(getattr(term, "uniform", None))
        elif "rotation" not in term.energy.symmetries:
            return False
    return not by_value or _stays(potential, [fields[name] for name in (*moved, BOX)])


def _stays(potential: Potential, vectors: list[Field]) -> bool:
    """True if U does not change as these fields are rotated together; they are restored."""
    start: list[Any] = [one.values.copy() for one in vectors]
    q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(vectors[0].shape[-1],) * 2))
    q[:, 0] *= np.sign(np.linalg.det(q))
    with potential.fields.lists_kept():
        here, size = potential.value(), potential.magnitude()
        for one, values in zip(vectors, start, strict=True):
            one.set(values.astype(np.float64) @ q)
        there = potential.value()
        for one, values in zip(vectors, start, strict=True):
            one.set(values)
    rounding = KEPT if vectors[0].dtype == np.float64 else 1e-4
    return bool(abs(there - here) <= rounding * size)
