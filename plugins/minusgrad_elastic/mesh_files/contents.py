"""What a file of a mesh contains: cells, bodies, sides, sets, box, quality, orientation, nodes.

    area of a side = sum over its facets of sum_q w_q |dX/dxi_1 x dX/dxi_2|        in the plane a length
    closed         = each edge of its facets belongs to two of them                in the plane: each end

Numbers are those of the file, in its unit of length, before cells are turned or nodes left out.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

from ..cells import reference_cells
from ..mesh import NOBODY, Mesh, first_few
from . import foreign, formats
from .inspection import TOLERANCE, stray_faults, twin_nodes
from .quality import MEASURE, corner_quality

UNIT = "not stated in the file; say it in the scene: [state] length, such as length = 'mm'"


def endings() -> list[str]:
    """The endings of files that are described."""
    return sorted({one for every in formats.FORMATS.values() for one in every})


def describe_mesh(file: str, data: bytes) -> dict[str, Any]:
    """Facts of the mesh in a file's bytes, by name. Raises `UserError` for a file that cannot be read."""
    return describe(foreign.read_foreign(file, data))


def describe(mesh: Mesh) -> dict[str, Any]:
    """The facts of a mesh; cells and nodes are counted from 0. Raises `UserError` without cells or points."""
    if faults := [f"{mesh.source}: {fault}" for fault in stray_faults(mesh)]:
        raise UserError("\n".join(faults))
    volume, plane = mesh.volumes(), mesh.dimension == 2
    size = "area" if plane else "volume"
    used = np.unique(np.concatenate([block.ravel() for block in mesh.blocks]))
    low, high = mesh.points[used].min(axis=0), mesh.points[used].max(axis=0)
    return {
        "mesh": f"{mesh.count} cells in {'a plane' if plane else 'space'}, {len(mesh.points)} nodes",
        "length": f"{mesh.length}, as the file says" if mesh.length else UNIT,
        "box": {"from": low.tolist(), "to": high.tolist()},
        size: float(np.abs(volume).sum()),
        "orientation": _orientation(mesh, volume),
        "quality": _quality(mesh, volume),
        "duplicate nodes": _duplicates(mesh),
        "unused nodes": _numbers(np.setdiff1d(np.arange(len(mesh.points)), used)),
        "remark": list(mesh.remarks),
        "cells": list(_kind_rows(mesh, volume, size)),
        "bodies": list(_body_rows(mesh, volume, size)),
        "sides": list(_side_rows(mesh)),
        "sets": list(_set_rows(mesh)),
    }


def _orientation(mesh: Mesh, volume: np.ndarray) -> dict[str, Any]:
    tangled = int(((mesh.least_jacobians() <= 0.0) & (volume > 0.0)).sum())
    return {"turned": int((volume < 0.0).sum()), "of": mesh.count, "tangled": tangled}


def _quality(mesh: Mesh, volume: np.ndarray) -> dict[str, Any]:
    """The scaled Jacobian of cells turned to positive volume, and the worst cell with its place."""
    quality = corner_quality(mesh) * np.where(volume < 0.0, -1.0, 1.0)
    worst = int(np.argmin(quality))
    found = {"least": float(quality[worst]), "median": float(np.median(quality)), "worst cell": worst}
    return found | {"at": _cell_centre(mesh, worst), "measure": MEASURE}


def _cell_centre(mesh: Mesh, number: int) -> list[float]:
    for kind, block in zip(mesh.kinds, mesh.blocks, strict=True):
        if number < len(block):
            return mesh.points[block[number, : kind.corners]].mean(axis=0).tolist()
        number -= len(block)
    raise IndexError(number)


def _duplicates(mesh: Mesh) -> dict[str, Any]:
    within = float(TOLERANCE * np.ptp(mesh.points, axis=0).max())
    return _numbers(twin_nodes(mesh.points)) | {"within": within}


def _numbers(found: np.ndarray) -> dict[str, Any]:
    return {"number": len(found)} | ({"first": first_few(found)} if len(found) else {})


def _kind_rows(mesh: Mesh, volume: np.ndarray, size: str) -> Iterator[dict[str, Any]]:
    start = 0
    for kind, block in zip(mesh.kinds, mesh.blocks, strict=True):
        own = np.abs(volume[start : start + len(block)])
        yield {
            "kind": kind.name,
            "number": len(block),
            size: float(own.sum()),
            "nodes": len(np.unique(block)),
        }
        start += len(block)


def _body_rows(mesh: Mesh, volume: np.ndarray, size: str) -> Iterator[dict[str, Any]]:
    for name, cells in mesh.cell_bodies.items():
        row = {"body": name, "cells": len(cells), size: float(np.abs(volume[cells]).sum())}
        yield row | {"nodes": len(mesh.bodies.get(name, ()))}


def _set_rows(mesh: Mesh) -> Iterator[dict[str, Any]]:
    """Sets of nodes that are neither bodies of cells nor sides."""
    for name, nodes in mesh.bodies.items():
        if name not in mesh.cell_bodies and name not in mesh.facet_bodies:
            low, high = mesh.points[nodes].min(axis=0), mesh.points[nodes].max(axis=0)
            yield {"set": name, "nodes": len(nodes), "from": low.tolist(), "to": high.tolist()}


def _side_rows(mesh: Mesh) -> Iterator[dict[str, Any]]:
    size = "length" if mesh.dimension == 2 else "area"
    for name, groups in mesh.facet_bodies.items():
        inner = mesh.boundary_of(name)[1]
        nodes = np.unique(np.concatenate([np.ravel(rows) for rows in groups]))
        row = {"side": name, "facets": sum(map(len, groups)), size: _facet_area(mesh, groups)}
        yield row | {"nodes": len(nodes), "surface": _closed(mesh, groups), "inside": inner}
    facets = mesh.boundary()
    lengths = (facets != NOBODY).sum(axis=1)
    groups = [facets[lengths == k, :k] for k in np.unique(lengths)]
    nodes = np.unique(facets[facets != NOBODY])
    row = {"side": "(whole boundary)", "facets": len(facets), size: _facet_area(mesh, groups)}
    yield row | {"nodes": len(nodes), "surface": _closed(mesh, groups), "inside": 0}


def _facet_area(mesh: Mesh, groups: list[np.ndarray]) -> float:
    total = 0.0
    for rows in groups:
        kind = reference_cells.facets()[mesh.dimension, rows.shape[1]]
        places, weights = kind.rule
        legs = np.einsum("qaj,eai->eqji", kind.slopes(places), mesh.points[rows])
        areas = np.sqrt(np.linalg.det(legs @ legs.transpose(0, 1, 3, 2)))
        total += float((areas * weights).sum() / kind.parts)
    return total


def _closed(mesh: Mesh, groups: list[np.ndarray]) -> str:
    """Whether each edge of facets (in the plane each end) belongs to an even number of them."""
    rims = []
    for rows in groups:
        if mesh.dimension == 2:
            rims.append(np.ravel(rows[:, :2])[:, None])
            continue
        corners = 3 if rows.shape[1] in (3, 6) else 4
        rims += [np.sort(rows[:, [k, (k + 1) % corners]], axis=1) for k in range(corners)]
    _, counts = np.unique(np.concatenate(rims), axis=0, return_counts=True)
    return "open" if (counts % 2).any() else "closed"
