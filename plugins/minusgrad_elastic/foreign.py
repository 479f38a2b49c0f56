"""Meshes from any file that meshio reads, with the extra `mesh`: triangles in a plane, or tetrahedra.

Point sets and sets of elements of any dimension are bodies; those of cells are sets of cells as well. Other
formats have no names that all readers agree on, so meshes with named parts are best saved as Gmsh 4.1.
"""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from minusgrad.plugin import UserError

from .mesh import Mesh

SIMPLICES = {"tetra": 3, "triangle": 2}
"""The types of cells that are read, the highest dimension first."""


def read(file: str, data: bytes) -> Mesh:
    """The mesh in a file's bytes.

    Raises `UserError` without meshio, for files that it cannot read, and for files without such cells.
    """
    try:
        import meshio
    except ImportError:
        raise UserError(f"'{file}': needs meshio: pip install 'minusgrad[mesh]'") from None
    with TemporaryDirectory() as folder:  # meshio goes by the ending, and reads from disk
        path, said = Path(folder) / Path(file).name, StringIO()
        path.write_bytes(data)
        try:
            with redirect_stdout(said), redirect_stderr(said):
                found = meshio.read(path)
        except (Exception, SystemExit) as error:  # readers raise anything; or they print it, and exit
            reason = said.getvalue() if isinstance(error, SystemExit) else str(error)
            reason = " ".join(reason.replace(f"{folder}/", "").split())
            raise UserError(f"'{file}': meshio cannot read it: {reason}") from error
    if warnings := said.getvalue().strip():
        print(warnings, file=sys.stderr)
    return _simplices(file, found)


def _simplices(file: str, found) -> Mesh:
    kinds = list(dict.fromkeys(block.type for block in found.cells))
    kind = next((k for k in SIMPLICES if k in kinds), None)
    if kind is None:
        raise UserError(f"'{file}': no triangles or tetrahedra (there are: {', '.join(kinds) or 'no cells'})")
    d, points = SIMPLICES[kind], np.asarray(found.points, float)
    if others := [block for block in found.cells if block.dim >= d and block.type != kind]:
        counts = ", ".join(f"{len(block.data)} {block.type}" for block in others)
        raise UserError(f"'{file}': {counts} beside the {kind}s; mesh with simplices of one kind only")
    if d == 2 and points.shape[1] == 3 and np.ptp(points[:, 2]) > 1e-12 * np.ptp(points[:, :2]):
        raise UserError(f"'{file}': the triangles lie in space; they are meshed in a plane z = constant")
    blocks = [k for k, block in enumerate(found.cells) if block.type == kind]
    cells = np.concatenate([found.cells[k].data for k in blocks]).astype(np.int32)
    starts = np.cumsum([0, *(len(found.cells[k].data) for k in blocks)])
    cell_bodies: dict[str, np.ndarray] = {}
    bodies = {name: np.unique(np.asarray(nodes, np.int32)) for name, nodes in found.point_sets.items()}
    for name, chosen in found.cell_sets.items():
        if name.startswith("gmsh:"):  # numbers of entities, kept where sets are
            continue
        chosen = [np.asarray([] if rows is None else rows, int) for rows in chosen]
        nodes = [np.ravel(block.data[rows]) for block, rows in zip(found.cells, chosen, strict=True)]
        bodies[name] = np.unique(np.concatenate(nodes)).astype(np.int32)
        of_cells = np.concatenate([start + chosen[k] for k, start in zip(blocks, starts, strict=False)])
        if len(of_cells):
            cell_bodies[name] = np.unique(of_cells).astype(np.int32)
    bodies = {name: nodes for name, nodes in bodies.items() if len(nodes)}
    return Mesh(np.ascontiguousarray(points[:, :d]), cells, bodies, cell_bodies, f"'{file}'")
