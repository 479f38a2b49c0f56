"""Balls, sheets on a cylinder and their files, with exact areas and volumes in the limit."""

import struct
from pathlib import Path

import numpy as np


def round_ball(parts: int, radius: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) on a sphere and triangles (E, 3), those of an icosahedron in parts^2 each, outwards."""
    t = (1.0 + 5.0**0.5) / 2.0
    signs = [(-1, t), (1, t), (-1, -t), (1, -t)]
    nodes = [*((a, b, 0) for a, b in signs), *((0, a, b) for a, b in signs), *((b, 0, a) for a, b in signs)]
    corners = np.array(nodes, float) / np.linalg.norm([1.0, t])
    far = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    near = np.isclose(far, far[far > 0].min())
    faces = [
        (a, b, c)
        for a in range(12)
        for b in range(a)
        for c in range(b)
        if near[a, b] & near[b, c] & near[a, c]
    ]
    points, rows = [], []
    for face in faces:
        a, b, c = corners[list(face)]
        if np.dot(a, np.cross(b, c)) < 0.0:
            b, c = c, b
        number = {}
        for i in range(parts + 1):
            for j in range(parts + 1 - i):
                number[i, j] = len(points)
                points.append(a + (b - a) * i / parts + (c - a) * j / parts)
        for i in range(parts):
            for j in range(parts - i):
                rows.append((number[i, j], number[i + 1, j], number[i, j + 1]))
                if i + j < parts - 1:
                    rows.append((number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]))
    x = np.array(points)
    x /= np.linalg.norm(x, axis=1)[:, None]
    _, first, which = np.unique(np.round(x, 9), axis=0, return_index=True, return_inverse=True)
    return radius * x[first], which.reshape(-1)[np.array(rows)].astype(np.int32)


def cylinder_sheet(parts: int, curvature: float) -> tuple[np.ndarray, np.ndarray]:
    """A unit square on a cylinder along y, in parts x parts squares of two triangles."""
    s, w = np.meshgrid(np.linspace(0.0, 1.0, parts + 1), np.linspace(0.0, 1.0, parts + 1), indexing="ij")
    turn = curvature * s
    flat = [s, 0.0 * s] if curvature == 0.0 else [np.sin(turn) / curvature, (1.0 - np.cos(turn)) / curvature]
    n = np.arange((parts + 1) ** 2).reshape(parts + 1, parts + 1)
    a, b, c, d = n[:-1, :-1].ravel(), n[1:, :-1].ravel(), n[1:, 1:].ravel(), n[:-1, 1:].ravel()
    rows = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(np.int32)
    return np.stack([flat[0], w, flat[1]], axis=-1).reshape(-1, 3), rows


def write_stl(path: Path, points: np.ndarray, triangles: np.ndarray) -> None:
    """Binary STL: three points, in single precision, for each triangle."""
    body = b"".join(
        struct.pack("<12fH", 0.0, 0.0, 0.0, *points[row].ravel(), 0) for row in triangles.tolist()
    )
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(triangles)) + body)


def write_obj(path: Path, points: np.ndarray, triangles: np.ndarray, groups: tuple[str, ...] = ()) -> None:
    """OBJ; with groups the triangles stand in as many equal parts."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    each = len(triangles) // max(len(groups), 1)
    for k, row in enumerate(triangles.tolist()):
        if groups and k % each == 0 and k // each < len(groups):
            lines.append(f"g {groups[k // each]}")
        lines.append("f " + " ".join(str(n + 1) for n in row))
    path.write_text("\n".join(lines) + "\n")


def write_ply(path: Path, points: np.ndarray, triangles: np.ndarray) -> None:
    """PLY in text."""
    head = ["ply", "format ascii 1.0", f"element vertex {len(points)}"]
    head += [f"property double {axis}" for axis in "xyz"]
    head += [f"element face {len(triangles)}", "property list uchar int vertex_indices", "end_header"]
    rows = [" ".join(map(repr, row)) for row in points.tolist()]
    rows += ["3 " + " ".join(map(str, row)) for row in triangles.tolist()]
    path.write_text("\n".join([*head, *rows]) + "\n")
