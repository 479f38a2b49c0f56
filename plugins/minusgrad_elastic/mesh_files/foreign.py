"""Meshes from other formats by meshlane, with the extra `mesh`: in a plane, or in space.

Point sets and sets of elements of any dimension are bodies; those of cells are sets of cells as well. Other
formats have no names that all readers agree on, so meshes with named parts are best saved as Gmsh 4.1.

`formats` knows which formats are read; well-known text is by a reader of our own (`well_known_text`).

Decisions 0071, 0328.
"""

import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, node_numbers, pip_line, printable

from ..mesh import Mesh
from . import well_known_text
from .file_ends import opening_ends
from .formats import format_of

SPACE = ("tetra", "tetra10", "pyramid", "wedge", "hexahedron", "hexahedron20", "hexahedron27")
PLANE = ("triangle", "triangle6", "quad", "quad8", "quad9")
"""The types of cells that are read; meshlane numbers their nodes as VTK does."""

OPENING = (
    "meshlane._files",
    "meshlane.abaqus._abaqus",
    "meshlane.gmsh.main",
    "meshlane.vtk._main",
    "meshlane.vtu._vtu",
)
"""Modules of meshlane that open files."""
MOST_REMARKS = 10
KEPT = ("points", "cells", "bodies", "cell_bodies", "facet_bodies")
"""Arrays of a mesh that come from the child."""


def read_foreign(file: str, data: bytes) -> Mesh:
    """The mesh in a file's bytes, read by meshlane in a child process within limits (`bounded_read`).

    Raises `UserError` without meshlane, for formats of several files, for files that it cannot read, or not
    within the limits, and for files without such cells.
    """
    if find_spec("meshlane") is None:
        raise UserError(f"'{file}': needs meshlane: {pip_line('mesh')}")
    found = bounded_read(values, file, data, loads=("meshlane",))
    for line in remarks(found["said"]):
        print(line, file=sys.stderr)
    return Mesh(**{name: found[name] for name in KEPT}, source=f"'{file}'", more=tuple(found["more"]))


def remarks(said: str) -> list[str]:
    """The warnings of meshlane, each once, as a terminal can show them: they quote the file."""
    lines = [*dict.fromkeys(line for one in said.split("\n") if (line := one.strip()))]
    rest = len(lines) - MOST_REMARKS
    more = [f"... and {rest} lines more"] if rest > 0 else []
    return [*(printable(line) for line in lines[:MOST_REMARKS]), *more]


def values(file: str, data: bytes) -> dict[str, Any]:
    """In the child: the arrays of the mesh, and as `said` the warnings of meshlane."""
    mesh, said = parse_foreign(file, data)
    return {name: getattr(mesh, name) for name in (*KEPT, "more")} | {"said": said}


def parse_foreign(file: str, data: bytes) -> tuple[Mesh, str]:
    """The mesh in a file's bytes and the warnings of meshlane, without limits."""
    import meshlane

    opening = [sys.modules[name] for name in OPENING if name in sys.modules]
    name = format_of(file, data, meshlane.extension_to_filetypes)
    if name == "wkt":
        return _mesh_of_meshlane(file, well_known_text.triangles(file, data)), ""
    with TemporaryDirectory() as folder:  # meshlane goes by the ending, and reads from disk
        path, said = Path(folder) / Path(file).name, StringIO()
        path.write_bytes(data)
        try:
            with redirect_stdout(said), redirect_stderr(said), opening_ends(*opening):
                found = meshlane.read(path, name)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # readers raise anything; or they print it, and exit
            reason = said.getvalue() if isinstance(error, SystemExit) else str(error)
            reason = " ".join(reason.replace(f"{folder}/", "").split()) or type(error).__name__
            raise UserError(f"'{file}': meshlane cannot read it: {printable(reason, 500)}") from error
    return _mesh_of_meshlane(file, found), said.getvalue().strip()


def _mesh_of_meshlane(file: str, found) -> Mesh:
    kinds = list(dict.fromkeys(block.type for block in found.cells))
    d = 3 if set(kinds) & {*SPACE} else 2
    read = [kind for kind in kinds if kind in (SPACE if d == 3 else PLANE)]
    if not read:
        known = ", ".join((*PLANE, *SPACE))
        raise UserError(f"'{file}': no cells of a kind that is read ({known}), got {_cell_names(kinds)}")
    points = np.asarray(found.points, float)
    if others := [block for block in found.cells if block.dim >= d and block.type not in read]:
        counts = ", ".join(f"{len(block.data)} {block.type}" for block in others)
        raise UserError(
            f"'{file}': {counts} beside {_cell_names(read)}; mesh with kinds of cells that are read"
        )
    if d == 2 and points.shape[1] == 3 and np.ptp(points[:, 2]) > 1e-12 * np.ptp(points[:, :2]):
        raise UserError(f"'{file}': the {read[0]}s lie in space; they are meshed in a plane z = constant")
    blocks = [k for kind in read for k, block in enumerate(found.cells) if block.type == kind]
    cells, *more = (
        node_numbers(f"'{file}': cells", np.concatenate([b.data for b in found.cells if b.type == kind]))
        for kind in read
    )
    starts = np.cumsum([0, *(len(found.cells[k].data) for k in blocks)])
    cell_bodies: dict[str, np.ndarray] = {}
    facet_bodies: dict[str, list[np.ndarray]] = {}
    bodies = {
        name: np.unique(node_numbers(f"'{file}': set '{name}'", nodes))
        for name, nodes in found.point_sets.items()
    }
    for name, named in (_named_by_tags(found) | found.cell_sets).items():
        if name.startswith("gmsh:"):  # numbers of entities, kept where sets are
            continue
        chosen = [np.asarray([] if rows is None else rows, int) for rows in named]
        nodes = [np.ravel(block.data[rows]) for block, rows in zip(found.cells, chosen, strict=True)]
        bodies[name] = np.unique(node_numbers(f"'{file}': set '{name}'", np.concatenate(nodes)))
        sides = [b.data[r] for b, r in zip(found.cells, chosen, strict=True) if b.dim == d - 1 and len(r)]
        if sides:
            facet_bodies[name] = [node_numbers(f"'{file}': set '{name}'", rows) for rows in sides]
        of_cells = np.concatenate([start + chosen[k] for k, start in zip(blocks, starts, strict=False)])
        if len(of_cells):
            cell_bodies[name] = np.unique(of_cells).astype(np.int32)
    bodies = {name: nodes for name, nodes in bodies.items() if len(nodes)}
    flat = np.ascontiguousarray(points[:, :d])
    further = tuple(more)
    return Mesh(flat, cells, bodies, cell_bodies, f"'{file}'", more=further, facet_bodies=facet_bodies)


def _named_by_tags(found) -> dict[str, list[np.ndarray]]:
    """The physical groups of Gmsh's files of versions before 4: names of tags, and a tag for each cell."""
    tags = found.cell_data.get("gmsh:physical", [])
    return {
        name: [
            np.flatnonzero(np.asarray(own) == tag) if block.dim == dimension else np.zeros(0, int)
            for block, own in zip(found.cells, tags, strict=True)
        ]
        for name, (tag, dimension) in (found.field_data if tags else {}).items()
    }


def _cell_names(kinds: Sequence[str]) -> str:
    return ", ".join(kinds) or "no cells"
