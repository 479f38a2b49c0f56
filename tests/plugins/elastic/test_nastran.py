"""Decks of Nastran: points in their systems, cells in every format of cards, and what other cards name."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic.decks import nastran_cards
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files import foreign
from tests.support import gmsh_decks

pytestmark = pytest.mark.unit

TET = """GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
GRID,3,,0.,1.,0.
GRID,4,,0.,0.,1.
CTETRA,9,5,1,2,3,4
"""
PLACES = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
CUBE = "".join(f"GRID,{n},,{x}.,{y}.,{z}.\n" for n, (x, y, z) in enumerate(PLACES, 1))
CUBE += "CHEXA,7,2,1,2,3,4,5,6,+A\n+A,7,8\n"


def read(text: str) -> tuple[Mesh, str]:
    """The mesh of a deck and the remarks."""
    mesh, said = foreign.parse_foreign("d.bdf", f"{text}\nENDDATA\n".encode())
    return mesh, "\n".join([*mesh.remarks, *([said] if said else [])])


def refused(text: str) -> str:
    with pytest.raises(UserError) as said:
        read(text)
    return str(said.value)


@pytest.mark.parametrize(
    "grid",
    [
        "GRID,4,,.5,-1.5-3,2.D0",
        "grid    4               0.5     -1.5-3  2.+0",
        "GRID*   4                               0.5             -1.5E-3\n*       2.0",
        f"GRID*   {4:<16}{'':16}{0.5:<16}{'-1.5-3':16}*G1\n*G1     2.0",
        "GRID*,4,,.5,-.0015,\n*,2.",
        "GRID\t4\t\t.5\t-.0015\t2.",
        "GRID,4,,.5,-.0015,2. $ a comment",
    ],
)
def test_formats_of_a_card(grid: str) -> None:
    mesh, said = read(TET.replace("GRID,4,,0.,0.,1.", grid))
    np.testing.assert_allclose(mesh.points[3], [0.5, -0.0015, 2.0], rtol=1e-15)
    assert said == ""


def test_continuations() -> None:
    """By a mark, by a star, by blanks, by a comma alone; one that is elsewhere is refused."""
    for more in ("+A,7,8", "+A      7       8", "        7       8", ",7,8"):
        text = CUBE.replace("+A,7,8", more)
        text = text if "+A" in more else text.replace(",6,+A\n", ",6\n")
        assert read(text)[0].volumes() == pytest.approx(1.0)
    assert refused(CUBE.replace("+A,7,8", "+B,7,8")) == (
        "'d.bdf', line 9: CHEXA: goes on at '+A', but line 10 is '+B'; sort the lines of the deck"
    )
    assert "none is before it" in refused("+A,7,8\n" + CUBE)


def test_with_and_without_the_frame_of_a_deck() -> None:
    framed = f"SOL 101\nCEND\nTITLE = include this, GRID\nBEGIN BULK\n{TET}ENDDATA\nGRID,77,,9.,9.,9.\n"
    np.testing.assert_array_equal(read(framed)[0].points, read(TET)[0].points)
    assert refused(f"INCLUDE 'a.bdf'\nBEGIN BULK\n{TET}") == (
        "'d.bdf', line 1: INCLUDE: the deck is one file here; put the text of the other one in its place"
    )
    assert refused(f"BEGIN SUPER=1\n{TET}").startswith("'d.bdf', line 1: BEGIN SUPER=1: is a part of a model")
    assert "line 6: BEGIN" in refused(f"{TET}BEGIN SUPER=2\n")
    assert "line 6: INCLUDE" in refused(f"{TET}INCLUDE 'a.bdf'\n")


@pytest.mark.parametrize(
    ("systems", "place"),
    [
        ("CORD2R,1,,1.,2.,3.,1.,2.,4.\n,2.,2.,3.\n", [2.0, 32.0, 33.0]),
        ("CORD2R,1,,0.,0.,0.,1.,0.,0.\n,0.,1.,0.\n", [30.0, 1.0, 30.0]),
        ("CORD2C,1,0,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n", [3**0.5 / 2, 0.5, 30.0]),
        ("CORD2S,1,0,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n", [0.5 * 3**0.5 / 2, 0.25, 3**0.5 / 2]),
        ("CORD1R,1,3,5,6\nGRID,5,,0.,1.,1.\nGRID,6,,1.,1.,0.\n", [1.0, 31.0, 30.0]),
        (
            "CORD2C,7,,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\nCORD2R,1,7,1.,90.,0.,1.,90.,1.\n,2.,90.,0.\n",
            [-30.0, 2.0, 30.0],
        ),
    ],
)
def test_points_in_systems(systems: str, place: list[float]) -> None:
    """By hand: the second point is on z, the third at positive x; (1, 30, 30) of each form."""
    for grid in ("GRID,4,1,1.,30.,30.", "GRDSET,,1\nGRID,4,,1.,30.,30."):
        if "GRDSET" in grid:
            text = systems + TET.replace(",,", ",0,").replace("GRID,4,0,0.,0.,1.", grid)
            text = text.replace("GRID,5,,", "GRID,5,0,").replace("GRID,6,,", "GRID,6,0,")
        else:
            text = systems + TET.replace("GRID,4,,0.,0.,1.", grid)
        mesh, _ = read(text)
        four = {tuple(np.round(p, 9)) for p in mesh.points}
        assert tuple(np.round(place, 9)) in four


def test_systems_that_are_not_there() -> None:
    assert refused(TET.replace("GRID,4,,", "GRID,4,3,")) == (
        "'d.bdf', line 4: GRID: is in the coordinate system 3, which is not there"
    )
    circle = "CORD2R,1,2,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\nCORD2R,2,1,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n"
    assert refused(circle + TET.replace("GRID,4,,", "GRID,4,1,")).endswith("system 1 is defined by itself")
    line = "CORD2R,1,,0.,0.,0.,0.,0.,1.\n,0.,0.,2.\n"
    assert refused(line + TET.replace("GRID,4,,", "GRID,4,1,")).endswith("of system 1 lie on a line")


def test_systems_of_displacements_are_said() -> None:
    mesh, said = read("CORD2R,1,,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n" + TET.replace("1.\nCT", "1.,1\nCT"))
    np.testing.assert_allclose(mesh.points[3], [0.0, 0.0, 1.0])
    assert said == "systems of displacements (CD, line 6): holds are along x, y, z here"


def test_a_deck_without_an_end_is_said() -> None:
    mesh, _ = foreign.parse_foreign("d.bdf", TET.encode())
    assert mesh.remarks[0] == "has no ENDDATA at its end: it may be cut off"


def test_cells_with_half_of_their_middles_are_refused() -> None:
    assert refused(TET.replace("3,4\n", "3,4,1,2\n")) == (
        "'d.bdf', line 5: CTETRA: cells with some nodes in the middle of edges are not read, got 4 of 10"
        " without; mesh with all or none"
    )


def test_groups_of_points_and_cells() -> None:
    text = "SET 3 = 1 THRU 6 EXCEPT 2,\n 8\nSET 4 = 7\nCEND\nBEGIN BULK\n" + CUBE
    text += "SPC1,11,123,1,2,3\nSPC1,11,3,4\nSPC1,12,3,5,THRU,8\nSPC,13,1,123,0.,2,12,0.\nSPCADD,20,11,13\n"
    text += "SET1,30,1,THRU,8,BY,2\nSET3,31,ELEM,7\nSET3,32,GRID,1,2\nFORCE,40,6,0,1.,0.,0.,1.\n"
    text += "$ Femap with NX Nastran Property 2 : Steel block\nPSOLID,2,1\n"
    mesh, said = read(text)
    named = {name: (nodes + 1).tolist() for name, nodes in mesh.bodies.items()}
    assert named["SPC1_11"] == [1, 2, 3, 4]
    assert named["SPC1_12"] == [5, 6, 7, 8]
    assert named["SPC_13"] == [1, 2]
    assert named["SPCADD_20"] == [1, 2, 3, 4]
    assert named["SET1_30"] == [1, 3, 5, 7]
    assert named["SET3_32"] == [1, 2]
    assert named["FORCE_40"] == [6]
    assert named["SET_3"] == [1, 3, 4, 5, 6, 8]
    assert {*mesh.cell_bodies} == {"property_2", "Steel block", "SET3_31", "SET_4_elements"}
    assert "passed over PSOLID (line 26)" in said


@pytest.mark.parametrize(
    ("corner", "across", "axis", "place"),
    [(1, 3, 2, 0.0), (5, 7, 2, 1.0), (1, 6, 1, 0.0), (2, 7, 0, 1.0), (8, 3, 1, 1.0), (8, 1, 0, 0.0)],
)
def test_a_pressure_names_a_face(corner: int, across: int, axis: int, place: float) -> None:
    mesh, _ = read(f"{CUBE}PLOAD4,50,7,1.,,,,{corner},{across}\n")
    rows, others = mesh.boundary_of("PLOAD4_50")
    assert (len(rows), others) == (1, 0)
    np.testing.assert_array_equal(mesh.points[mesh.boundary()[rows[0]], axis], place)


def test_a_pressure_in_a_plane_names_nodes() -> None:
    flat = TET.replace("GRID,4,,0.,0.,1.", "GRID,4,,1.,1.,0.").replace(
        "CTETRA,9,5,1,2,3,4", "CQUAD4,9,5,1,2,4,3"
    )
    mesh, said = read(f"{flat}PLOAD,2,1.,1,2,4,3\n")
    np.testing.assert_array_equal(mesh.bodies["PLOAD_2"], [0, 1, 2, 3])
    assert "PLOAD_2" not in mesh.facet_bodies
    assert "'PLOAD_2' has faces that are no sides of these cells: it names nodes here" in said


def test_other_faces() -> None:
    mesh, _ = read(f"{TET}PLOAD4,1,9,1.,,,,1,4\nPLOAD,2,1.,1,3,4\nBSURFS,3,,,,9,2,3,4\n")
    for name, axis in (("PLOAD4_1", 2), ("PLOAD_2", 0)):
        rows, _ = mesh.boundary_of(name)
        np.testing.assert_array_equal(mesh.points[mesh.boundary()[rows[0]], axis], 0.0)
    np.testing.assert_array_equal(mesh.bodies["BSURFS_3"], [1, 2, 3])
    assert refused(f"{CUBE}PLOAD4,50,7,1.,,,,1,2\n").endswith(
        "the face of its cell is not clear; give G1 and the corner across the face"
    )


@pytest.mark.parametrize("card", sorted(nastran_cards.REFUSED))
def test_each_refused_card_is_refused_by_name(card: str) -> None:
    name = card.replace("-", "1")
    said = refused(f"{TET}{name},1,2\n")
    assert said == f"'d.bdf', line 6: {name}: {nastran_cards.REFUSED[card]}"


def test_each_card_has_one_verdict() -> None:
    tables = [nastran_cards.READ, nastran_cards.REFUSED.keys(), nastran_cards.SAID, nastran_cards.OTHER]
    every = [card for table in tables for card in table]
    assert len(every) == len({*every}) > 500
    for card in (*nastran_cards.READ, *nastran_cards.REFUSED):
        others = [word for table in tables[2:] for word in table]
        assert not [word for word in others if word.endswith("-") and card.startswith(word[:-1])]
    assert nastran_cards.verdict_of("XYZ")[0] == "refused"


def test_what_is_not_there_is_named() -> None:
    assert refused(TET.replace("3,4\n", "3,6\n")).endswith(
        "CTETRA: has point 6, which is not there; save the mesh whole"
    )
    assert refused(TET + "GRID,2,,5.,0.,0.\n").endswith("point 2 stands twice, at two places; renumber one")
    assert refused(TET + "CTETRA,9,5,1,2,3,4\n").endswith("element 9 stands twice; renumber one")
    assert refused(TET + "SPC1,1,3,77\n").endswith("names 77, which is not there; save the mesh whole")
    assert refused("GRID,1,,0.,0.,0.\n").endswith("there are no cells; save the mesh with its elements")
    assert refused(TET.replace("GRID,2,,1.", "GRID,2,,x")).endswith(
        "field 4 must be a number, got 'x'; save it again"
    )


@pytest.mark.parametrize("name", [n for n in gmsh_decks.NAMES if n not in ("hexahedron27", "quad9")])
def test_decks_of_gmsh_are_its_meshes(name: str, tmp_path: Path) -> None:
    """Small fields have five to seven digits; without BEGIN BULK, and PIDs are numbers of entities."""
    gmsh_decks.compare(name, tmp_path, "bdf", {}, 1e-6)
