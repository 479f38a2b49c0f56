"""Decks of Abaqus and CalculiX: nothing that they say of places, cells and groups is lost without a word."""

import re
from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic.decks import abaqus_elements, abaqus_keywords
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files import foreign
from tests.support import gmsh_decks

pytestmark = pytest.mark.unit

NODES = "1, 0., 0., 0.\n2, 1., 0., 0.\n3, 0., 1., 0.\n4, 0., 0., 1.\n"
TET = f"*Node\n{NODES}*Element, type=C3D4, elset=E1\n1, 1, 2, 3, 4\n"
CUBE = """*Node, nset=all
1, 0, 0, 0
2, 1, 0, 0
3, 1, 1, 0
4, 0, 1, 0
5, 0, 0, 1
6, 1, 0, 1
7, 1, 1, 1
8, 0, 1, 1
*Element, type=C3D8R, elset=brick
7, 1, 2, 3, 4,
5, 6, 7, 8
"""


def read(text: str) -> tuple[Mesh, str]:
    """The mesh of a deck and the remarks."""
    mesh, said = foreign.parse_foreign("d.inp", text.encode())
    return mesh, "\n".join([*mesh.remarks, *([said] if said else [])])


def refused(text: str) -> str:
    with pytest.raises(UserError) as said:
        read(text)
    return str(said.value)


def test_an_instance_is_moved_then_turned_about_its_axis() -> None:
    """By hand: (0, 0, 0) moved by (1, 0, 0) and turned by 90 degrees about z is (0, 1, 0)."""
    text = f"*Part, name=P\n{TET}*Nset, nset=Tip\n4\n*End Part\n*Assembly, name=A\n"
    text += "*Instance, name=P-1, part=p\n1., 0., 0.\n0., 0., 0., 0., 0., 1., 90.\n*End Instance\n"
    text += "*Instance, name=P-2, part=P\n0., 0., 5.\n*End Instance\n"
    text += "*Nset, nset=pair\nP-1.1, P-2.Tip\n*Nset, nset=two, instance=P-2, generate\n1, 2\n*End Assembly\n"
    mesh, said = read(text)
    expected = [[0, 1, 0], [0, 2, 0], [-1, 1, 0], [0, 1, 1]]
    np.testing.assert_allclose(mesh.points[:4], expected, atol=1e-15)
    np.testing.assert_allclose(mesh.points[4], [0, 0, 5])
    np.testing.assert_array_equal(mesh.bodies["pair"], [0, 7])
    np.testing.assert_array_equal(mesh.bodies["two"], [4, 5])
    np.testing.assert_array_equal(mesh.bodies["Tip"], [3, 7])
    np.testing.assert_array_equal(mesh.bodies["P-1.Tip"], [3])
    np.testing.assert_array_equal(mesh.cell_bodies["P-2"], [1])
    np.testing.assert_allclose(mesh.volumes(), 1 / 6)
    assert said == ""


def test_one_instance_keeps_the_names_of_its_part() -> None:
    text = f"*PART,NAME=P\n{TET}*END PART\n*ASSEMBLY,NAME=A\n*INSTANCE,NAME=I,PART=P\n*END INSTANCE\n"
    mesh, _ = read(text)
    assert sorted(mesh.bodies) == ["E1"]


def test_a_part_without_an_instance_is_said() -> None:
    text = f"*Part, name=P\n{TET}*End Part\n*Part, name=Q\n{TET}*End Part\n*Assembly, name=A\n"
    mesh, said = read(text + "*Instance, name=I, part=P\n*End Instance\n*End Assembly\n")
    assert mesh.count == 1
    assert said == "part 'Q' has no instance: it is left out, as in Abaqus"


@pytest.mark.parametrize(
    ("system", "node", "place"),
    [
        ("", "1., 2., 3.", [1.0, 2.0, 3.0]),
        ("*System\n1., 2., 3.\n", "1., 0., 0.", [2.0, 2.0, 3.0]),
        ("*System\n1., 0., 0., 1., 1., 0.\n", "1., 0., 7.", [1.0, 1.0, 7.0]),
        ("*System\n0., 0., 0., 0., 0., 1.\n0., 1., 0.\n", "1., 2., 3.", [-3.0, 2.0, 1.0]),
        ("*System\n1., 2., 3.\n*System\n", "1., 0., 0.", [1.0, 0.0, 0.0]),
    ],
)
def test_nodes_of_a_system(system: str, node: str, place: list[float]) -> None:
    """The axes are a to b, then c in their plane (Keywords Guide, *SYSTEM); x to z and y to y: z to -x."""
    mesh, _ = read(f"{TET}{system}*Node\n9, {node}\n")
    np.testing.assert_allclose(mesh.points[4], place, atol=1e-15)


