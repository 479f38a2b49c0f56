"""Cells with repeated nodes, by which formats write simpler ones: a brick 1 2 3 3 5 6 7 7 is a wedge.

Quadrilaterals of 3 different corners are triangles; bricks of 8 nodes are tetrahedra, pyramids or wedges
where whole edges or faces are one node, in whatever place. Other cells with repeated nodes are left as they
are: they have no volume, or `inspection` refuses them.
"""

from itertools import permutations
from typing import Any

import numpy as np

SIDES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
"""The faces of a brick, each with its nodes in a row."""


def split_collapsed(found: Any) -> None:
    """Replace quadrilaterals and bricks with repeated nodes by the cells that they are."""
    for k in reversed(range(len(found.cells))):
        block = found.cells[k]
        if block.type in ("quad", "hexahedron") and len(block.data):
            nodes = np.sort(np.asarray(block.data), axis=1)
            if (np.diff(nodes, axis=1) == 0).any():
                _split_block(found, k)


def _split_block(found: Any, k: int) -> None:
    block = found.cells[k]
    kinds, rows = zip(*[simpler_cell(row) for row in np.asarray(block.data).tolist()], strict=True)
    names = list(dict.fromkeys(kinds))
    places = [np.array([n for n, kind in enumerate(kinds) if kind == name]) for name in names]
    blocks = [
        type(block)(name, np.array([rows[n] for n in at])) for name, at in zip(names, places, strict=True)
    ]
    found.cells[k : k + 1] = blocks
    for values in found.cell_data.values():
        values[k : k + 1] = [None if values[k] is None else np.asarray(values[k])[at] for at in places]
    for name, sets in found.cell_sets.items():
        own = np.asarray([] if sets[k] is None else sets[k], int)
        parts = [np.flatnonzero(np.isin(at, own)) for at in places]
        found.cell_sets[name] = [*sets[:k], *parts, *sets[k + 1 :]]


def simpler_cell(nodes: list[int]) -> tuple[str, list[int]]:
    """The kind and the nodes of a quadrilateral or brick that may have repeated nodes."""
    different = list(dict.fromkeys(nodes))
    if len(nodes) == 4:
        return ("triangle", different) if len(different) == 3 else ("quad", nodes)
    for wanted, count in (("wedge", 6), ("pyramid", 5), ("tetra", 4)):
        if len(different) == count and (cell := _cell_of_sides(wanted, nodes)):
            return wanted, cell
    return "hexahedron", nodes


def _cell_of_sides(wanted: str, nodes: list[int]) -> list[int] | None:
    """The nodes of such a cell from the faces that are left of a brick; None if it is another one."""
    rings = [list(dict.fromkeys(nodes[n] for n in side)) for side in SIDES]
    triangles = [ring for ring in rings if len(ring) == 3]
    quads = [ring for ring in rings if len(ring) == 4]
    if wanted == "tetra" and triangles and not quads:
        apex = [n for n in dict.fromkeys(nodes) if n not in triangles[0]]
        return [*triangles[0][::-1], *apex]
    if wanted == "pyramid" and len(quads) == 1:
        return [*quads[0][::-1], *(n for n in dict.fromkeys(nodes) if n not in quads[0])]
    if wanted == "wedge" and len(quads) == 3 and len(triangles) == 2:
        base, lid = triangles[0][::-1], triangles[1]
        edges = {frozenset(pair) for ring in quads for pair in zip(ring, [*ring[1:], ring[0]], strict=True)}
        for order in permutations(lid):
            if all(frozenset(pair) in edges for pair in zip(base, order, strict=True)):
                return [*base, *order]
    return None
