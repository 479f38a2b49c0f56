"""Refusal of pair energies that depend on positions by more than the distance of their nodes.

u is compared at two nodes apart along some direction and, for the same distance, along the first axis from
the origin. Places and distances are those of nodes of the term, neighbours and others, because a function may
vanish elsewhere; half of the trials have other fields and parameters of the declared scales, because those of
the term may be zero, and half a time after 0, where a function may vanish.

Decisions 0310.
"""

from typing import Any

import numpy as np

from ...elements.trees.near_pairs import NearPairs
from ...energies.roles import Node, Parameter, concrete
from ...energies.term import Term
from ...errors import EnergyError

TRIALS = 48
SAME = 1e-7
"""The relative difference of values that are equal."""


def refuse_other_directions(term: Term, position: str, cure: str) -> None:
    """Raise `EnergyError` for an energy of more than the distance. `position`: the argument of positions."""
    rng, evaluate = np.random.default_rng(0), term.energy.evaluator()
    for trial in range(TRIALS):
        first, second, arguments = _two_nodes(term, position, rng, trial % 2 == 1, trial % 4 > 1)
        axis = np.zeros(len(first))
        axis[0] = np.linalg.norm(first - second)  # as the energy rounds it
        with np.errstate(all="ignore"):
            here, there = (
                float(evaluate(arguments | {position: places}))
                for places in ([first, second], [axis, np.zeros(len(first))])
            )
        if np.isfinite(here) and not abs(here - there) <= SAME * max(abs(here), abs(there)):
            raise EnergyError(
                f"{term.name}.far: needs an energy that depends on positions by their distance alone, got"
                f" {here:.9g} and {there:.9g} for one distance; {cure}"
            )


def _two_nodes(
    term: Term, position: str, rng: np.random.Generator, drawn: bool, later: bool
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Places of two nodes, about as far apart as two of the term, in a random direction; their arguments."""
    near = term.elements
    assert isinstance(near, NearPairs)
    x = term.fields[position].values.astype(np.float64)
    count = len(near.nodes)
    place = int(rng.integers(count))
    step = 1 if rng.random() < 0.5 else int(rng.integers(1, count))  # neighbours, or any
    one, other = near.nodes[near.tree.order[[place, (place + step) % count]]]
    distance = float(np.linalg.norm(x[one] - x[other])) or float(np.abs(x[other]).max()) or 1.0
    direction = rng.normal(size=x.shape[1])
    direction *= distance * 2.0 ** rng.uniform(-2.0, 2.0) / np.linalg.norm(direction)
    second = x[other] + distance * rng.normal(size=x.shape[1])
    t = 2.0 ** rng.uniform(-2.0, 2.0) if later else 0.0
    arguments = term.arguments(0, [int(one), int(other)], t)
    return second + direction, second, arguments | (_draw_pair(term, rng) if drawn else {})


def _draw_pair(term: Term, rng: np.random.Generator) -> dict[str, Any]:
    """Fields of two nodes, and parameters, of the declared scales."""
    roles, d = term.energy.roles, term.dimension
    made = {a: r.draw(rng, (2, *concrete(r.shape, d))) for a, r in roles.items() if isinstance(r, Node)}
    return {a: [*values] for a, values in made.items()} | {
        a: r.draw(rng, concrete(r.shape, d)) for a, r in roles.items() if isinstance(r, Parameter)
    }
