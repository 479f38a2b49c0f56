"""Every kind of cells in every format that has it, from files by hand: nodes in order, names, and facets."""

import numpy as np
import pytest

from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files.foreign import parse_foreign
from minusgrad_elastic.mesh_files.inspection import inspect
from tests.support import foreign_files
from tests.support.foreign_files import LINEAR, VTK_TYPES, Named, named_mesh

pytestmark = pytest.mark.unit

EVERY = tuple(VTK_TYPES)
SOLIDS = tuple(key for key in EVERY if key[0] == 3)
FORMATS = {
    "vtk": (foreign_files.vtk, EVERY, {"soft": "material_1", "stiff": "material_2", "left": ""}),
    "vtu": (foreign_files.vtu, EVERY, {"soft": "material_1", "stiff": "material_2", "left": ""}),
    "msh": (foreign_files.gmsh22, EVERY, {}),
    "mesh": (foreign_files.medit, (*LINEAR, (2, 6), (2, 9), (3, 10)),
             {"soft": "ref_1", "stiff": "ref_2", "left": "ref_3"}),
    "vol": (foreign_files.netgen, (*LINEAR, (2, 6), (2, 8), (3, 10), (3, 20)), {}),
    "su2": (foreign_files.su2, LINEAR, {"soft": "", "stiff": ""}),
    "avs": (foreign_files.avs, LINEAR, {"soft": "material_1", "stiff": "material_2", "left": ""}),
    "tec": (foreign_files.tecplot, LINEAR, {"soft": "", "stiff": "", "left": ""}),
    "ugrid": (foreign_files.ugrid, SOLIDS[:1] + SOLIDS[2:5], {"soft": "", "stiff": "", "left": "tag_3"}),
    "f3grid": (foreign_files.flac3d, SOLIDS[:1] + SOLIDS[2:5], {}),
    "mdpa": (foreign_files.mdpa, tuple(key for key in EVERY if key != (3, 5)), {}),
    "med": (foreign_files.med, EVERY, {}),
    "e": (foreign_files.exodus, EVERY, {"stiff": "block_20"}),
}  # fmt: skip
"""By ending: the writer, the kinds that the format has, and what names become; "": the format has none."""


CASES = [(ending, key) for ending, (_, keys, _) in FORMATS.items() for key in keys]


@pytest.mark.parametrize(("ending", "key"), CASES, ids=[f"{e}-{d}d-{k}" for e, (d, k) in CASES])
def test_a_kind_of_cells_in_a_format(ending: str, key: tuple[int, int]) -> None:
    named, (write, _, names) = named_mesh(*key), FORMATS[ending]
    found, said = parse_foreign(f"a.{ending}", write(named))
    mesh, remarks = inspect(found, drop_unused=True)
    kept = [
        one
        for one in remarks
        if "turned over" not in one and "nodes that lie" not in one and "are left out" not in one
    ]
    assert (kept, said) == ([], "")
    order = order_of_cells(named, mesh)
    assert mesh.volumes().sum() == pytest.approx(named.mesh.volumes().sum(), rel=1e-12)
    np.testing.assert_allclose(mesh.volumes(), named.mesh.volumes()[order], rtol=1e-9)
    (kind,) = mesh.kinds
    assert kind is named.mesh.kinds[0]
    middles_are_in_place(mesh)
    for name, chosen in (("soft", named.soft), ("stiff", ~named.soft)):
        if label := names.get(name, name):
            assert sorted(order[mesh.cell_bodies[label]].tolist()) == np.flatnonzero(chosen).tolist()
    if label := names.get("left", "left"):
        facets, others = mesh.boundary_of(label)
        places = mesh.points[mesh.boundary()[facets][:, : key[0]]].mean(axis=1)
        wanted = named.mesh.points[named.left[:, : key[0]]].mean(axis=1)
        assert (len(facets), others) == (len(named.left), 0)
        same = {tuple(row) for row in np.round(places, 9)} if len(named.left[0]) in (2, 3, 6) else None
        assert same is None or same == {tuple(row) for row in np.round(wanted, 9)}
        near = np.unique(np.round(mesh.points[mesh.bodies[label]], 9), axis=0)
        np.testing.assert_array_equal(
            near, np.unique(np.round(named.mesh.points[np.unique(named.left)], 9), axis=0)
        )


def order_of_cells(named: Named, mesh: Mesh) -> np.ndarray:
    """The number in the written mesh of each cell that is read, by their places."""
    written, read = (m.points[m.cells].mean(axis=1) for m in (named.mesh, mesh))
    away = np.linalg.norm(written[:, None] - read[None], axis=2)
    assert away.min(axis=0).max() < 1e-9
    return away.argmin(axis=0)


def middles_are_in_place(mesh: Mesh) -> None:
    """Each node in the middle of an edge is nearer to it than to any other edge of its cell."""
    (kind,) = mesh.kinds
    edges = [edge for edge in kind.edges if len(edge) > 2]
    if not edges:
        return
    at = mesh.points[mesh.cells]
    middles = np.stack([at[:, [a, b]].mean(axis=1) for a, b, _ in edges], axis=1)
    nodes = np.stack([at[:, m] for _, _, m in edges], axis=1)
    away = np.linalg.norm(nodes[:, :, None] - middles[:, None], axis=3)
    assert (away.argmin(axis=2) == np.arange(len(edges))).all()
