"""Softened gravity between all bodies, recognised by its values: -G m_i m_j / sqrt(r^2 + eps^2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minusgrad.plugin import Motion, Term

CHECKED = (0.1, 0.5, 2.0, 7.0)
"""Distances at which the law is compared, in units of the one at which the energy has fallen by half."""


@dataclass(frozen=True)
class Gravity:
    """The law -G m_i m_j / sqrt(r^2 + softening^2)."""

    G: float
    softening: float


def gravity_of(term: Any, motion: Motion, n: int) -> Gravity | None:
    """The law of a term that is softened gravity between all n nodes; None of another.

    1 / u(r)^2 of u = -U / (m_i m_j) is (r^2 + eps^2) / G^2: its value at 0 and its slope give both numbers.
    """
    if not isinstance(term, Term):
        return None
    arguments = {field.name: a for a, field in term.fields.items()}
    if motion.position not in arguments or motion.inertia not in arguments:
        return None
    if not term.elements.all_pairs(n):
        return None
    value = term.energy.evaluator()
    given = term.arguments(0, [0, 1], 0.0)
    x, m = arguments[motion.position], arguments[str(motion.inertia)]
    direction = np.zeros(np.shape(given[x][0]))
    direction[0] = 1.0

    def depth(r: float, mass: float = 1.0) -> float:
        """-U at a distance, of bodies with masses 1 and `mass`."""
        return -float(value(given | {x: [0.0 * direction, r * direction], m: [1.0, mass]}))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _fitted_law(depth)


def _fitted_law(depth: Any) -> Gravity | None:
    """The law whose depths these are."""
    centre = depth(0.0)
    if not 0.0 < centre < np.inf:
        return None
    r = next((r for k in range(-100, 101) if 0.0 < depth(r := 10.0**k) <= 0.5 * centre), None)
    if r is None:
        return None
    G = r / np.sqrt(depth(r) ** -2 - centre**-2)
    law = Gravity(float(G), float(G / centre))
    agree = all(
        abs(depth(p * r, mass) * np.hypot(p * r, law.softening) - law.G * mass) <= 1e-9 * law.G * mass
        for p in CHECKED
        for mass in (1.0, 3.0)
    )
    return law if agree else None
