"""Meshes of the scenes of published tables, in MSH 4.1: boxes that are mapped, with named sides.

    python -m tests.meshes.mapped

writes them, and the temperatures of LE11, into scenes/data. They need no Gmsh; a test compares the files
with what is made here. A box of hexahedra or quadrilaterals of order 2 is laid onto each body by the maps of
`minusgrad_elastic.published`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tests.support.plate_with_hole import plate_mesh

from minusgrad_elastic import generators
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files.gmsh import KINDS
from minusgrad_elastic.published import macneal_harder, nafems
from minusgrad_elastic.published.linear_statics import mapped, node_at

DATA = Path(__file__).parents[2] / "scenes" / "data"


@dataclass(frozen=True)
class Named:
    """A mesh, its sides of facets, and its sets of single nodes, by name."""

    mesh: Mesh
    sides: dict[str, np.ndarray]
    nodes: dict[str, np.ndarray] = field(default_factory=dict)


def sides_of(mesh: Mesh, **names: str) -> dict[str, np.ndarray]:
    """The facets (F, b) of bodies of the mesh under other names: name=body."""
    return {name: facets_within(mesh, mesh.bodies[body]) for name, body in names.items()}


def facets_within(mesh: Mesh, nodes: np.ndarray) -> np.ndarray:
    """The facets (F, b) of cells all of whose nodes are among these."""
    (kind,) = mesh.kinds
    facets = mesh.cells[:, np.array(kind.facets)].reshape(-1, len(kind.facets[0]))
    return facets[np.isin(facets, nodes).all(axis=1)]


def nafems_le1() -> Named:
    """16 x 16 quadrilaterals of 8 nodes."""
    mesh = mapped(generators.rectangle((1.0, np.pi / 2), (16, 16), "quadrilaterals", 2), nafems.elliptic)
    sides = sides_of(mesh, inner="left", outer="right", along_x="bottom", along_y="top")
    return Named(mesh, sides, {"D": np.array([node_at(mesh, 2.0, 0.0)])})


def nafems_le10() -> Named:
    """6 x 8 x 4 hexahedra of 20 nodes; `rim`: the nodes at half the height of the outer side."""
    mesh = mapped(generators.box((1.0, np.pi / 2, 0.6), (6, 8, 4), "hexahedra", 2), nafems.elliptic)
    sides = sides_of(mesh, inner="left", outer="right", along_x="front", along_y="back", upper="top")
    outer = mesh.bodies["right"]
    rim = outer[np.abs(mesh.points[outer, 2] - 0.3) < 1e-9]
    return Named(mesh, sides, {"rim": rim, "D": np.array([node_at(mesh, 2.0, 0.0, 0.6)])})


def nafems_le11() -> Named:
    """4 x 4 x 14 hexahedra of 20 nodes."""
    mesh = mapped(generators.box((1.0, np.pi / 2, 7.0), (4, 4, 14), "hexahedra", 2), nafems.revolved)
    sides = sides_of(mesh, inner="left", outer="right", along_x="front", along_y="back", lower="bottom")
    sides |= sides_of(mesh, upper="top")
    return Named(mesh, sides, {"A": np.array([node_at(mesh, 1.0, 0.0, 0.0)])})


def straight_beam(slant: str) -> Named:
    """The six hexahedra of 20 nodes of the paper."""
    mesh = macneal_harder.straight(slant, (6, 1, 1))
    return Named(mesh, sides_of(mesh, clamp="left", tip="right"))


def curved_beam() -> Named:
    """12 x 2 x 1 hexahedra of 20 nodes."""
    mesh = macneal_harder.curved((12, 2, 1))
    return Named(mesh, sides_of(mesh, clamp="left", tip="right"))


def twisted_beam() -> Named:
    """12 x 2 x 1 hexahedra of 20 nodes, as in the paper."""
    mesh = macneal_harder.twisted((12, 2, 1))
    return Named(mesh, sides_of(mesh, clamp="left", tip="right"))


def strip_with_hole() -> Named:
    """A quarter: 16 six-node triangles around the hole, a tenth as large as in `plate_with_hole`."""
    mesh = plate_mesh(16, 8)
    sides = {name: facets_within(mesh, mesh.bodies[name]) for name in ("left", "bottom", "right", "hole")}
    return Named(mesh.scaled_mesh(0.1), sides)


def patch_test() -> Named:
    """The seven hexahedra of 8 nodes; a set for each corner of the cube."""
    mesh = macneal_harder.patch(3)
    return Named(mesh, {}, {f"corner{k + 1}": np.array([k]) for k in range(8)})


FILES: dict[str, Callable[[], Named]] = {
    "nafems_le1": nafems_le1,
    "nafems_le10": nafems_le10,
    "nafems_le11": nafems_le11,
    "straight_rectangles": lambda: straight_beam("rectangles"),
    "straight_trapezoids": lambda: straight_beam("trapezoids"),
    "straight_parallelograms": lambda: straight_beam("parallelograms"),
    "curved_beam": curved_beam,
    "twisted_beam": twisted_beam,
    "patch_test": patch_test,
    "plate_with_hole": strip_with_hole,
}


def as_msh(named: Named) -> str:
    """The text of an MSH 4.1 file; node n of the mesh has the tag n + 1."""
    mesh, d = named.mesh, named.mesh.dimension
    groups = [(0, name, nodes[:, None]) for name, nodes in named.nodes.items()]
    groups += [(d - 1, name, facets) for name, facets in named.sides.items()]
    groups.append((d, "body", mesh.cells))
    numbers = range(1, len(groups) + 1)
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(groups))]
    lines += [f'{k} {n} "{name}"' for n, (k, name, _) in zip(numbers, groups, strict=True)]
    lines += ["$EndPhysicalNames", "$Entities", " ".join(str(_count(groups, k)) for k in range(4))]
    for n, (k, _, rows) in zip(numbers, groups, strict=True):
        box = " ".join(map(_text, _box_around(mesh.points[rows], point=k == 0)))
        lines.append(f"{n} {box} 1 {n}" + ("" if k == 0 else " 0"))
    n = len(mesh.points)
    lines += ["$EndEntities", "$Nodes", f"1 {n} 1 {n}", f"{d} {len(groups)} 0 {n}"]
    lines += map(str, range(1, n + 1))
    lines += [" ".join(map(_text, point)) for point in _in_space(mesh.points)]
    total, tag = sum(len(rows) for _, _, rows in groups), 1
    lines += ["$EndNodes", "$Elements", f"{len(groups)} {total} 1 {total}"]
    for number, (k, _, rows) in zip(numbers, groups, strict=True):
        kind, order = _kind_of(k, rows.shape[1])
        lines.append(f"{k} {number} {kind} {len(rows)}")
        for row in rows + 1:
            ordered = np.empty_like(row)
            ordered[list(order)] = row
            lines.append(f"{tag} " + " ".join(map(str, ordered)))
            tag += 1
    return "\n".join([*lines, "$EndElements", ""])


def _count(groups: list, dimension: int) -> int:
    return sum(k == dimension for k, _, _ in groups)


def _kind_of(dimension: int, nodes: int) -> tuple[int, tuple[int, ...]]:
    """Gmsh's type of an element, and its order of nodes."""
    kind = next(one for one, (d, k, _) in KINDS.items() if (d, k) == (dimension, nodes))
    return kind, KINDS[kind][2] or tuple(range(nodes))


def _in_space(points: np.ndarray) -> np.ndarray:
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


def _box_around(points: np.ndarray, point: bool) -> np.ndarray:
    """x, y, z of a point entity, or the lowest and the highest corner."""
    placed = _in_space(points.reshape(-1, points.shape[-1]))
    return placed[0] if point else np.concatenate([placed.min(axis=0), placed.max(axis=0)])


def _text(number: float) -> str:
    return f"{round(float(number), 12) + 0.0:.12g}"


def temperatures() -> str:
    """T = sqrt(x^2 + y^2) + z [degC] of LE11, node by node, as CSV."""
    x, y, z = nafems_le11().mesh.points.T
    return "\n".join(["T", *map(_text, np.hypot(x, y) + z), ""])


if __name__ == "__main__":
    for name, make in FILES.items():
        (DATA / f"{name}.msh").write_text(as_msh(make()))
    (DATA / "nafems_le11.csv").write_text(temperatures())
