"""Cells of a grid with their neighbours at constant offsets: the node tuples of a stencil.

    element c:  the cells  c, c + o_1, c + o_2, ...

Beyond an edge lies, along each axis, the cell at the edge ("clamped", and "zero", where its value is not
used) or the cell at the other edge ("periodic").

Decisions 0296.
"""

from collections.abc import Sequence

import numpy as np

from .node_tuples import NodeTuples


def cell_stencil(
    shape: Sequence[int], offsets: Sequence[Sequence[int]], edges: Sequence[str], cells: np.ndarray
) -> tuple[NodeTuples, np.ndarray]:
    """The tuples of these cells of a grid of this shape, (E, k), and which are not beyond an edge with zeros.

    offsets: k of them, a whole number for each axis. edges: for each axis.
    """
    places = np.unravel_index(cells, tuple(shape))
    nodes = np.empty((len(cells), len(offsets)), np.int32)
    inside = np.ones(nodes.shape, bool)
    for slot, offset in enumerate(offsets):
        moved = []
        for place, step, size, edge in zip(places, offset, shape, edges, strict=True):
            at = place + step
            if edge == "zero":
                inside[:, slot] &= (at >= 0) & (at < size)
            moved.append(at % size if edge == "periodic" else np.clip(at, 0, size - 1))
        nodes[:, slot] = np.ravel_multi_index(moved, tuple(shape))
    return NodeTuples(nodes), inside
