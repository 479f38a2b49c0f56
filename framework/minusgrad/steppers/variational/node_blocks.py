"""Blocks of nodes that no element couples to others: each is a small system of its own.

A block is a connected component of the elements of all terms. Where all blocks have equally many nodes, a
kernel solves one in each lane. Node k of a block is its k-th in increasing order; the elements of a term are
sorted by which of them they join.

Decisions 0376.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...potential.potential import Potential
from ...potential.staged.staged_term import StagedTerm

if TYPE_CHECKING:
    from ...energies.term import Term

MOST = 8
"""Most unknowns of a block: its system of equations is written out."""
PLACES = 8
"""Most ways in which elements of one term may lie in blocks."""


@dataclass(frozen=True)
class Placed:
    """Elements of a term that join the same nodes of their blocks: `element` (blocks,), -1 where none is."""

    term: str
    slots: tuple[int, ...]
    element: np.ndarray


def blocks_of(potentials: Mapping[str, Potential], count: int) -> np.ndarray | None:
    """The nodes of each block (blocks, k); None where blocks differ in size, or terms have other elements."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = [np.empty((0, 2), np.int64)]
    for term in (t for potential in potentials.values() for t in potential.terms.values()):
        if not _plain(term):
            return None
        nodes = term.elements.tuples()
        pairs += [nodes[:, [0, k]] for k in range(1, nodes.shape[1])]
    joined = np.concatenate(pairs)
    graph = coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), (count, count))
    blocks, label = connected_components(graph, directed=False)
    sizes = np.bincount(label, minlength=blocks)
    if len(set(sizes)) != 1:
        return None
    return np.argsort(label, kind="stable").reshape(blocks, -1)


def _plain(term: "Term | StagedTerm") -> bool:
    """True for a term over single nodes or fixed tuples, whose function reads nothing but its own values."""
    if isinstance(term, StagedTerm):
        return False
    energy, kind = term.energy, term.energy.element_kind
    if kind.several or kind.cells or kind.unordered or kind.triples or kind.directed:
        return False
    plain = term.elements.fixed and not term.elements.loop.per_target and term.box is None
    return plain and not energy.linear and not term.outputs


def placed(term: "Term", name: str, blocks: np.ndarray) -> Sequence[Placed] | None:
    """The elements of a term by their places in blocks; None for too many ways, or two at one place."""
    home = np.empty(blocks.size, np.int64)
    local = np.empty(blocks.size, np.int64)
    home[blocks] = np.arange(len(blocks))[:, None]
    local[blocks] = np.arange(blocks.shape[1])
    nodes = term.elements.tuples()
    ways, of = np.unique(local[nodes], axis=0, return_inverse=True)
    if len(ways) > PLACES:
        return None
    found = []
    for k, way in enumerate(ways):
        own = np.flatnonzero(of.reshape(-1) == k)
        at = home[nodes[own, 0]]
        if len(np.unique(at)) < len(at):
            return None
        element = np.full(len(blocks), -1, np.int32)
        element[at] = own
        found.append(Placed(name, tuple(int(s) for s in way), element))
    return found
