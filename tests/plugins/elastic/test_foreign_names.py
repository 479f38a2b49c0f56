"""What mesh files say beside cells is kept, by name or by number, or refused, or remarked."""

import io
from collections.abc import Callable

import h5py
import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files.collapsed_cells import simpler_cell
from minusgrad_elastic.mesh_files.foreign import parse_foreign, read_foreign
from minusgrad_elastic.mesh_files.inspection import inspect
from tests.support import foreign_files
from tests.support.foreign_files import named_mesh

pytestmark = pytest.mark.unit

SQUARES = "0 0 0  1 0 0  2 0 0  0 1 0  1 1 0  2 1 0"
"""The nodes of two squares side by side."""


def read(file: str, text: str | bytes) -> tuple[Mesh, list[str]]:
    data = text.encode() if isinstance(text, str) else text
    return inspect(parse_foreign(file, data)[0], drop_unused=True)


def refusal(file: str, text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(UserError) as refused:
        read_foreign(file, data)
    return str(refused.value)


def vtk(cells: str, types: str, more: str = "", head: str = "UNSTRUCTURED_GRID") -> str:
    rows = [row for row in cells.split("\n") if row]
    count = sum(len(row.split()) for row in rows)
    return (
        f"# vtk DataFile Version 3.0\n\nASCII\nDATASET {head}\nPOINTS 6 double\n{SQUARES}\n"
        f"CELLS {len(rows)} {count}\n{cells}\nCELL_TYPES {len(rows)}\n{types}\n{more}"
    )


def numbers(mesh: Mesh) -> dict[str, int]:
    """Cells of each named part, or its nodes."""
    return {name: len(mesh.cell_bodies.get(name, nodes)) for name, nodes in mesh.bodies.items()}


# VTK -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "types", "kinds"),
    [
        ("4 0 1 3 4\n4 1 2 4 5", "8 8", {4: 2}),  # pixels
        ("4 0 1 4 3\n4 1 2 5 4", "7 9", {4: 2}),  # a polygon beside a quadrilateral
        ("3 0 1 4\n3 0 4 3\n4 1 2 5 4", "7 5 9", {3: 2, 4: 1}),
        ("6 3 0 4 1 5 2", "6", {3: 4}),  # a strip
    ],
)
def test_cells_of_vtk_in_other_forms(cells: str, types: str, kinds: dict[int, int]) -> None:
    rows = len(cells.split("\n"))
    more = f"CELL_DATA {rows}\nSCALARS part int 1\nLOOKUP_TABLE default\n{' '.join(map(str, range(rows)))}\n"
    mesh, remarks = read("a.vtk", vtk(cells, types, more))
    assert {block.shape[1]: len(block) for block in mesh.blocks} == kinds
    assert mesh.volumes().sum() == pytest.approx(2.0, rel=1e-12)
    assert set(mesh.cell_bodies) == {f"part_{n}" for n in range(rows)}
    assert remarks == []


def test_a_voxel_is_a_hexahedron() -> None:
    corners = "0 0 0 1 0 0 0 2 0 1 2 0 0 0 3 1 0 3 0 2 3 1 2 3"
    text = vtk("8 0 1 2 3 4 5 6 7", "11").replace(SQUARES, corners).replace("POINTS 6", "POINTS 8")
    mesh, _ = read("a.vtk", text)
    assert mesh.volumes().tolist() == pytest.approx([6.0], rel=1e-12)


@pytest.mark.parametrize(
    ("cells", "types", "said"),
    [
        ("5 0 1 2 5 4", "7", "1 polygons of 5 nodes (VTK's type 7) cannot be cells; mesh with"),
        ("6 0 1 2 3 4 5", "30", "1 quad6 of 6 nodes (VTK's type 30) cannot be cells"),
        ("4 0 1 4 3", "99", "1 cells of 4 nodes (VTK's type 99) cannot be cells"),
        ("9 0 1 4 3", "9", "its cells are cut off: types, offsets and nodes do not fit each other"),
    ],
)
def test_what_cannot_be_a_cell_is_refused_by_name(cells: str, types: str, said: str) -> None:
    assert f"'a.vtk': {said}" in refusal("a.vtk", vtk(cells, types))


