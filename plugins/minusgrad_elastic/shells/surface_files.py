"""Surfaces from files: STL, OBJ, PLY, OFF and the triangles and quadrilaterals of every other format.

They are parsed as meshes are, in a child process within limits. A quadrilateral is two triangles, parted
along its shorter diagonal.
"""

from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, node_numbers

from ..mesh_files.parsed import parsed_mesh
from .surface_mesh import SurfaceMesh, prepared_surface


def read_surface(file: str, data: bytes) -> SurfaceMesh:
    """The surface in a file's bytes, prepared (`prepared_surface`). Raises `UserError`."""
    found = bounded_read(surface_values, file, data, loads=("meshlane",))
    given = {name: found[name] for name in ("points", "triangles", "bodies", "parts")}
    return prepared_surface(SurfaceMesh(f"'{file}'", **given, remarks=tuple(found["remarks"])))


def surface_values(file: str, data: bytes) -> dict[str, Any]:
    """In the child: points, triangles, names, remarks."""
    remarks: list[str] = []
    found, _, _ = parsed_mesh(file, data, remarks)
    points = np.asarray(found.points, float)
    others = {block.type: len(block.data) for block in found.cells if block.dim > 1}
    for kind in ("triangle", "quad"):
        others.pop(kind, 0)
    if others:
        counts = ", ".join(f"{count} {kind}" for kind, count in others.items())
        raise UserError(f"'{file}': a surface has triangles and quadrilaterals, got {counts}; save its skin")
    if points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    rows, starts = _triangles_of(file, points, found.cells)
    parts: dict[str, np.ndarray] = {}
    for name, named in found.cell_sets.items():
        if not name.startswith("gmsh:"):
            parts[name] = _members_of(named, starts, found.cells)
    bodies = {name: np.asarray(nodes, int) for name, nodes in found.point_sets.items()}
    for name, members in parts.items():
        bodies[name] = np.unique(rows[members])
    if file.lower().endswith(".stl") and 3 * len(rows) > len(points):
        remarks.append(
            f"{3 * len(rows) - len(points)} corners of triangles that lie where another does are one with it"
        )
    quads = sum(len(block.data) for block in found.cells if block.type == "quad")
    if quads:
        remarks.append(f"{quads} quadrilaterals are two triangles each")
    return {"points": points, "triangles": rows, "bodies": bodies, "parts": parts, "remarks": remarks}


def _triangles_of(file: str, points: np.ndarray, blocks: Any) -> tuple[np.ndarray, list[np.ndarray]]:
    """The triangles (E, 3), and for each block the first one of each of its cells."""
    made: list[np.ndarray] = []
    starts, count = [], 0
    for block in blocks:
        rows = (
            node_numbers(f"'{file}': triangles", np.asarray(block.data))
            if block.dim == 2
            else np.zeros((0, 3))
        )
        if block.dim == 2 and len(rows) and (rows.min() < 0 or rows.max() >= len(points)):
            raise UserError(f"'{file}': triangles with missing nodes; there are nodes 0 to {len(points) - 1}")
        if rows.shape[1] == 4:
            rows = _halves(points, rows)
        each = 2 if block.type == "quad" else 1
        starts.append(count + each * np.arange(len(rows) // each))
        count += len(rows)
        made.append(rows.astype(np.int32))
    triangles = np.concatenate(made) if made else np.zeros((0, 3), np.int32)
    if not len(triangles):
        raise UserError(f"'{file}': there are no triangles; save the surface with its faces")
    return triangles, starts


def _halves(points: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """Two triangles, one after the other, of each quadrilateral."""
    a, b, c, d = (points[quads[:, k]] for k in range(4))
    is_first = np.linalg.norm(c - a, axis=1) <= np.linalg.norm(d - b, axis=1)
    one, other = quads[:, [0, 1, 2, 0, 2, 3]], quads[:, [0, 1, 3, 1, 2, 3]]
    return np.where(is_first[:, None], one, other).reshape(-1, 3)


def _members_of(named: Any, starts: list[np.ndarray], blocks: Any) -> np.ndarray:
    found = [np.zeros(0, int)]
    for rows, first, block in zip(named, starts, blocks, strict=True):
        if rows is not None and block.dim == 2:
            chosen = first[np.asarray(rows, int)]
            found += [chosen, chosen + 1] if block.type == "quad" else [chosen]
    return np.unique(np.concatenate(found))
