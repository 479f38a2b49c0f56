"""The jump of a pair energy that is cut sharply: its value at the cutoff, where the sum drops it."""

from dataclasses import replace

import numpy as np

from ..local_energy import IMAGES
from ..local_map import numbers_of
from ..term import Term

PAIRS = 64
"""Pairs of nodes that are looked at: fields such as charges may differ from node to node."""
NONE = 1e-9
"""A jump smaller than this part of the value well within the cutoff is none."""


def jump(term: Term) -> float:
    """The largest |u|, or output of a map, of pairs at a sharp cutoff; 0 for a smooth one and for triples."""
    cutoff = term.energy.cutoff
    of_pair = () if cutoff is None else term.slots(term.energy.positions[0])
    if cutoff is None or not cutoff.sharp or len(of_pair) != 2:
        return 0.0
    rng, nodes = np.random.default_rng(0), term.members(term.energy.positions[0])
    before = [0] * of_pair[0]  # the number of a directed pair
    evaluate = replace(term.energy, cutoff=None).evaluator()
    at_cutoff, within = 0.0, 0.0
    for _ in range(PAIRS):
        pair = rng.choice(nodes, 2, replace=len(nodes) < 2).tolist()
        values = term.arguments(0, [*before, *pair], 0.0)
        values.pop(IMAGES, None)  # both nodes are placed here
        for distance in (cutoff.radius, 0.7 * cutoff.radius):
            for argument in term.energy.positions:
                first = values[argument][of_pair[0]]
                values[argument] = [*before, first, first + distance * np.eye(len(first))[0]]
            size = float(np.abs(numbers_of(evaluate(values))).max())
            if distance == cutoff.radius:
                at_cutoff = max(at_cutoff, size)
            else:
                within = max(within, size)
    return at_cutoff if at_cutoff > NONE * within else 0.0
