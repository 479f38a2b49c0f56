"""The jump of a pair energy that is cut sharply: its value at the cutoff, where the sum drops it."""

from dataclasses import replace

import numpy as np

from ..local_map import numbers_of
from ..term import Term

PAIRS = 64
"""Pairs of nodes that are looked at: fields such as charges may differ from node to node."""
NONE = 1e-9
"""A jump smaller than this part of the value well within the cutoff is none."""


def jump(term: Term) -> float:
    """The largest |u|, or output of a map, of pairs at a sharp cutoff; 0 for a smooth one and for triples."""
    cutoff = term.energy.cutoff
    if cutoff is None or not cutoff.sharp or term.elements.arity != 2:
        return 0.0
    rng, nodes = np.random.default_rng(0), term.elements.nodes
    evaluate = replace(term.energy, cutoff=None).evaluator()
    at_cutoff, within = 0.0, 0.0
    for _ in range(PAIRS):
        values = term.arguments(0, rng.choice(nodes, 2, replace=len(nodes) < 2).tolist(), 0.0)
        for distance in (cutoff.radius, 0.7 * cutoff.radius):
            for argument in term.energy.positions:
                first = values[argument][0]
                values[argument] = [first, first + distance * np.eye(len(first))[0]]
            size = float(np.abs(numbers_of(evaluate(values))).max())
            if distance == cutoff.radius:
                at_cutoff = max(at_cutoff, size)
            else:
                within = max(within, size)
    return at_cutoff if at_cutoff > NONE * within else 0.0
