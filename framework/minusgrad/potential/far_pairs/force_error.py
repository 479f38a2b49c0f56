"""The error of forces by a tree, measured against direct sums at a sample of nodes.

rms of |F(i) - F_direct(i)| over rms of |F_direct(i)|, and the 99th percentile of their ratio at one node

Decisions 0308.
"""

from dataclasses import dataclass

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...codegen.expansions.radial_factors import position_of
from ...codegen.loop_choice import loops_of_energy
from ...elements.trees.near_pairs import NearPairs
from ...energies.term import Term
from ...engine import storage
from .direct_sums import direct_sums
from .tree_kernels import TreeKernels

SAMPLE, PAIRS = (200, 1000), 4e7
"""Nodes whose forces are summed directly: the least and the most, as many as have this number of pairs."""
IN_A_BOX = 60
"""The least in a periodic box, whose sums over images are taken in NumPy."""
MISSED, GOAL = 0.75, 0.65
"""A share of the error asked for above which an angle is narrowed, and that which the next one is for: other
nodes than the sample may have larger errors."""
TURNS, LEAST_STEP = 4, 0.6
"""How often an angle is narrowed at most, and the least factor of one turn."""


@dataclass(frozen=True)
class ForceError:
    """Relative errors of the forces at a term's sampled nodes: of the rms, and that which 1 % exceed."""

    term: Term
    rms: float
    most: float
    sampled: int

    @property
    def remark(self) -> str:
        """The errors in words, with a warning where one was asked for that is not met."""
        elements = self.term.elements
        assert isinstance(elements, NearPairs)
        choice = elements.choice
        if not np.isfinite(self.rms):
            return (
                f"{self.term.name}: has forces that are not finite, so the error of the tree was not measured"
            )
        text = (
            f"{self.term.name}: forces by the tree have a relative rms error of {self.rms:.2g} (99 % of"
            f" nodes: below {self.most:.2g}), measured at {self.sampled} nodes"
        )
        if choice.error is None or self.rms <= choice.error:
            return text
        return (
            f"{text}; more than the error of {choice.error:g} that was asked for: give an opening_angle below"
            f" {choice.theta:.3g}"
        )


def narrowed(term: Term, t: float = 0.0) -> ForceError:
    """Narrow a term's opening angle until its forces have the error that was asked for; returns the error.

    The angles of `Far` are those of gravity in space. Which one a function needs depends on where the nodes
    are, too: forces that cancel, as inside of a screened plasma, leave larger relative errors. Errors go as
    theta^(order + 1). A term with an opening angle of its own keeps it. Where a narrower angle does not help,
    as rounding is as large, the error stays above; its remark says so.
    """
    elements, kernels = term.elements, TreeKernels(term, loops_of_energy(term))
    assert isinstance(elements, NearPairs)
    found, asked = force_error(term, t, kernels), elements.choice.error
    for _ in range(TURNS):
        if asked is None or not found.rms > MISSED * asked:  # or not finite
            break
        before, power = found.rms, 1.0 / (elements.choice.order + 1)
        elements.narrow(elements.choice.theta * max((GOAL * asked / before) ** power, LEAST_STEP))
        found = force_error(term, t, kernels)
        if found.rms > 0.9 * before:
            break
    return found


def force_error(term: Term, t: float = 0.0, kernels: TreeKernels | None = None) -> ForceError:
    """The error at the present positions. `kernels`: those of the term, if there are any."""
    elements = term.elements
    assert isinstance(elements, NearPairs)
    many = len(elements.nodes)
    least, most_nodes = SAMPLE if len(elements.box_images) == 1 else (IN_A_BOX, SAMPLE[1])
    sample = int(np.clip(PAIRS / (many * len(elements.box_images)), least, most_nodes))
    places = np.unique(np.linspace(0, many - 1, sample).astype(np.int64))
    rows = elements.tree.order[places]  # spread over the tree
    position, tree = position_of(term), kernels or TreeKernels(term, loops_of_energy(term))
    array = storage.allocate(np.zeros_like(term.fields[position].values))
    tree.sweep(DerivativeRequest(gradient={position: array}), t)
    found = storage.host(array).astype(np.float64)[elements.nodes[rows]]
    exact = direct_sums(term, tree.far, rows, t)
    size, off = np.linalg.norm(exact, axis=1), np.linalg.norm(found - exact, axis=1)
    if not (size > 0.0).any():
        return ForceError(term, 0.0, 0.0, len(size))
    rms = float(np.sqrt(np.mean(off**2) / np.mean(size**2)))
    most = float(np.quantile(off[size > 0.0] / size[size > 0.0], 0.99))
    return ForceError(term, rms, most, len(size))
