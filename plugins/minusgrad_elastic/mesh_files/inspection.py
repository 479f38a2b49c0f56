"""Validation of meshes: unusable ones are refused with all faults in one message; other findings are remarks.

    refused     points that are not finite; cells with missing nodes, without volume, inverted or repeated;
                nodes of no cell, which would have no mass (left out with `drop_unused`)
    remarked    what the reader did, cells listed the other way round (turned over: `orientation`), nodes left
                out, nodes that lie where another does

A cell has no volume where |V| <= 1e-12 h^d, h the longest distance of its corners, and is inverted where
det J is not positive at one of its quadrature points; nodes coincide within 1e-12 of the longest side of
the mesh's bounding box.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from minusgrad.plugin import UserError

from ..mesh import Mesh, first_few, ranked_tuples
from .orientation import turn_cells

TOLERANCE = 1e-12


def inspect(mesh: Mesh, drop_unused: bool = False) -> tuple[Mesh, list[str]]:
    """The mesh with positive cells only and every node in a cell, and remarks for the user.

    Raises `UserError` with all refusals: each with its count, the first few numbers (and the file's tags),
    and the cure.
    """
    _refuse_faults(mesh, stray_faults(mesh))
    remarks = list(mesh.remarks)
    with np.errstate(over="ignore", invalid="ignore"):
        mesh, turned = turn_cells(mesh)
        remarks += turned
        used = np.concatenate([block.ravel() for block in mesh.blocks])
        idle = np.flatnonzero(np.bincount(used, minlength=len(mesh.points)) == 0)
        _refuse_faults(mesh, [*_cell_faults(mesh), *([] if drop_unused else _massless_remark(mesh, idle))])
    if idle.size:
        remarks.append(f"{_listed_nodes(mesh, 'nodes of no cell', idle)}; they are left out")
        before, mesh = mesh.bodies, _drop_idle_nodes(mesh, idle)
        remarks += [f"body '{name}' had no other nodes" for name in before if name not in mesh.bodies]
    if (twins := twin_nodes(mesh.points)).size:
        where = _listed_nodes(mesh, "nodes that lie where another does", twins)
        remarks.append(f"{where}; parts that touch only there are not connected")
    return mesh, [f"{mesh.source}: {remark}" for remark in remarks]


def _refuse_faults(mesh: Mesh, faults: Iterable[str]) -> None:
    if lines := [f"{mesh.source}: {fault}" for fault in faults]:
        raise UserError("\n".join(lines))


def stray_faults(mesh: Mesh) -> Iterator[str]:
    """Faults that prevent further checks: no cells, points that are not finite, missing nodes."""
    n = len(mesh.points)
    if not mesh.count:
        yield "there are no cells"
    if (lost := np.flatnonzero(~np.isfinite(mesh.points).all(axis=1))).size:
        yield f"{_listed_nodes(mesh, 'points that are not finite', lost)}; mesh again"
    beyond = np.concatenate([((block < 0) | (block >= n)).any(axis=1) for block in mesh.blocks])
    if (strays := np.flatnonzero(beyond)).size:
        yield f"{_listed_cells(mesh, 'cells with missing nodes', strays)}; there are nodes 0 to {n - 1}"
    for name, nodes in mesh.bodies.items():
        if (lost := nodes[(nodes < 0) | (nodes >= n)]).size:
            yield f"missing nodes in body '{name}' ({len(lost)}): {first_few(lost)}; there are 0 to {n - 1}"


def _cell_faults(mesh: Mesh) -> Iterator[str]:
    """Cells without volume, inverted or repeated."""
    flat = ~(np.abs(mesh.volumes()) > TOLERANCE * _cell_sizes(mesh) ** mesh.dimension)
    if flat.any():
        yield f"{_listed_with_place(mesh, 'cells without volume', np.flatnonzero(flat))}; mesh again there"
    if (inverted := np.flatnonzero(~flat & (mesh.least_jacobians() <= 0.0))).size:
        cure = "they fold over others or themselves; untangle the mesh, or mesh again there"
        yield f"{_listed_with_place(mesh, 'inverted cells', inverted)}; {cure}"
    copies, start = [], 0
    for block in mesh.blocks:
        rank, new = ranked_tuples(block)
        copies.append(start + np.sort(rank[~new]))
        start += len(block)
    if (twice := np.concatenate(copies)).size:
        cure = "remove the copies (gmsh.model.mesh.removeDuplicateElements)"
        yield f"{_listed_cells(mesh, 'cells that are there already', twice)}; {cure}"


def _cell_sizes(mesh: Mesh) -> np.ndarray:
    """The longest distance (E,) between two corners of each cell."""
    found = []
    for kind, block in zip(mesh.kinds, mesh.blocks, strict=True):
        corners = mesh.points[block[:, : kind.corners]].swapaxes(0, 1)
        found.append(np.max([np.linalg.norm(a - b, axis=1) for a, b in combinations(corners, 2)], axis=0))
    return np.concatenate(found)


def _massless_remark(mesh: Mesh, idle: np.ndarray) -> Iterator[str]:
    if idle.size:
        cure = "set drop_unused, or save without them (Gmsh: Mesh.SaveAll = 0)"
        yield f"{_listed_nodes(mesh, 'nodes of no cell, which have no mass', idle)}; {cure}"


def _drop_idle_nodes(mesh: Mesh, idle: np.ndarray) -> Mesh:
    """The mesh without some nodes of no cell, and without bodies that have no other nodes."""
    kept = np.ones(len(mesh.points), dtype=bool)
    kept[idle] = False
    number = np.cumsum(kept, dtype=np.int32) - 1
    bodies = {name: number[nodes[kept[nodes]]] for name, nodes in mesh.bodies.items()}
    return replace(
        mesh,
        points=mesh.points[kept],
        cells=number[mesh.cells],
        more=tuple(number[block] for block in mesh.more),
        bodies={name: nodes for name, nodes in bodies.items() if nodes.size},
        facet_bodies={
            name: [number[rows[kept[rows].all(axis=1)]] for rows in groups]
            for name, groups in mesh.facet_bodies.items()
        },
        node_tags=None if mesh.node_tags is None else mesh.node_tags[kept],
    )


def twin_nodes(points: np.ndarray) -> np.ndarray:
    """Nodes that lie where one of a lower number does.

    Nodes are parted along x wherever a gap is wider than the tolerance, each part again along y, then z, so
    that coincident nodes are never separated.
    """
    gap = TOLERANCE * np.ptp(points, axis=0).max()
    part = np.zeros(len(points), dtype=np.int64)
    for along in points.T:
        order = np.lexsort((along, part))
        apart = (np.diff(part[order]) > 0) | (np.diff(along[order]) > gap)
        part[order] = np.append(0, np.cumsum(apart))
    return np.setdiff1d(np.arange(len(points)), np.unique(part, return_index=True)[1])


def _listed_nodes(mesh: Mesh, what: str, numbers: np.ndarray) -> str:
    return _listed_numbers(what, numbers, len(mesh.points), mesh.node_tags)


def _listed_cells(mesh: Mesh, what: str, numbers: np.ndarray) -> str:
    return _listed_numbers(what, numbers, mesh.count, mesh.cell_tags)


def _listed_with_place(mesh: Mesh, what: str, numbers: np.ndarray) -> str:
    """The same with the place of the first one."""
    starts = np.cumsum([0, *map(len, mesh.blocks)])
    block = int(np.searchsorted(starts, numbers[0], side="right")) - 1
    centre = mesh.points[mesh.blocks[block][numbers[0] - starts[block]]].mean(axis=0)
    first = "the first " if len(numbers) > 1 else ""
    return f"{_listed_cells(mesh, what, numbers)}, {first}at ({', '.join(f'{c:.4g}' for c in centre)})"


def _listed_numbers(what: str, numbers: np.ndarray, total: int, tags: np.ndarray | None) -> str:
    """`inverted cells (2 of 120): 3, 17 (tags 12, 31)`."""
    known = f" (tags {first_few(tags[numbers])})" if tags is not None else ""
    return f"{what} ({len(numbers)} of {total}): {first_few(numbers)}{known}"
