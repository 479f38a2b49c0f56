"""A mesh of meshlane as a mesh of ours: its cells of the highest dimension, and its sets as bodies.

Point sets and sets of elements of any dimension are bodies; those of cells are sets of cells as well, those
of the dimension below sets of facets. Elements below the cells that are in no set are counted in a remark.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, node_numbers

from ..mesh import Mesh
from .facet_nodes import complete_facets

SPACE = ("tetra", "tetra10", "pyramid", "wedge", "hexahedron", "hexahedron20", "hexahedron27")
PLANE = ("triangle", "triangle6", "quad", "quad8", "quad9")
"""The types of cells that are read; meshlane numbers their nodes as VTK does."""


def own_mesh(file: str, found: Any, remarks: Sequence[str] = (), length: str = "") -> Mesh:
    """The cells, bodies and facets of a mesh of meshlane; length: the unit that the file states.

    Raises `UserError` for files without cells that are read, and with others beside them.
    """
    points = np.asarray(found.points, float)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or not len(points):
        raise UserError(f"'{file}': has no nodes in a plane or in space; it is cut off, or damaged")
    kinds = list(dict.fromkeys(block.type for block in found.cells))
    d = 3 if set(kinds) & {*SPACE} else 2
    read = [kind for kind in kinds if kind in (SPACE if d == 3 else PLANE)]
    if not read:
        known = ", ".join((*PLANE, *SPACE))
        raise UserError(f"'{file}': no cells of a kind that is read ({known}), got {_cell_names(kinds)}")
    if others := [block for block in found.cells if block.dim >= d and block.type not in read]:
        counts = ", ".join(f"{len(block.data)} {block.type}" for block in others)
        raise UserError(
            f"'{file}': {counts} beside {_cell_names(read)}; mesh with kinds of cells that are read"
        )
    if d == 2 and points.shape[1] == 3 and np.ptp(points[:, 2]) > 1e-12 * np.ptp(points[:, :2]):
        raise UserError(f"'{file}': the {read[0]}s lie in space; they are meshed in a plane z = constant")
    cells, *more = (
        node_numbers(f"'{file}': cells", np.concatenate([b.data for b in found.cells if b.type == kind]))
        for kind in read
    )
    bodies, cell_bodies, facet_bodies = _bodies_of_sets(file, found, d, read)
    flat = np.ascontiguousarray(points[:, :d])
    made = Mesh(
        flat, cells, bodies, cell_bodies, f"'{file}'", more=tuple(more), facet_bodies=facet_bodies,
        remarks=(*remarks, *_unnamed_remark(found, d)), length=length,
    )  # fmt: skip
    return complete_facets(made)


def _bodies_of_sets(
    file: str, found: Any, d: int, read: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, list[np.ndarray]]]:
    """Nodes, cells and facets of each set; a set of nodes and one of elements of one name are one body."""
    blocks = [k for kind in read for k, block in enumerate(found.cells) if block.type == kind]
    starts = np.cumsum([0, *(len(found.cells[k].data) for k in blocks)])
    bodies, cell_bodies, facet_bodies = {}, {}, {}
    for name, nodes in found.point_sets.items():
        bodies[name] = np.unique(node_numbers(f"'{file}': set '{name}'", nodes))
    for name, named in found.cell_sets.items():
        if name.startswith("gmsh:"):  # numbers of entities, kept where sets are
            continue
        chosen = [np.asarray([] if rows is None else rows, int) for rows in named]
        parts = [np.ravel(block.data[rows]) for block, rows in zip(found.cells, chosen, strict=True)]
        own = np.unique(node_numbers(f"'{file}': set '{name}'", np.concatenate(parts)))
        bodies[name] = np.union1d(bodies[name], own) if name in bodies else own
        sides = [b.data[r] for b, r in zip(found.cells, chosen, strict=True) if b.dim == d - 1 and len(r)]
        if sides:
            facet_bodies[name] = [node_numbers(f"'{file}': set '{name}'", rows) for rows in sides]
        of_cells = np.concatenate([start + chosen[k] for k, start in zip(blocks, starts, strict=False)])
        if len(of_cells):
            cell_bodies[name] = np.unique(of_cells).astype(np.int32)
    return {name: nodes for name, nodes in bodies.items() if len(nodes)}, cell_bodies, facet_bodies


def _unnamed_remark(found: Any, d: int) -> list[str]:
    """A remark on elements of fewer dimensions than the cells that no set has."""
    counts: dict[str, int] = {}
    for k, block in enumerate(found.cells):
        if 0 < block.dim < d:
            sets = [np.asarray(one[k], int) for one in found.cell_sets.values() if one[k] is not None]
            named = len(np.unique(np.concatenate(sets))) if sets else 0
            counts[block.type] = counts.get(block.type, 0) + len(block.data) - named
    left = [f"{count} {name}" for name, count in counts.items() if count]
    return [f"elements below the cells in no named part are not read ({', '.join(left)})"] if left else []


def _cell_names(kinds: Sequence[str]) -> str:
    return ", ".join(kinds) or "no cells"
