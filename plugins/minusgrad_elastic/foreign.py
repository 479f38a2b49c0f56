"""Meshes from any file that meshio reads, with the extra `mesh`: triangles in a plane, or tetrahedra.

Point sets are bodies; cell sets are bodies and sets of cells. Other formats carry no names that all readers
agree on, so what has names elsewhere is best saved as Gmsh 4.1.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from minusgrad.errors import UserError

from .mesh import Mesh

SIMPLICES = {"tetra": 3, "triangle": 2}
"""What is read, the highest dimension first."""


def read(file: str, data: bytes) -> Mesh:
    """The mesh in a file's bytes.

    Raises `UserError` without meshio, for what meshio cannot read, and where there are no such cells.
    """
    try:
        import meshio
    except ImportError:
        raise UserError(f"'{file}': needs meshio: pip install 'minusgrad[mesh]'") from None
    with TemporaryDirectory() as folder:  # meshio goes by the ending, and reads from disk
        path = Path(folder) / Path(file).name
        path.write_bytes(data)
        try:
            found = meshio.read(path)
        except (Exception, SystemExit) as error:  # readers raise anything, and one of them exits
            raise UserError(f"'{file}': meshio cannot read it: {error}") from error
    return _simplices(file, found)


def _simplices(file: str, found) -> Mesh:
    kinds = [block.type for block in found.cells]
    kind = next((k for k in SIMPLICES if k in kinds), None)
    if kind is None:
        raise UserError(f"'{file}': no triangles or tetrahedra (there are: {', '.join(kinds) or 'no cells'})")
    d, points = SIMPLICES[kind], np.asarray(found.points, float)
    if d == 2 and points.shape[1] == 3 and np.ptp(points[:, 2]) > 1e-12 * np.ptp(points[:, :2]):
        raise UserError(f"'{file}': the triangles lie in space; they are meshed in a plane z = constant")
    blocks = [k for k, block in enumerate(found.cells) if block.type == kind]
    cells = np.concatenate([found.cells[k].data for k in blocks]).astype(np.int32)
    starts = np.cumsum([0, *(len(found.cells[k].data) for k in blocks)])
    cell_bodies = {
        name: np.concatenate(
            [start + np.asarray(sets[k], int) for k, start in zip(blocks, starts, strict=False)]
        )
        for name, sets in found.cell_sets.items()
    }
    cell_bodies = {name: e.astype(np.int32) for name, e in cell_bodies.items() if len(e)}
    bodies = {name: np.unique(np.asarray(nodes, np.int32)) for name, nodes in found.point_sets.items()}
    bodies |= {name: np.unique(cells[e]) for name, e in cell_bodies.items()}
    return Mesh(np.ascontiguousarray(points[:, :d]), cells, bodies, cell_bodies, f"'{file}'")
