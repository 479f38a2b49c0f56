"""Every kind of cells in every format that has it, from files by hand: nodes in order, names, and facets."""

from pathlib import Path

import numpy as np
import pytest
import vtk

from minusgrad.errors import UserError
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


# VTK's own writers ---------------------------------------------------------------------------------------


def grid_of(named: Named) -> vtk.vtkUnstructuredGrid:
    """The cells with whole numbers `my part`, 1 or 2."""
    grid, points, part = vtk.vtkUnstructuredGrid(), vtk.vtkPoints(), vtk.vtkIntArray()
    points.SetDataTypeToDouble()
    part.SetName("my part")
    for place in named.points().tolist():
        points.InsertNextPoint(*place)
    grid.SetPoints(points)
    for row, number in zip(named.mesh.cells.tolist(), named.materials().tolist(), strict=True):
        nodes = vtk.vtkIdList()
        for node in row:
            nodes.InsertNextId(node)
        grid.InsertNextCell(VTK_TYPES[named.key], nodes)
        part.InsertNextValue(number)
    grid.GetCellData().SetScalars(part)
    return grid


def written_by_vtk(named: Named, form: str, path: Path) -> bytes:
    """form: `4.2` or `5.1` in bytes or text, or how data of a VTU file are stored."""
    if form[0].isdigit():
        writer = vtk.vtkUnstructuredGridWriter()
        writer.SetFileVersion(int(form[0] + form[2]))
        (writer.SetFileTypeToASCII if "text" in form else writer.SetFileTypeToBinary)()
    else:
        writer = vtk.vtkXMLUnstructuredGridWriter()
        (writer.SetDataModeToAscii if form == "text" else writer.SetDataModeToAppended)()
        if form == "raw":
            writer.EncodeAppendedDataOff()
        if form == "LZMA":
            writer.SetCompressorTypeToLZMA()
        if form == "LZ4":
            writer.SetCompressorTypeToLZ4()
    writer.SetFileName(str(path))
    writer.SetInputData(grid_of(named))
    writer.Write()
    return path.read_bytes()


FORMS = ("4.2", "4.2 text", "5.1", "5.1 text", "text", "raw", "base64", "LZMA")


WRITTEN = [
    (key, form) for key in EVERY for form in FORMS if form in ("5.1", "raw") or key in ((2, 9), (3, 6))
]


@pytest.mark.parametrize(("key", "form"), WRITTEN, ids=[f"{d}d-{k}-{form}" for (d, k), form in WRITTEN])
def test_what_vtk_writes_is_read(tmp_path: Path, key: tuple[int, int], form: str) -> None:
    named, ending = named_mesh(*key), "vtk" if form[0].isdigit() else "vtu"
    mesh, remarks = inspect(parse_foreign(f"a.{ending}", written_by_vtk(named, form, tmp_path / "a"))[0])
    assert all("turned over" in one and key == (3, 6) for one in remarks)
    digits = 1e-10 if form in ("4.2 text", "5.1 text") else 1e-13  # VTK writes 12 of them
    np.testing.assert_allclose(mesh.volumes(), named.mesh.volumes(), rtol=digits)
    middles_are_in_place(mesh)
    assert {name: cells.tolist() for name, cells in mesh.cell_bodies.items()} == {
        f"my part_{number}": np.flatnonzero(named.materials() == number).tolist() for number in (1, 2)
    }


def test_later_versions_of_vtu_are_read_and_another_compressor_is_refused(tmp_path: Path) -> None:
    named = named_mesh(2, 4)
    data = written_by_vtk(named, "raw", tmp_path / "a").replace(b'version="0.1"', b'version="2.3"', 1)
    assert parse_foreign("a.vtu", data)[0].volumes().sum() == pytest.approx(
        named.mesh.volumes().sum(), rel=1e-12
    )
    with pytest.raises(UserError, match=r"^'a.vtu': is compressed by LZ4; save it with zlib"):
        parse_foreign("a.vtu", written_by_vtk(named, "LZ4", tmp_path / "a"))
