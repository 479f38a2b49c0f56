"""The error of forces by a tree, measured against direct sums at a sample of nodes.

rms of |F(i) - F_direct(i)| over rms of |F_direct(i)|, and the 99th percentile of their ratio at one node
"""

from dataclasses import dataclass, replace

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...codegen.expansions.radial_factors import position_of
from ...codegen.loop_choice import loops_of_energy
from ...codegen.term_loops import Emitter
from ...elements.trees.near_pairs import NearPairs
from ...elements.trees.sampled_targets import SampledTargets
from ...energies.term import Term
from ...engine import storage
from ..term_kernels import TermKernels
from .tree_kernels import TreeKernels

SAMPLE = 200
"""Nodes whose forces are summed directly."""


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
        text = (
            f"{self.term.name}: forces by the tree have a relative rms error of {self.rms:.2g} (99 % of"
            f" nodes: below {self.most:.2g}), measured at {self.sampled} nodes"
        )
        if choice.error is None or self.rms <= choice.error:
            return text
        return (
            f"{text}; more than the error of {choice.error:g} that was asked for: give an opening_angle below"
            f" {choice.theta:g}"
        )


def force_error(term: Term, t: float = 0.0, kernels: TreeKernels | None = None) -> ForceError:
    """The error at the present positions. `kernels`: those of the term, if there are any."""
    elements = term.elements
    assert isinstance(elements, NearPairs)
    places = np.unique(np.linspace(0, len(elements.nodes) - 1, SAMPLE).astype(np.int64))
    rows = elements.tree.order[places]  # spread over the tree
    position = position_of(term)
    sampled = replace(term, elements=SampledTargets(elements.nodes, rows))
    arrays = [storage.allocate(np.zeros_like(term.fields[position].values)) for _ in range(2)]
    direct = TermKernels(sampled, Emitter(sampled))
    tree = kernels or TreeKernels(term, loops_of_energy(term))
    for made, array in zip((direct, tree), arrays, strict=True):
        made.sweep(DerivativeRequest(gradient={position: array}), t)
    exact, found = (storage.host(array).astype(np.float64)[elements.nodes[rows]] for array in arrays)
    size, off = np.linalg.norm(exact, axis=1), np.linalg.norm(found - exact, axis=1)
    if not (size > 0.0).any():
        return ForceError(term, 0.0, 0.0, len(size))
    rms = float(np.sqrt(np.mean(off**2) / np.mean(size**2)))
    most = float(np.quantile(off[size > 0.0] / size[size > 0.0], 0.99))
    return ForceError(term, rms, most, len(size))
