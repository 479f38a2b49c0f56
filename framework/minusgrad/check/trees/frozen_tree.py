"""A term over a tree that stays as it is: one smooth function of positions, fields and parameters.

The tree is over a sample of the term's nodes, which is doubled until it has `ENOUGH` pairs of far cells: a
check evaluates the function many times.

Decisions 0311.
"""

import numpy as np

from ...elements.trees.near_pairs import NearPairs
from ...energies.term import Term
from ..questions import Finding
from ..term_subject import on_elements

FEWEST, MOST, ENOUGH = 256, 4096, 16


def freeze_tree(term: Term, rng: np.random.Generator) -> Term | None:
    """The term over such a tree at the present reference; None if no cells are far. Parameters are copies."""
    near = term.elements
    assert isinstance(near, NearPairs)
    order, count = rng.permutation(near.nodes), FEWEST
    while True:
        made = near.frozen_pairs(np.sort(order[:count]))
        if made.cells.far.count >= ENOUGH or count >= min(len(order), MOST):
            return on_elements(term, made, None) if made.cells.far.count else None
        count *= 2


def count_far_pairs(term: Term, tree: Term | None) -> Finding:
    """How many pairs of far cells are asked; a warning if there are none."""
    near = term.elements
    assert isinstance(near, NearPairs)
    if tree is None:
        text = (
            f"{term.name}: of {min(len(near.nodes), MOST)} nodes no cells are far from one another, so its"
            " expansions were not checked; check a state with more nodes, or give a wider opening_angle"
        )
        return Finding(term.name, "", "far cells", True, 0.0, text, warning=True)
    few = tree.elements
    assert isinstance(few, NearPairs)
    text = (
        f"{few.cells.far.count} pairs of far cells, over {len(few.nodes)} of {len(near.nodes)} nodes, by"
        f" expansions of order {near.choice.order}"
    )
    return Finding(term.name, "", "far cells", True, float(few.cells.far.count), text)