def test_cylindrical_nodes() -> None:
    mesh, _ = read(TET.replace("*Node", "*Node, System=C").replace("3, 0., 1., 0.", "3, 2., 90., 0."))
    np.testing.assert_allclose(mesh.points[2], [0.0, 2.0, 0.0], atol=1e-15)
    said = refused(TET.replace("*Node", "*Node, system=S"))
    assert said.startswith("'d.inp', line 1: *Node: of coordinate systems R and C are read, got system=S; ")


def test_sets_in_every_form() -> None:
    """By number, range, name, of elements, before and after what they name, in any case, with quotes."""
    text = "*NSET, NSET=Early\n1, 3\n" + CUBE
    text += (
        '*Nset, nset="My top", generate\n5, 8, 1\n*nset,nset=EARLY\n2\n*Nset, nset=both, internal, unsorted\n'
    )
    text += '"my TOP", early\n*Nset, nset=of, elset=BRICK\n*Nset, nset=odd, generate\n 1, 8, 2\n'
    text += "** include a comment\n*Elset, elset=e , generate\n7, 7\n*Elset, elset=f\ne, \n"
    mesh, said = read(text)
    named = {name: (nodes + 1).tolist() for name, nodes in mesh.bodies.items()}
    assert named["Early"] == [1, 2, 3]
    assert named["My top"] == [5, 6, 7, 8]
    assert named["both"] == [1, 2, 3, 5, 6, 7, 8]
    assert named["of"] == named["all"] == [*range(1, 9)]
    assert named["odd"] == [1, 3, 5, 7]
    assert {"brick", "e", "f"} == {*mesh.cell_bodies}
    assert said == ""


@pytest.mark.parametrize(
    ("face", "axis", "place"),
    [("S1", 2, 0.0), ("S2", 2, 1.0), ("S3", 1, 0.0), ("S4", 0, 1.0), ("S5", 1, 1.0), ("S6", 0, 0.0)],
)
def test_a_surface_of_faces_is_a_side(face: str, axis: int, place: float) -> None:
    """Faces of C3D8 as in the Elements Guide: S1 is 1-2-3-4, S2 5-8-7-6, S3 1-5-6-2, and round."""
    for word in ("brick", "7"):
        mesh, _ = read(f"{CUBE}*Surface, type=ELEMENT, name=top\n{word}, {face.lower()}\n")
        rows, others = mesh.boundary_of("top")
        assert (len(rows), others) == (1, 0)
        np.testing.assert_array_equal(mesh.points[mesh.boundary()[rows[0]], axis], place)
        assert len(mesh.bodies["top"]) == 4


def test_other_surfaces() -> None:
    """Without a face the outside; of nodes a set; made of others refused."""
    two = CUBE + "9, 5, 6, 7, 8, 15, 16, 17, 18\n"
    two = two.replace(
        "*Element",
        "".join(f"1{n}, {x}, {y}, 2\n" for n, x, y in ((5, 0, 0), (6, 1, 0), (7, 1, 1), (8, 0, 1)))
        + "*Element",
    )
    mesh, _ = read(f"{two}*Surface, name=out\nbrick\n*Surface, name=some, type=NODE\nall, 1.\n5\n")
    rows, others = mesh.boundary_of("out")
    assert (len(rows), others) == (10, 0)
    assert len(mesh.bodies["some"]) == 12
    said = refused(f"{CUBE}*Surface, name=u, combine=UNION\na, b\n")
    assert (
        said == "'d.inp', line 13: *Surface: a surface made of others (combine) is not read; save its faces"
    )
    said = refused(f"{CUBE}*Surface, name=u\nbrick, S7\n")
    assert said == "'d.inp', line 14: *Surface: a hexahedron has no side 'S7'; name its elements"


def test_one_name_of_two_things_stays_two() -> None:
    mesh, said = read(f"{CUBE}*Nset, nset=top\n5\n*Surface, name=top\nbrick, S2\n")
    assert len(mesh.bodies["top"]) == 1
    assert len(mesh.bodies["top_surface"]) == 4
    assert said == "'top' names surface and other things: its surface are 'top_surface' here"


