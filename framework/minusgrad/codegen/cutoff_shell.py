"""The jump of a pair energy at a sharp cutoff, summed over pairs at uniform density.

    J = B(r_c) sum over i, j of u_ij(r_c) / 2,     B the ball of radius r_c: 4 pi/3 r_c^3, pi r_c^2, 2 r_c

A pair that leaves the cutoff drops u(r_c), an impulse that no force contains. At uniform density (g = 1) it
adds J / V^2 to the pressure: (2 pi / 3) rho^2 r_c^3 u(r_c) for one kind of atom in space (Allen & Tildesley
2017, Computer Simulation of Liquids, 2.8). The sum runs over all ordered pairs of nodes of the term, a node
with itself (its images) among them, so that mixtures have the density of each kind around each other.
Excluded pairs are a finite number for each node, and have no part at uniform density. u_ij is the graph of
the term's own function, and its mean over directions where it depends on them.

Decisions 0011.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import gamma, pi, sqrt

import numpy as np

from ..energies.roles import Box, Image, Node, Parameter, Time
from ..energies.term import Term
from ..errors import TermError
from ..symbolic.graph import inputs
from ..symbolic.numpy_values import numbers
from ..symbolic.scalar import Scalar
from .kept_traces import KEPT

MOST_KINDS = 3000
"""The most kinds of nodes whose pairs are evaluated, some seconds."""
ROOM = 1 << 20
"""Pairs that are evaluated together."""


def jump_over_ball(term: Term, t: float = 0.0) -> float:
    """J of a term with a sharp cutoff, energy times volume [J m^d].

    Raises `TermError` where nodes are of too many kinds.
    """
    cutoff = term.energy.cutoff
    assert cutoff is not None
    kinds, counts = _node_kinds(term)
    d = term.fields[term.energy.positions[0]].shape[1]
    ball = pi ** (d / 2.0) / gamma(d / 2.0 + 1.0) * cutoff.radius**d
    total = 0.0
    rows = max(ROOM // len(kinds), 1)
    for begin in range(0, len(kinds), rows):
        part = slice(begin, begin + rows)
        u = sum(
            share * _of_pairs(term, kinds[part], kinds, cutoff.radius * way, t)
            for way, share in _direction_quadrature(d)
        )
        total += float(counts[part] @ u @ counts)
    return 0.5 * ball * total


def _node_kinds(term: Term) -> tuple[np.ndarray, np.ndarray]:
    """One node of each kind, and how many are of it: those with equal values of all fields but positions."""
    nodes = term.members(term.energy.positions[0])
    fields = [f for a, f in term.fields.items() if a not in term.energy.positions]
    if not fields:
        return nodes[:1], np.array([float(len(nodes))])
    values = np.concatenate([f.values[nodes].reshape(len(nodes), -1) for f in fields], axis=1)
    _, first, counts = np.unique(values, axis=0, return_index=True, return_counts=True)
    if len(first) > MOST_KINDS:
        raise TermError(
            f"{term.name}: is cut sharply with nodes of {len(first):,} kinds, got more than {MOST_KINDS:,}"
            " whose jumps at the cutoff can be summed for the pressure; give it a `switch`",
            term.name,
        )
    return nodes[first], counts.astype(np.float64)


def _direction_quadrature(d: int) -> list[tuple[np.ndarray, float]]:
    """Directions and their shares: a mean over them is exact for polynomials of degree 5 (of a line: all)."""
    if d == 2:
        angles = np.arange(6) * pi / 3.0
        return [(np.array([np.cos(a), np.sin(a)]), 1.0 / 6.0) for a in angles]
    axes = [(sign * row, 1.0) for row in np.eye(d) for sign in (1.0, -1.0)]
    if d != 3:
        return [(row, 1.0 / len(axes)) for row, _ in axes]
    corners = [np.array(signs) / sqrt(3.0) for signs in product((1.0, -1.0), repeat=3)]
    return [(row, 1.0 / 15.0) for row, _ in axes] + [(row, 3.0 / 40.0) for row in corners]


def _of_pairs(term: Term, first: np.ndarray, second: np.ndarray, away: np.ndarray, t: float) -> np.ndarray:
    """u (n, m) of pairs of these nodes, the second of which is displaced by a vector from the first."""
    whole = replace(term, energy=replace(term.energy, cutoff=None))
    trace = KEPT.of_term(whole, "jump at the cutoff")
    slots: Sequence[np.ndarray] = (first[:, None], second[None, :])

    def value(leaf: Scalar) -> np.ndarray:
        argument, slot, component = leaf.value[:3]
        role = term.energy.roles[argument]
        if argument in term.energy.positions:
            return np.asarray(away[component] if slot == 1 else 0.0)
        if isinstance(role, Node):
            return term.fields[argument].values[(slots[slot], *component)]
        if isinstance(role, Image):  # both nodes are placed here
            return np.zeros(())
        if isinstance(role, Box):
            return term.uniform[argument].values[(0, *component)]
        if isinstance(role, Time):
            return np.asarray(t)
        assert isinstance(role, Parameter)
        return term.parameters[argument].rows[(0, *component)]

    leaves = {leaf.serial: np.asarray(value(leaf), np.float64) for leaf in inputs([trace.value])}
    (found,) = numbers([trace.value], leaves, term.tables)
    return np.broadcast_to(found, (len(first), len(second)))