def test_data_of_points_and_cells_are_parts_or_remarked() -> None:
    more = (
        "CELL_DATA 2\nSCALARS region int 1\nLOOKUP_TABLE default\n0 7\nSCALARS heat double 1\nLOOKUP_TABLE "
        "default\n0.5 1\nPOINT_DATA 6\nSCALARS region int 1\nLOOKUP_TABLE default\n7 7 1 1 1 1\n"
        "VECTORS push float\n" + "0 0 0 " * 6 + "\n"
    )
    mesh, remarks = read("a.vtk", vtk("4 0 1 4 3\n4 1 2 5 4", "9 9", more))
    assert numbers(mesh) == {"region_7_point": 2, "region_1": 4, "region_0": 1, "region_7": 1}
    assert [one.split(": ", 1)[1] for one in remarks] == [
        "cell data 'heat' (float64) are not read",
        "point data 'push' (3 x float32) are not read",
    ]


def test_numbers_of_cells_are_no_parts() -> None:
    count = 300
    places = "\n".join(f"{n} 0 0\n{n} 1 0" for n in range(count + 1))
    cells = "\n".join(f"4 {2 * n} {2 * n + 2} {2 * n + 3} {2 * n + 1}" for n in range(count))
    more = f"CELL_DATA {count}\nSCALARS id int 1\nLOOKUP_TABLE default\n{' '.join(map(str, range(count)))}\n"
    text = vtk(cells, " ".join(["9"] * count), more).replace(SQUARES, places)
    mesh, remarks = read("a.vtk", text.replace("POINTS 6", f"POINTS {2 * count + 2}"))
    assert mesh.bodies == {}
    assert remarks == ["'a.vtk': cell data 'id' have 300 different numbers, and name no parts"]


def test_a_file_of_bytes_may_end_behind_its_numbers() -> None:
    """Gmsh writes no line end there."""
    points, cells = np.array(SQUARES.split(), ">f8"), np.array([4, 0, 1, 4, 3, 4, 1, 2, 5, 4], ">i4")
    data = b"# vtk DataFile Version 2.0\n\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 6 double\n"
    data += points.tobytes() + b"\nCELLS 2 10\n" + cells.tobytes() + b"\nCELL_TYPES 2\n"
    data += np.array([9, 9], ">i4").tobytes() + b"\nCELL_DATA 2\nSCALARS part int 1\nLOOKUP_TABLE default\n"
    mesh, _ = read("a.vtk", data + np.array([3, 4], ">i4").tobytes())
    assert numbers(mesh) == {"part_3": 1, "part_4": 1}


# Text formats --------------------------------------------------------------------------------------------

MEDIT = """MeshVersionFormatted
1
Dimension 2
Vertices 6
0 0 1  1 0 0  2 0 2  0 1 1  1 1 0  2 1 2  # places and references
Quadrilaterals 2  1 2 5 4 1   2 3 6 5 1
Edges 2
1 4 1
3 6 7
Corners 2 1 3
RequiredVertices 1
6
RequiredEdges 1 2
Ridges 1 1
Normals 1 0 1
End
"""