def test_surfaces_of_shells_and_lines() -> None:
    """On a solid a shell is a facet whatever its side is called; its edges and beams are no sides."""
    skin = TET + "*Element, type=S3, elset=skin\n2, 1, 2, 3\n*Element, type=B31, elset=beam\n3, 1, 4\n"
    for face in ("", ", SPOS", ", SNEG", ", S1", ", S2"):
        mesh, _ = read(f"{skin}*Surface, name=s\nskin{face}\n")
        assert len(mesh.boundary_of("s")[0]) == 1
    for words, said in (
        ("skin, E1", "'E1' of a triangle"),
        ("skin, S3", "'S3' of a triangle"),
        ("beam", "a line"),
    ):
        assert refused(f"{skin}*Surface, name=s\n{words}\n") == (
            f"'d.inp', line 13: *Surface: {said} is no side of a body in space; name its nodes"
        )
    flat = TET.replace("4, 0., 0., 1.", "4, 1., 1., 0.").replace("C3D4", "S4").replace("3, 4\n", "4, 3\n")
    mesh, _ = read(f"{flat}*Surface, name=s\nE1, E2\n")
    rows, _ = mesh.boundary_of("s")
    np.testing.assert_array_equal(mesh.points[mesh.boundary()[rows[0]], 0], 1.0)
    assert "has no side 'SPOS'; name its elements" in refused(f"{flat}*Surface, name=s\nE1, SPOS\n")


def test_surfaces_of_an_instance() -> None:
    text = f"*Part, name=P\n{CUBE}*Surface, name=S\nbrick, S1\n*End Part\n*Assembly, name=A\n"
    for n in (1, 2):
        text += f"*Instance, name=P-{n}, part=P\n{3 * n}., 0., 0.\n*End Instance\n"
    text += "*Elset, elset=_top_S2, internal, instance=P-2\n 7,\n"
    text += "*Surface, type=ELEMENT, name=Top\n_top_S2, S2\n*End Assembly"
    mesh, _ = read(text)
    assert len(mesh.boundary_of("S")[0]) == 2
    assert len(mesh.boundary_of("P-1.S")[0]) == 1
    rows, _ = mesh.boundary_of("Top")
    np.testing.assert_array_equal(mesh.points[mesh.boundary()[rows[0]]].min(axis=0), [6.0, 0.0, 1.0])


def test_rows_go_on_in_the_next_line() -> None:
    """A keyword line after its comma, an element after its, one of 16 fields without."""
    keyword = TET.replace("*Element, type=C3D4, elset=E1", "*Element,\n** between\n type=C3D4,\n elset=E1")
    assert read(keyword)[0].count == 1
    assert read(TET.replace("1, 1, 2, 3, 4", "1, 1, 2,\n3, 4"))[0].count == 1
    assert refused(TET.replace("1, 1, 2, 3, 4", "1, 1, 2, 3")) == (
        "'d.inp', line 7: *Element: an element of 4 nodes has 3 here; save it again"
    )
    assert "has 5 here" in refused(TET.replace("1, 1, 2, 3, 4", "1, 1, 2, 3, 4, 1"))


def test_what_is_not_there_is_named() -> None:
    assert refused(TET.replace("2, 3, 4\n", "2, 3, 5\n")).endswith(
        "an element has node 5, which is not there; save the mesh whole"
    )
    assert refused(TET + "*Node\n2, 5., 0., 0.\n").endswith(
        "line 9: *Node: node 2 stands twice, at two places; renumber one"
    )
    assert read(TET + "*Node\n2, 1., 0., 0.\n")[0].count == 1
    assert refused(TET + "*Element, type=C3D4\n1, 1, 2, 3, 4\n").endswith(
        "element 1 stands twice; renumber one"
    )
    assert refused(TET + "*Nset, nset=a\nb\n").endswith("there is no set 'b'")
    assert refused(TET + "*Nset, nset=a\nb\n*Nset, nset=b\na\n").endswith("set 'A' is a part of itself")
    assert read(TET + "*Nset, nset=a\n1, 99\n")[1].endswith(
        "line 8: *Nset: 1 members are not there, the first 99; they are left out"
    )
    assert refused(TET.replace("C3D4", "CIN3D8")).endswith(
        "elements CIN3D8 are not read; mesh with others, or take them out"
    )
    assert refused(TET + "*Nodes\n") == (
        "'d.inp', line 8: *Nodes: is no keyword that is known here; did you mean *Node?; take it out if it"
        " says"
        " nothing of the mesh"
    )
    assert refused("1, 2\n" + TET).endswith("line 1: must begin with a keyword (*Node), got '1, 2'")


@pytest.mark.parametrize("keyword", sorted(abaqus_keywords.REFUSED))
def test_each_refused_keyword_is_refused_by_name(keyword: str) -> None:
    said = refused(f"{TET}*{keyword.lower()}, name=x\n1, 2\n")
    assert said.startswith(f"'d.inp', line 8: *{keyword.lower()}: ")
    assert said.endswith(abaqus_keywords.REFUSED[keyword])


def test_each_keyword_has_one_verdict() -> None:
    tables = [
        abaqus_keywords.READ,
        abaqus_keywords.REFUSED.keys(),
        abaqus_keywords.SAID,
        abaqus_keywords.OTHER,
    ]
    every = [keyword for table in tables for keyword in table]
    assert len(every) == len({*every}) > 600
    assert all(keyword == "".join(keyword.split()).upper() for keyword in every)


