"""Validation of meshes: unusable ones are refused with all faults in one message; other findings are remarks.

    refused     points that are not finite; cells with missing nodes, without volume, inverted or repeated;
                nodes of no cell, which would have no mass (left out with `drop_unused`)
    remarked    all cells inverted (they are turned over), nodes left out, nodes that lie where another does

A cell has no volume where |V| <= 1e-12 h^d, h its longest edge; nodes coincide within 1e-12 of the longest
side of the mesh's bounding box.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from minusgrad.plugin import UserError

from .mesh import Mesh, few, ranked

TOLERANCE = 1e-12


def inspect(mesh: Mesh, drop_unused: bool = False) -> tuple[Mesh, list[str]]:
    """The mesh with positive cells only and every node in a cell, and remarks for the user.

    Raises `UserError` with all refusals: each with its count, the first few numbers (and the file's tags),
    and the cure.
    """
    _refuse(mesh, _strays(mesh))
    remarks = []
    with np.errstate(over="ignore", invalid="ignore"):
        if (mesh.volumes() < 0.0).all():
            mesh = _turned(mesh)
            remarks.append(f"all {len(mesh.cells)} cells were inverted; they are turned over")
        idle = np.flatnonzero(np.bincount(mesh.cells.ravel(), minlength=len(mesh.points)) == 0)
        _refuse(mesh, [*_faults(mesh), *([] if drop_unused else _massless(mesh, idle))])
    if idle.size:
        remarks.append(f"{_nodes(mesh, 'nodes of no cell', idle)}; they are left out")
        before, mesh = mesh.bodies, _without(mesh, idle)
        remarks += [f"body '{name}' had no other nodes" for name in before if name not in mesh.bodies]
    if (twins := _twins(mesh.points)).size:
        where = _nodes(mesh, "nodes that lie where another does", twins)
        remarks.append(f"{where}; parts that touch only there are not connected")
    return mesh, [f"{mesh.source}: {remark}" for remark in remarks]


def _refuse(mesh: Mesh, faults: Iterable[str]) -> None:
    if lines := [f"{mesh.source}: {fault}" for fault in faults]:
        raise UserError("\n".join(lines))


def _strays(mesh: Mesh) -> Iterator[str]:
    """Faults that prevent further checks: no cells, points that are not finite, missing nodes."""
    n = len(mesh.points)
    if not len(mesh.cells):
        yield "there are no cells"
    if (lost := np.flatnonzero(~np.isfinite(mesh.points).all(axis=1))).size:
        yield f"{_nodes(mesh, 'points that are not finite', lost)}; mesh again"
    if (strays := np.flatnonzero(((mesh.cells < 0) | (mesh.cells >= n)).any(axis=1))).size:
        yield f"{_cells(mesh, 'cells with missing nodes', strays)}; there are nodes 0 to {n - 1}"
    for name, nodes in mesh.bodies.items():
        if (beyond := nodes[(nodes < 0) | (nodes >= n)]).size:
            yield f"missing nodes in body '{name}' ({len(beyond)}): {few(beyond)}; there are 0 to {n - 1}"


def _faults(mesh: Mesh) -> Iterator[str]:
    """Cells without volume, inverted or repeated."""
    volumes = mesh.volumes()
    corners = mesh.points[mesh.cells].swapaxes(0, 1)
    longest = np.max([np.linalg.norm(a - b, axis=1) for a, b in combinations(corners, 2)], axis=0)
    flat = ~(np.abs(volumes) > TOLERANCE * longest**mesh.dimension)
    if flat.any():
        yield f"{_cells(mesh, 'cells without volume', np.flatnonzero(flat))}; mesh again there"
    if (inverted := np.flatnonzero(~flat & (volumes < 0.0))).size:
        cure = "orient surfaces alike (gmsh.model.mesh.reverse), or untangle the mesh"
        yield f"{_cells(mesh, 'inverted cells', inverted)}; {cure}"
    rank, new = ranked(mesh.cells)
    if not new.all():
        cure = "remove the copies (gmsh.model.mesh.removeDuplicateElements)"
        yield f"{_cells(mesh, 'cells that are there already', np.sort(rank[~new]))}; {cure}"


def _massless(mesh: Mesh, idle: np.ndarray) -> Iterator[str]:
    if idle.size:
        cure = "set drop_unused, or save without them (Gmsh: Mesh.SaveAll = 0)"
        yield f"{_nodes(mesh, 'nodes of no cell, which have no mass', idle)}; {cure}"


def _turned(mesh: Mesh) -> Mesh:
    """The mirror image of the cells: their last two nodes change places."""
    d = mesh.dimension
    return replace(mesh, cells=mesh.cells[:, [*range(d - 1), d, d - 1]])


def _without(mesh: Mesh, idle: np.ndarray) -> Mesh:
    """The mesh without some nodes of no cell, and without bodies that have no other nodes."""
    kept = np.ones(len(mesh.points), dtype=bool)
    kept[idle] = False
    number = np.cumsum(kept, dtype=np.int32) - 1
    bodies = {name: number[nodes[kept[nodes]]] for name, nodes in mesh.bodies.items()}
    return replace(
        mesh,
        points=mesh.points[kept],
        cells=number[mesh.cells],
        bodies={name: nodes for name, nodes in bodies.items() if nodes.size},
        node_tags=None if mesh.node_tags is None else mesh.node_tags[kept],
    )


def _twins(points: np.ndarray) -> np.ndarray:
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


def _nodes(mesh: Mesh, what: str, numbers: np.ndarray) -> str:
    return _listed(what, numbers, len(mesh.points), mesh.node_tags)


def _cells(mesh: Mesh, what: str, numbers: np.ndarray) -> str:
    return _listed(what, numbers, len(mesh.cells), mesh.cell_tags)


def _listed(what: str, numbers: np.ndarray, total: int, tags: np.ndarray | None) -> str:
    """`inverted cells (2 of 120): 3, 17 (tags 12, 31)`."""
    known = f" (tags {few(tags[numbers])})" if tags is not None else ""
    return f"{what} ({len(numbers)} of {total}): {few(numbers)}{known}"