def test_references_and_lists_of_medit_are_parts() -> None:
    mesh, remarks = read("a.mesh", MEDIT)
    assert numbers(mesh) == {
        "ref_1_point": 2, "ref_2": 2, "corners": 2, "required_vertices": 1, "required_edges": 2, "ridges": 2,
        "ref_1_curve": 2, "ref_1_surface": 2, "ref_7": 2,
    }  # fmt: skip
    assert {name: len(rows[0]) for name, rows in mesh.facet_bodies.items()} == {
        "required_edges": 1, "ridges": 1, "ref_1_curve": 1, "ref_7": 1,
    }  # fmt: skip
    assert remarks == ["'a.mesh': Normals: sections about the geometry that was meshed are not read"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("MeshVersionFormatted", "MFEM mesh v1.0", "is MFEM's own format, not Medit's; save it as VTK"),
        ("Vertices 6", "Vertices 7", "Vertices: 7 rows of 3 numbers are announced, 18 numbers stand here"),
        ("Vertices 6", "Vertices 1e300", "Vertices: 1e+300 rows of 3 numbers are announced"),
        ("Ridges", "Bridges", ", line 14: the section Bridges is not read; save it without"),
        ("RequiredEdges 1 2", "RequiredEdges 1 3", "RequiredEdges: must be numbers from 1 to 2, got 3"),
        ("0 0 1", "0 nan 1", "the section nan is not read"),
        ("Vertices 6", "", "has no section Vertices; it is cut off, or no mesh"),
        ("2 3 6 5 1", "2 3 60 5 1", "cells with missing nodes (1 of 2): 1; there are nodes 0 to 5"),
    ],
)  # fmt: skip
def test_damaged_files_of_medit_are_refused_with_the_section(old: str, new: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        read("a.mesh", MEDIT.replace(old, new, 1))
    assert said in str(refused.value)


SU2 = """NDIME = 2
NELEM = 2   % cells
9 0 1 4 3 0
9 1 2 5 4 1
NPOIN = 6
0 0 0
1 0 1
2 0 2
0 1 3
1 1 4
2 1 5
NMARK = 2
MARKER_TAG = inlet of air
MARKER_ELEMS = 1
3 0 3
MARKER_TAG = 1
MARKER_ELEMS = 1
3 2 5
"""


def test_markers_of_su2_have_their_names() -> None:
    mesh, remarks = read("a.su2", SU2)
    assert numbers(mesh) == {"inlet of air": 2, "1": 2}
    assert mesh.points[mesh.bodies["1"]][:, 0].tolist() == [2.0, 2.0]
    assert [len(mesh.boundary_of(name)[0]) for name in mesh.bodies] == [1, 1]
    assert mesh.points[mesh.bodies["inlet of air"]][:, 0].tolist() == [0.0, 0.0]
    assert remarks == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "9 1 2 5 4 1",
            "22 1 2 5 4 1 1",
            "', line 4: elements of VTK's type 22 are not read; SU2 has lines,",
        ),
        ("NDIME", "NZONE= 2\nNDIME", "has 2 zones; save each zone in a file of its own"),
        ("MARKER_ELEMS = 1\n3 2 5\n", "MARKER_ELEMS = 5\n3 2 5\n", "announces 5 rows; it is cut off"),
    ],
)
def test_other_files_of_su2_are_refused(old: str, new: str, said: str) -> None:
    assert said in refusal("a.su2", SU2.replace(old, new))


MSH = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
3
1 1 "wall"
2 1 "wall"
2 2 "all of it"
$EndPhysicalNames
$Nodes
6
0 0 0 0
10 1 0 0
20 2 0 0
30 0 1 0
40 1 1 0
50 2 1 0
$EndNodes
$Elements
6
1 1 2 1 1 0 30
2 1 2 -5 2 20 50
3 3 2 1 1 0 10 40 30
4 3 2 2 1 0 10 40 30
5 3 2 2 1 10 20 50 40
6 15 2 5 1 0
$EndElements
$NodeData
1
"heat of day"
1
0
3
0
1
1
20 5.5
$EndNodeData
"""


def test_groups_of_msh_2_are_kept() -> None:
    """A name of two dimensions, a cell of two groups, a node 0, a group without a name, a view."""
    mesh, remarks = read("a.msh", MSH)
    assert numbers(mesh) == {"wall": 1, "group_5_curve": 2, "all of it": 2, "group_5_point": 1}
    assert mesh.bodies["wall"].tolist() == [0, 1, 3, 4]
    assert mesh.facet_bodies["wall"][0].tolist() == [[0, 3]]
    assert mesh.volumes().tolist() == [1.0, 1.0]
    assert remarks == ["'a.msh': $NodeData 'heat of day' is not read"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2 2 \"all of it\"", "all", "$PhysicalNames: must be dimension, number, \"name\", got b'all'"),
        ("50 2 1 0\n$End", "40 2 1 0\n$End", "$Nodes: node tags are used twice; save it again"),
        ("2.2 0 8", "3 0 8", "MSH version 3 is not read; write it as 4.1: gmsh a.msh -save -format msh41"),
        ("$MeshFormat\n2.2 0 8\n$EndMeshFormat", "$NOD", "MSH version 1 is not read; write it as 4.1"),
        ("$MeshFormat\n2.2 0 8\n$EndMeshFormat", '(0 "Fluent")', "Fluent's list faces"),
        ("10 20 50 40", "10 20 50 99", "cannot read it: IndexError"),
    ],
)  # fmt: skip
def test_other_files_of_gmsh_are_refused(old: str, new: str, said: str) -> None:
    assert said in refusal("a.msh", MSH.replace(old, new))


NETGEN = """mesh3d
dimension
2
geomtype
0