@pytest.mark.parametrize("end", ["*END", "*End\n"])
def test_a_deck_may_say_where_it_ends(end: str) -> None:
    """As those of meshing programs do."""
    assert read(TET + end)[1] == ""


def test_supports_and_sections_are_said_in_one_line() -> None:
    text = (
        TET
        + "*Solid Section, elset=E1, material=M\n*Boundary\n1, 1, 3\n"
        + "*Step\n*Static\n*Cload\n4, 1, 2.\n*End Step\n"
    )
    assert read(text)[1] == (
        "read for its mesh and groups alone: passed over *Solid Section (line 8), *Boundary"
        " (line 9), *Cload (line 13)"
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("C3D10MH", "tetra10"), ("C3D20RHT", "hexahedron20"), ("C3D8I", "hexahedron"), ("CPE6M", "triangle6"),
        ("CPS4R", "quad"), ("CAX8R", "quad8"), ("CPEG4H", "quad"), ("S8R5", "quad8"),
        ("S4RSW", "quad"), ("STRI65", "triangle6"), ("S3", "triangle"), ("M3D9", "quad9"),
        ("SFM3D4R", "quad"), ("R3D3", "triangle"), ("DC3D20", "hexahedron20"), ("DC2D3", "triangle"),
        ("AC3D6", "wedge"), ("C3D15", "wedge15"), ("DCAX4", "quad"), ("C3D5", "pyramid"),
        ("SC8R", "hexahedron"), ("COH3D8", "hexahedron"), ("T3D2", "line"), ("B32OS", "line3"),
        ("B31H", "line"), ("SAX2T", "line3"), ("T3D3", "line3"), ("R2D2", "line"),
        ("SPRINGA", ""), ("MASS", ""), ("CONN3D2", ""),
    ],
)  # fmt: skip
def test_types_of_elements(name: str, kind: str) -> None:
    shape = abaqus_elements.shape_of(name)
    assert shape is not None
    assert shape[0] == kind


@pytest.mark.parametrize("name", ["CIN3D8", "CCL12", "C3D15V", "U1", "XYZ", "C3D7"])
def test_types_that_are_not_read(name: str) -> None:
    assert abaqus_elements.shape_of(name) is None


@pytest.mark.parametrize(
    "kind", [*abaqus_elements.FACES, "tetra10", "wedge15", "hexahedron20", "pyramid13", "quad8", "triangle6"]
)
def test_faces_have_their_middle_nodes(kind: str) -> None:
    """Each edge of a closed cell is in two faces, and its middle node as well."""
    faces = abaqus_elements.face_nodes(kind)
    times = np.bincount(np.concatenate([np.array(face) for face in faces]))
    corners = abaqus_elements.COUNTS[kind.rstrip("0123456789")]
    solid = abaqus_elements.DIMENSIONS[kind] == 3
    np.testing.assert_array_equal(times[corners:], 2 if solid else 1)


@pytest.mark.parametrize("name", gmsh_decks.NAMES)
def test_decks_of_gmsh_are_its_meshes(name: str, tmp_path: Path) -> None:
    """Points, cells, volume and the area of the named side, against the MSH file of the same mesh."""
    gmsh_decks.compare(name, tmp_path, "inp", {"body": "body", "left side": "left_side"})


def test_a_file_of_windows_with_accents() -> None:
    text = TET + "*Nset, nset=Fläche\n1\n"
    for encoding in ("utf-8", "utf-8-sig", "cp1252"):
        mesh, _ = foreign.parse_foreign("d.inp", text.replace("\n", "\r\n").encode(encoding))
        assert "Fläche" in mesh.bodies


@pytest.mark.parametrize("row", ["4, 1, -1", "4, 1", "1", "1, 4, 0", "1, 2, 3, 4"])
def test_a_range_that_is_none_is_refused(row: str) -> None:
    said = refused(f"{TET}*Nset, nset=a, generate\n{row}\n")
    assert said == "'d.inp', line 9: *Nset: needs first, last and a step above 0; list the numbers"


def test_the_units_of_a_deck_are_said() -> None:
    assert "passed over *Unit System (mm, t, s) (line 8)" in read(TET + "*Unit System\nmm, t, s\n")[1]


def test_other_files_are_not_opened() -> None:
    for line in ("*INCLUDE, INPUT=/etc/passwd", "*Node, input=n.txt", "*Element, type=C3D4, input=e.txt"):
        assert re.match(
            r"'d.inp', line 8: \*\w+: .*(one file|another file)", refused(f"{TET}{line}\n"), re.IGNORECASE
        )
