"""Decisions of a map: on which side of each condition its elements are.

An impact changes velocities at once, so a map of impacts jumps where a condition changes: which of two balls
meet has no derivative. Such a jump is written in the source, as one by a cast is not.
"""

import numpy as np

from ..codegen.element_samples import Sample
from ..codegen.tracing import of_term
from ..energies.term import Term
from ..symbolic.graph import reachable


def decisions(term: Term, t: float) -> tuple[bytes, ...] | None:
    """The conditions of all selects and branches, of every element; None of energies and maps to cells."""
    if not term.outputs or term.grid is not None:
        return None
    traced, nodes = of_term(term), term.elements.tuples()
    selects = [node for node in reachable([*traced.values, *traced.mirrored]) if node.op == "select"]
    conditions = list({node.args[0].serial: node.args[0] for node in selects}.values())
    every = Sample(term, np.arange(len(nodes)), list(nodes.T), t)
    with np.errstate(all="ignore"):
        return tuple((found != 0).tobytes() for found in every.exact(conditions))