surfaceelements
2
1 1 1 0 4 1 2 5 4
2 2 1 0 4 2 3 6 5

volumeelements
0

edgesegmentsgi2
2
1 0 1 4 -1 -1 1 0 1 0 1 1
4 0 3 6 -1 -1 1 0 1 0 1 1

points
6
0 0 0
1 0 0
2 0 0
0 1 0
1 1 0
2 1 0

materials
1
1 soft rubber

bcnames
4
1 wall
2 wall
3
4 default

endmesh
"""


def test_names_of_netgen_are_kept_and_others_numbered() -> None:
    mesh, _ = read("a.vol", NETGEN)
    assert numbers(mesh) == {"wall": 2, "soft rubber": 1, "index_2": 1, "index_4": 2}


def test_groups_of_a_wavefront_file_are_parts() -> None:
    text = (
        "o body\nv 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 1 0\nv 1 1 0\nv 2 1 0\ng left half\nusemtl steel\nf 1 2 5 4\n"
    )
    mesh, _ = read("a.obj", f"{text}g right\nf 2/1/1 3 6 5\n")
    assert numbers(mesh) == {"body": 2, "left": 1, "half": 1, "steel": 2, "right": 1}
    assert "line 11: node numbers that count from the end are not read" in refusal(
        "a.obj", f"{text}f -1 -2 -4\n"
    )


def test_one_zone_of_tecplot_is_read_and_several_are_refused() -> None:
    named = named_mesh(2, 4)
    text = foreign_files.tecplot(named).decode()
    mesh, _ = read("a.tec", text)
    assert list(mesh.cell_bodies) == ["the body"]
    zone = text[text.index("ZONE") :]
    assert "has 2 zones, which share no nodes; save it as one zone" in refusal("a.tec", text + zone)


def test_groups_of_flac3d_keep_their_slot_where_names_repeat() -> None:
    text = foreign_files.flac3d(named_mesh(3, 8)).decode()
    other = text.replace('ZGROUP "stiff" SLOT 1', 'ZGROUP "soft" SLOT geology')
    mesh, _ = read("a.f3grid", other)
    assert {name: len(cells) for name, cells in mesh.cell_bodies.items()} == {"1:soft": 4, "geology:soft": 4}


def test_sets_of_permas_and_commands_of_ansys_are_refused_by_name() -> None:
    assert "', line 2: sets of PERMAS are not read" in refusal(
        "a.post", "$ENTER COMPONENT\n$NSET NAME = A\n 1\n"
    )
    said = refusal("a.cdb", "/PREP7\nN,1,0,0,0\n")
    assert said == "'a.cdb', line 2: the command N is not read; write the mesh by CDWRITE,DB"


def test_parts_of_kratos_are_checked() -> None:
    text = foreign_files.mdpa(named_mesh(2, 4)).decode()
    assert "SubModelPartConditions of 'left': there is no number 77" in refusal(
        "a.mdpa", text.replace("SubModelPartConditions\n1\n", "SubModelPartConditions\n77\n")
    )
    assert "cells have nodes that Nodes does not list" in refusal(
        "a.mdpa", text.replace("\n11 0.0", "\n99 0.0")
    )


# HDF5 ----------------------------------------------------------------------------------------------------


def med(unit: str = "", fill: Callable[[h5py.File], None] | None = None) -> bytes:
    return foreign_files.med(named_mesh(2, 4), unit, fill)


def test_a_unit_that_the_file_states_is_known() -> None:
    assert parse_foreign("a.med", med("mm              mm"))[0].length == "mm"
    mesh, _ = parse_foreign("a.med", med("furlong"))
    assert (mesh.length, mesh.remarks) == (
        "",
        ("the unit 'furlong' of its coordinates is not known, and not read",),
    )


def test_families_without_a_group_have_numbers() -> None:
    def rename(file: h5py.File) -> None:
        del file["FAS/body/ELEME/F-2/GRO"]

    mesh, _ = read("a.med", med(fill=rename))
    assert set(mesh.cell_bodies) == {"soft", "family_2"}


def outside(file: h5py.File) -> None:
    file["more"] = h5py.ExternalLink("/etc/passwd", "/x")


def external(file: h5py.File) -> None:
    file.create_dataset("more", (3,), "f8", external=[("/etc/passwd", 0, 24)])


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((2,), float)
    layout[:] = h5py.VirtualSource("other.h5", "x", (2,))
    file.create_virtual_dataset("more", layout)


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (outside, "'more' is a link to another file, which is not read"),
        (external, "'more' keeps its data in another file, which is not read"),
        (virtual, "'more' keeps its data in another file, which is not read"),
        (lambda file: file["ENS_MAA/body"].attrs.modify("REP", 1), "its coordinates are not Cartesian"),
        (lambda file: file["ENS_MAA"].create_group("second"), "must have one mesh, got 2; save it alone"),
        (lambda file: file["ENS_MAA/body"].attrs.__delitem__("ESP"), "is of a version of MED before 3"),
    ],
)
def test_a_med_file_leads_nowhere_and_is_what_it_seems(fill: Callable[[h5py.File], None], said: str) -> None:
    assert f"'a.med': {said}" in refusal("a.med", med(fill=fill))


def test_exodus_in_both_forms_has_blocks_and_sets() -> None:
    named = named_mesh(3, 20)
    for is_hdf5 in (False, True):
        mesh, _ = read("a.e", foreign_files.exodus(named, is_hdf5))
        assert set(mesh.bodies) == {"soft", "block_20", "node_set_7", "left"}
        assert mesh.bodies["node_set_7"].tolist() == np.unique(named.left).tolist()
        assert len(mesh.bodies["left"]) == len(np.unique(named.left)), "nodes between corners too"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("elem_ss1", lambda values: values + 1000, "side set 'left' has elements that are not there"),
        ("side_ss1", lambda values: values + 6, "of an element HEX, which is not read"),
        ("node_ns1", lambda values: values + 10**6, "missing nodes in body 'node_set_7'"),
        ("connect1", lambda values: values[:, :7], "has elements HEX8 of 7 nodes, not read"),
        ("connect1", lambda values: values - 1, "cells with missing nodes"),
        ("coordx", lambda values: values * np.nan, "points that are not finite"),
        ("coordx", lambda values: values[:3], "its arrays do not fit each other"),
    ],
)
def test_damaged_exodus_is_refused(name: str, change: Callable, said: str) -> None:
    data = io.BytesIO(foreign_files.exodus(named_mesh(3, 8), is_hdf5=True))
    with h5py.File(data, "r+") as file:
        values, kind = change(file[name][()]), dict(file[name].attrs)
        del file[name]
        file[name] = values
        file[name].attrs.update(kind)
    with pytest.raises(UserError) as refused:
        read("a.e", data.getvalue())
    assert said in str(refused.value)


# Cells ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "kind", "count"),
    [
        ([0, 1, 2, 2], "triangle", 3), ([0, 0, 1, 2], "triangle", 3), ([0, 1, 2, 3], "quad", 4),
        ([0, 1, 2, 3, 4, 4, 4, 4], "pyramid", 5), ([4, 4, 4, 4, 0, 1, 2, 3], "pyramid", 5),
        ([0, 1, 2, 2, 3, 4, 5, 5], "wedge", 6), ([0, 0, 1, 2, 3, 3, 4, 5], "wedge", 6),
        ([0, 1, 2, 2, 3, 3, 3, 3], "tetra", 4), ([0, 1, 1, 0, 2, 3, 4, 5], "wedge", 6),
        ([0, 1, 2, 3, 4, 5, 6, 7], "hexahedron", 8), ([0, 1, 2, 3, 4, 5, 6, 0], "hexahedron", 8),
    ],
)  # fmt: skip
def test_a_brick_with_repeated_nodes_is_the_cell_that_it_is(nodes: list[int], kind: str, count: int) -> None:
    found, own = simpler_cell(nodes)
    assert (found, len(own)) == (kind, count)
    assert set(own) == set(nodes)
