"""Orientation of cells: the order in which a file lists the nodes of a cell is a convention.

    all cells of a kind inverted                 turned over
    some cells inverted at all of their points   turned over, unless they are folded into their neighbours

A cell is the same whichever way round it is listed. Whether it is listed the other way round or folded is
seen at its facets: two cells lie on opposite sides of the one that they share.

Decisions 0155.
"""

from dataclasses import replace

import numpy as np

from ..mesh import Mesh, ranked_tuples


def turn_cells(mesh: Mesh) -> tuple[Mesh, list[str]]:
    """The mesh with cells turned over, and remarks on how many."""
    blocks, remarks = [], []
    for kind, block, at in zip(mesh.kinds, mesh.blocks, mesh.at_points, strict=True):
        whole = len(block) > 0 and bool((at.jacobian < 0.0).all())
        blocks.append(block[:, kind.mirror] if whole else block)
        if whole:
            which = f"all {len(block)} {kind.name}" if len(mesh.blocks) > 1 else f"all {len(block)} cells"
            remarks.append(f"{which} were inverted; they are turned over")
    found = replace(mesh, cells=blocks[0], more=tuple(blocks[1:])) if remarks else mesh
    found, count = _turn_some(found)
    if count:
        listed = f"{count} of {mesh.count} cells were listed the other way round"
        remarks.append(f"{listed}; they are turned over")
    return found, remarks


def _turn_some(mesh: Mesh) -> tuple[Mesh, int]:
    """The mesh with positive cells, and how many were turned; none if they fold into others."""
    blocks, turned = [], []
    for kind, block, at in zip(mesh.kinds, mesh.blocks, mesh.at_points, strict=True):
        most = np.full(len(block), -np.inf)
        np.maximum.at(most, at.cell, at.jacobian)
        blocks.append(np.where((most < 0.0)[:, None], block[:, kind.mirror], block))
        turned.append(most < 0.0)
    if not (count := int(sum(wrong.sum() for wrong in turned))):
        return mesh, 0
    found = replace(mesh, cells=blocks[0], more=tuple(blocks[1:]))
    return (mesh, 0) if _are_folded(found, np.concatenate(turned)) else (found, count)


def _are_folded(mesh: Mesh, turned: np.ndarray) -> bool:
    """True where a turned cell lies on the same side of a facet as another one."""
    numbers = [np.arange(len(block)) for block in mesh.blocks]
    groups: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    start = 0
    for kind, block, own in zip(mesh.kinds, mesh.blocks, numbers, strict=True):
        for facet in kind.facets:
            corners = [n for n in facet if n < kind.corners]
            groups.setdefault(len(corners), []).append((block[:, corners], start + own))
        start += len(block)
    for parts in groups.values():
        rings, cell = (np.concatenate(one) for one in zip(*parts, strict=True))
        rank, new = ranked_tuples(rings)
        again = np.flatnonzero(~new[1:]) + 1
        one, other = rank[again - 1], rank[again]
        alike = _is_rising(rings[one]) == _is_rising(rings[other])
        if (alike & (turned[cell[one]] | turned[cell[other]])).any():
            return True
    return False


def _is_rising(rings: np.ndarray) -> np.ndarray:
    """True for rings (n, k) that go on from their least node to the lesser one of its neighbours."""
    rows, least, k = np.arange(len(rings)), rings.argmin(axis=1), rings.shape[1]
    after = rings[rows, (least + 1) % k]
    return after < rings[rows, least - 1] if k > 2 else least == 0
