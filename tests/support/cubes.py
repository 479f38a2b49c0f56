"""Meshes of several boxes, as files of Gmsh, for bodies that touch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from minusgrad_elastic import generators
from minusgrad_elastic.mesh import Mesh


def boxes_file(boxes: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[int]]]) -> str:
    """A mesh in MSH 4.1 with a body for each box: corner, size and cells, in the plane or in space."""
    meshes = {}
    for name, (corner, size, cells) in boxes.items():
        made = generators.box(size, cells) if len(size) == 3 else generators.rectangle(size, cells)
        meshes[name] = Mesh(made.points + np.asarray(corner), made.cells)
    return mesh_file(meshes)


def mesh_file(meshes: Mapping[str, Mesh]) -> str:
    """The same of meshes of simplices, by the name of their body."""
    d = next(iter(meshes.values())).dimension
    kind = {2: 2, 3: 4}[d]
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(meshes))]
    lines += [f'{d} {k} "{name}"' for k, name in enumerate(meshes, 1)] + ["$EndPhysicalNames", "$Entities"]
    lines.append(f"0 0 {len(meshes)} 0" if d == 2 else f"0 0 0 {len(meshes)}")
    lines += [f"{k} 0 0 0 0 0 0 1 {k} 0" for k in range(1, len(meshes) + 1)] + ["$EndEntities"]
    nodes, cells = sum(len(m.points) for m in meshes.values()), sum(len(m.cells) for m in meshes.values())
    lines += ["$Nodes", f"{len(meshes)} {nodes} 1 {nodes}"]
    first = 1
    for k, mesh in enumerate(meshes.values(), 1):
        lines.append(f"{d} {k} 0 {len(mesh.points)}")
        lines += [str(first + n) for n in range(len(mesh.points))]
        lines += [" ".join(f"{c:.12g}" for c in (*point, 0.0)[:3]) for point in mesh.points]
        first += len(mesh.points)
    lines += ["$EndNodes", "$Elements", f"{len(meshes)} {cells} 1 {cells}"]
    first, tag = 1, 1
    for k, mesh in enumerate(meshes.values(), 1):
        lines.append(f"{d} {k} {kind} {len(mesh.cells)}")
        for cell in mesh.cells:
            lines.append(" ".join(map(str, (tag, *(cell + first)))))
            tag += 1
        first += len(mesh.points)
    return "\n".join([*lines, "$EndElements", ""])


SCENE = """plugins = ["elastic"]
[state]
kind = "gmsh"
file = "bodies.msh"
length = "m"
density = "1000 kg/m^3"
rest_shape = {rest}
[[energy]]
kind = "neo_hookean"
tuples = "cells"
rest_shape = {rest}
youngs_modulus = "100 kPa"
poissons_ratio = 0.3
[[energy]]
kind = "body_force"
acceleration = {gravity}
[[compound]]
kind = "contact"
distance = "{distance}"
[[hold]]
body = "base"
[stepper]
{stepper}
[run]
steps = 10
"""
EULER = 'kind = "implicit_euler"\ndt = "10 ms"'


def turned_box(
    size: Sequence[float], cells: Sequence[int], angles: Sequence[float], centre: Sequence[float]
) -> Mesh:
    """A box, or a rectangle, turned about its centre: by one angle in the plane, by three in space."""
    made = generators.box(size, cells) if len(size) == 3 else generators.rectangle(size, cells)
    points = made.points - 0.5 * np.asarray(size)
    for axis, angle in enumerate(angles):
        i, j = [k for k in range(3) if k != axis] if len(size) == 3 else (0, 1)
        c, s = np.cos(angle), np.sin(angle)
        points[:, i], points[:, j] = c * points[:, i] - s * points[:, j], s * points[:, i] + c * points[:, j]
    return Mesh(points + np.asarray(centre), made.cells)


def two_bodies(d: int = 3, gap: float = 1e-3) -> dict[str, Mesh]:
    """A base, and above it a box of 0.1 m turned a little, whose lowest corner is `gap` above it."""
    if d == 2:
        base = turned_box((0.2, 0.02), (3, 1), (0.0,), (0.0, -0.01))
        box = turned_box((0.1, 0.1), (2, 2), (0.04,), (0.01, 0.06))
    else:
        base = turned_box((0.2, 0.17, 0.02), (2, 2, 1), (0.0, 0.0, 0.3), (0.01, 0.0, -0.01))
        box = turned_box((0.1, 0.1, 0.1), (1, 1, 1), (0.03, -0.02, 0.1), (0.01, 0.005, 0.06))
    lift = gap - float(box.points[:, -1].min())
    moved = box.points + np.eye(d)[-1] * lift
    return {"base": base, "box": Mesh(moved, box.cells)}


def contact_scene(
    folder: Path,
    meshes: Mapping[str, Mesh],
    stepper: str = EULER,
    distance: str = "2 mm",
    edits: Sequence[tuple[str, str]] = (),
    rest: bool = False,
) -> Path:
    """A scene of bodies above a held base, with its mesh."""
    d = next(iter(meshes.values())).dimension
    (folder / "bodies.msh").write_text(mesh_file(meshes))
    gravity = [0.0] * (d - 1) + [-9.81]
    pulls = "[" + ", ".join(f'"{g} m/s^2"' for g in gravity) + "]"
    text = SCENE.format(gravity=pulls, distance=distance, stepper=stepper, rest=str(rest).lower())
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "scene.toml").write_text(text)
    return folder / "scene.toml"
