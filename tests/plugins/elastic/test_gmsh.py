"""Gmsh's files: text and bytes read alike, groups become bodies, and a damaged file is refused, never worse.

The files in `meshes/` were written by Gmsh (`meshes/generate.py`) for shapes whose measures are known.
"""

import random
import struct
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import meshio
import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files.gmsh import read
from minusgrad_elastic.mesh_files.inspection import inspect

FILES = Path(__file__).parents[2] / "meshes"


def load(name: str, **options: bool) -> tuple[Mesh, list[str]]:
    return inspect(read(name, (FILES / name).read_bytes()), **options)


@pytest.mark.parametrize("name", ["plate", "block", "washer"])
def test_text_and_bytes_are_the_same_mesh(name: str) -> None:
    text, binary = (load(f"{name}{kind}.msh", drop_unused=True)[0] for kind in ("", "_binary"))
    np.testing.assert_allclose(text.points, binary.points, rtol=1e-15, atol=1e-15)
    for one, other in ((text.bodies, binary.bodies), (text.cell_bodies, binary.cell_bodies)):
        assert list(one) == list(other)
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert np.array_equal(text.cells, binary.cells)
    assert np.array_equal(text.node_tags, binary.node_tags)
    assert np.array_equal(text.cell_tags, binary.cell_tags)


def test_groups_of_the_plate_are_bodies() -> None:
    mesh, remarks = load("plate.msh")
    x, y = mesh.points.T
    steel, rubber = x <= 2.0, x >= 2.0
    around_hole = (np.abs(x - 1.0) <= 0.25) & (np.abs(y - 0.5) <= 0.25)
    expected = {
        "pin": (x == 0.0) & (y == 0.0), "clamp": x == 0.0, "hole": around_hole, "pull": x == 3.0,
        "steel": steel, "rubber": rubber, "all of it": steel | rubber, "group_8": x == 3.0,
    }  # fmt: skip
    assert {n: nodes.tolist() for n, nodes in mesh.bodies.items()} == {
        n: np.flatnonzero(where).tolist() for n, where in expected.items()
    }
    assert remarks == []
    volumes = {name: mesh.volumes()[cells].sum() for name, cells in mesh.cell_bodies.items()}
    assert volumes == pytest.approx({"steel": 1.75, "rubber": 1.0, "all of it": 2.75})
    assert mesh.node_tags is not None
    assert mesh.node_tags.min() > 1000
    assert (np.diff(mesh.node_tags) < 0).any()


def test_groups_of_the_block_are_bodies_and_nameless_ones_are_told_apart() -> None:
    mesh, _ = load("block.msh")
    x, y, z = mesh.points.T
    expected = {
        "core": x <= 1.0, "shell": x >= 1.0, "grip": x == 0.0, "group_7_surface": z == 1.0,
        "group_7_curve": (x == 2.0) & (y == 0.0),
    }  # fmt: skip
    assert {name: set(nodes.tolist()) for name, nodes in mesh.bodies.items()} == {
        name: set(np.flatnonzero(where).tolist()) for name, where in expected.items()
    }
    assert {name: mesh.volumes()[cells].sum() for name, cells in mesh.cell_bodies.items()} == pytest.approx(
        {"core": 1.0, "shell": 1.0}
    )


PIPE = 0.75 * np.pi
KINDS = {
    "kinds": (["quadrilaterals", "triangles"], [9, 17], 2.0, 1e-14),
    "kinds_8": (["8-node quadrilaterals", "6-node triangles"], [9, 17], 2.0, 1e-14),
    "quadrangles": (["quadrilaterals"], [6], 1.0, 1e-14),
    "quadrangles_binary": (["quadrilaterals"], [6], 1.0, 1e-14),
    "order_2": (["6-node triangles"], [14], 1.0, 1e-14),
    "quarter": (["6-node triangles"], [119], 4.0 - np.pi / 16.0, 1e-5),
    "quarter_binary": (["6-node triangles"], [119], 4.0 - np.pi / 16.0, 1e-5),
    "pipe_6": (["wedges"], [12], 2.25, 1e-14),
    "pipe_8": (["hexahedra"], [6], 2.25, 1e-14),
    "pipe_10": (["10-node tetrahedra"], [54], PIPE, 1e-4),
    "pipe_20": (["20-node hexahedra"], [6], PIPE, 2e-4),
    "pipe_27": (["27-node hexahedra"], [6], PIPE, 2e-4),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_cell_is_read_with_its_curved_edges(name: str) -> None:
    """Wrongly numbered nodes would make other volumes: those of curved cells are nearly the body's."""
    kinds, counts, volume, off = KINDS[name]
    mesh, _ = load(f"{name}.msh")
    assert [kind.name for kind in mesh.kinds] == kinds
    assert [len(block) for block in mesh.blocks] == counts
    assert mesh.volumes().sum() == pytest.approx(volume, rel=off)
    assert mesh.least_jacobians().min() > 0.0
    assert len(mesh.cell_tags) == mesh.count


@pytest.mark.parametrize("name", [n for n in KINDS if "binary" not in n])
def test_nodes_of_cells_are_in_the_order_of_meshio(name: str) -> None:
    found, mesh = meshio.read(FILES / f"{name}.msh"), read(name, (FILES / f"{name}.msh").read_bytes())
    for block in mesh.blocks:
        others = [
            one.data
            for one in found.cells
            if one.dim == mesh.dimension and one.data.shape[1] == block.shape[1]
        ]
        places = found.points[np.concatenate(others)][..., : mesh.dimension]
        np.testing.assert_array_equal(mesh.points[block], places)


def test_curved_edges_and_groups_keep_their_nodes() -> None:
    """Nodes between corners are members of bodies, and lie on the circle."""
    mesh, _ = load("quarter.msh")
    hole, x, y = mesh.bodies["hole"], *mesh.points.T
    np.testing.assert_allclose(np.linalg.norm(mesh.points[hole], axis=1), 0.5, rtol=1e-12)
    middles = np.setdiff1d(hole, np.unique(mesh.cells[:, :3]))
    assert len(middles) == 3
    assert set(mesh.bodies["right"].tolist()) == set(np.flatnonzero(x == 2.0).tolist())
    assert set(mesh.bodies["bottom"].tolist()) == set(np.flatnonzero(y == 0.0).tolist())
    pair, _ = load("kinds.msh")
    areas = {name: pair.volumes()[cells].sum() for name, cells in pair.cell_bodies.items()}
    assert areas == pytest.approx({"left": 1.0, "right": 1.0})


def test_idle_nodes_are_refused_or_left_out() -> None:
    with pytest.raises(UserError) as caught:
        load("washer.msh")
    assert str(caught.value) == (
        "'washer.msh': nodes of no cell, which have no mass (1 of 37): 0 (tags 1); set drop_unused, or save "
        "without them (Gmsh: Mesh.SaveAll = 0)"
    )
    mesh, remarks = load("washer.msh", drop_unused=True)
    assert remarks == [
        "'washer.msh': nodes of no cell (1 of 37): 0 (tags 1); they are left out",
        "'washer.msh': body 'centre' had no other nodes",
    ]
    assert mesh.points[mesh.bodies["ends"]].tolist() == [[1.0, 0.0]]
    assert mesh.node_tags is not None
    assert mesh.node_tags.tolist() == list(range(2, 38))


TEXT = """$MeshFormat
4.1 0 8
$EndMeshFormat
$Comments
Two triangles; tags are sparse and in no order; 3 groups, one of two entities, one of both dimensions.
$EndComments
$PhysicalNames
3
1 5 "side"
2 6 "sheet µ"
2 9 "side"
$EndPhysicalNames
$Entities
0 1 2 0
7 0 0 3 1 0 3 1 5 0
8 0 0 3 1 1 3 2 6 -9 1 7
3 0 0 3 1 1 3 1 6 0
$EndEntities
$Nodes
2 4 7 4000000000
1 7 1 2
900
7
0 0 3 0.25
1 0 3 0.75
2 8 0 2
4000000000
12
1 1 3
0 1 3
$EndNodes
$Elements
3 3 1 77
1 7 1 1
1 900 7
2 3 2 1
30 900 7 4000000000
2 8 2 1
77 900 4000000000 12
$EndElements
$NodeData
1
"ignored"
$EndNodeData
$NodeData
$EndNodeData
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", " \n "])
def test_sparse_tags_parameters_and_groups_of_several_entities(newline: str) -> None:
    mesh, remarks = inspect(read("two.msh", TEXT.replace("\n", newline).encode()))
    assert mesh.points.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert mesh.cells.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert {n: nodes.tolist() for n, nodes in mesh.bodies.items()} == {
        "side": [0, 1, 2, 3],
        "sheet µ": [0, 1, 2, 3],
    }
    assert {n: cells.tolist() for n, cells in mesh.cell_bodies.items()} == {"side": [1], "sheet µ": [0, 1]}
    assert remarks == []


CURE = "elements of order 1 and 2 are read (prisms and pyramids of order 1): mesh with -order 1 or -order 2"
CONVERT = "write it as 4.1: gmsh version_{0}.msh -save -format msh41 -o NEW.msh"
WHOLE = "save it whole: Mesh > Unpartition, in Python gmsh.model.mesh.unpartition()"
REFUSED_FILES = {
    "version_2.2.msh": f"$MeshFormat, line 2: MSH version 2.2 is not read; {CONVERT.format('2.2')}",
    "version_4.0.msh": f"$MeshFormat, line 2: MSH version 4 is not read; {CONVERT.format('4.0')}",
    "order_3.msh": f"$Elements: 20 lines of order 3, 119 triangles of order 3; {CURE}",
    "partitioned.msh": f"$PartitionedEntities, line 16: the mesh is in parts; {WHOLE}",
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_other_files_of_gmsh_are_refused_with_the_cure(name: str) -> None:
    with pytest.raises(UserError) as caught:
        load(name)
    assert str(caught.value) == f"'{name}', {REFUSED_FILES[name]}"


def edited(old: str, new: str) -> bytes:
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new).encode()


FORMAT = "no Gmsh mesh begins like this; it says $MeshFormat, then version, type and size"
CUT = "the file is cut off or damaged"
SPACE = "triangles are meshed in a plane z = constant, bodies in space with -3"
ALL_ELEMENTS = TEXT[TEXT.index("3 3 1 77") : TEXT.index("$EndElements")]
DAMAGE = {
    "line 1": (b"", f"$MeshFormat, line 1: {FORMAT}"),
    "other format": (b"solid cube", f"$MeshFormat, line 1: {FORMAT}"),
    "format open": (edited("$EndMeshFormat\n", ""), f"$MeshFormat, line 3: $EndMeshFormat is missing; {CUT}"),
    "unknown open": (
        edited("$Nodes\n", "$Knots\n"), "$Knots, line 19: the file ends without $EndKnots; it is cut off"),
    "no head": (edited("$Elements\n", ""), "$EndElements, line 39: this section has no beginning"),
    "no elements": (edited(ALL_ELEMENTS, "0 0 0 0\n"), "$Elements: there are no elements"),
    "cut off": (
        TEXT[: TEXT.index("$EndElements")].encode(),
        "$Elements, line 32: the file ends without $EndElements; it is cut off"),
    "twice": (
        edited("$NodeData\n$EndNodeData\n", "$Nodes\n$EndNodes\n"),
        "$Nodes, line 45: this section stands twice; save one mesh into one file"),
    "word": (edited("\n12\n", "\n1x\n"), "$Nodes, line 28: '1x' is not a number"),
    "fraction": (edited("\n12\n", "\n1.5\n"), "$Nodes, line 28: a count or tag should stand here"),
    "negative": (edited("\n12\n", "\n-2\n"), "$Nodes, line 28: a count or tag should stand here"),
    "inexact": (edited("\n12\n", f"\n{2**53 + 2}\n"), "$Nodes, line 28: a count or tag should stand here"),
    "twin tags": (edited("\n12\n", "\n7\n"), "$Nodes: node tags are used twice: 7"),
    "too few": (edited("2 8 0 2\n", "2 8 0 3\n"), f"$Nodes, line 29: numbers needed here: 9, left: 5; {CUT}"),
    "huge": (
        edited("2 8 0 2\n", f"2 8 0 {10**15}\n"),
        f"$Nodes, line 27: numbers needed here: {10**15}, left: 8; {CUT}"),
    "beyond": (edited("2 8 0 2\n", "2 8 0 1e300\n"), "$Nodes, line 26: a count or tag should stand here"),
    "dimension": (
        edited("2 8 0 2\n", "5 8 0 2\n"),
        "$Nodes, line 27: the block above has dimension 5 and 'parametric' 0"),
    "too many": (
        edited("0 1 3\n$", "0 1 3 4\n$"),
        "$Nodes, line 30: numbers are left over; a count in this section is too small"),
    "nodes": (edited("2 4 7 4", "2 5 7 4"), "$Nodes: 4 nodes stand here, 5 are announced"),
    "in space": (
        edited("0 1 3\n$", "0 1 4\n$"), f"$Nodes: the triangles lie in space (z from 3 to 4); {SPACE}"),
    "nowhere": (
        edited("0 1 3\n$", "0 1 nan\n$"), f"$Nodes: the triangles lie in space (z from nan to nan); {SPACE}"),
    "missing": (
        edited("77 900 4", "77 901 4"), "$Elements: elements with missing nodes (1): 77; no nodes 901"),
    "elements": (edited("3 3 1 77", "3 4 1 77"), "$Elements: 3 elements stand here, 4 are announced"),
    "type": (edited("2 8 2 1\n", "2 8 99 1\n"), f"$Elements, line 39: 1 elements of Gmsh's type 99; {CURE}"),
    "mixed up": (
        edited("2 8 2 1\n", "1 8 2 1\n"),
        "$Elements, line 39: the block above has elements of type 2 in an entity of dimension 1"),
    "entity": (
        edited("2 8 2 1\n", "2 5 2 1\n"),
        "$Elements: entities (dimension, tag) that $Entities does not know: [(2, 5)]"),
    "lines only": (
        edited(ALL_ELEMENTS, "1 1 1 1\n1 7 1 1\n1 900 7\n"),
        "$Elements: there are no surfaces or volumes; mesh surfaces (-2) or volumes (-3)"),
    "unquoted": (
        edited('2 6 "sheet', "2 6 sheet"),
        '$PhysicalNames, line 10: here should stand: dimension, tag, "name"'),
    "names": (
        edited('3\n1 5 "side"', '4\n1 5 "side"'),
        "$PhysicalNames: 3 names stand here, another number is announced; it is cut off or damaged"),
    "entities": (
        edited("0 1 2 0\n", "0 1 9 0\n"), f"$Entities, line 18: numbers needed here: 1, left: 0; {CUT}"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_text_is_refused_with_its_place(damage: str) -> None:
    data, message = DAMAGE[damage]
    with pytest.raises(UserError) as caught:
        read("two.msh", data)
    assert str(caught.value) == f"'two.msh', {message}"


def test_a_file_without_a_mesh_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        read("two.msh", TEXT[: TEXT.index("$Elements")].encode())
    assert str(caught.value) == "'two.msh' has no section $Elements; it is cut off, or holds no mesh"


def test_a_file_without_entities_has_no_bodies() -> None:
    start, stop = TEXT.index("$PhysicalNames"), TEXT.index("$Nodes")
    mesh = read("two.msh", (TEXT[:start] + TEXT[stop:]).encode())
    assert (mesh.bodies, mesh.cell_bodies) == ({}, {})


def test_an_empty_name_is_no_name() -> None:
    mesh = read("two.msh", edited('1 5 "side"', '1 5 ""'))
    assert {name: nodes.tolist() for name, nodes in mesh.bodies.items()} == {
        "group_5": [0, 1], "sheet µ": [0, 1, 2, 3], "side": [0, 2, 3]
    }  # fmt: skip


def test_big_endian_files_are_refused() -> None:
    data = (FILES / "plate_binary.msh").read_bytes()
    swapped = data.replace(struct.pack("<i", 1), struct.pack(">i", 1), 1)
    with pytest.raises(UserError, match="of binary files only little-endian ones with 8-byte sizes are read"):
        read("plate.msh", swapped)
    with pytest.raises(UserError, match="of binary files only little-endian ones with 8-byte sizes are read"):
        read("plate.msh", data.replace(b"4.1 1 8", b"4.1 1 4"))


WOUNDED = ("plate.msh", "plate_binary.msh", "block.msh", "block_binary.msh")


def wounded(data: bytes, rng: random.Random) -> bytes:
    """The file cut off, or a few bytes of it changed, taken out, doubled, or made a huge number."""
    if rng.random() < 0.2:
        return data[: rng.randrange(len(data))]
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        k, length = rng.randrange(len(data)), rng.choice((1, 1, 2, 8, 200))
        middle = rng.choice((
            b"", data[k : k + length] * 2, rng.randbytes(length), data[k : k + 1] * 9, b"-", b"nan", b"1e300",
            b"9" * rng.choice((3, 18, 30, 5000)), struct.pack("<q", 10 ** rng.randrange(19)),
            b"\n$End", b"$", b'"',
        ))  # fmt: skip
        data = data[:k] + middle + data[k + rng.choice((0, len(middle), length)) :]
    return data


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", WOUNDED)
def test_no_wounded_file_does_more_than_to_be_refused(name: str) -> None:
    rng, whole, refusals = random.Random(name), (FILES / name).read_bytes(), []
    begin = time.perf_counter()
    for _ in range(500):
        try:
            mesh, _ = inspect(read(name, wounded(whole, rng)), drop_unused=True)
        except UserError as error:
            refusals.append(str(error))
        else:
            assert mesh.volumes().min() > 0.0
            assert mesh.lumped_masses(1.0).min() > 0.0
    assert len(refusals) > 250
    assert all(text.startswith(f"'{name}'") and len(text) < 1500 for text in refusals)
    assert time.perf_counter() - begin < 20.0


@pytest.mark.parametrize("word", ["9", "1.", "-", " ", '"', '" ', "$", "1e"])
def test_long_words_take_no_longer_than_they_are_long(word: str) -> None:
    begin = time.process_time()
    for place in ("12", '2 6 "s', "4.1", "$Comments", "$Elements", "0 1 2 0"):
        with suppress(UserError):
            read("two.msh", edited(f"\n{place}", f"\n{place}{word * 100_000}x"))
    assert time.process_time() - begin < 3.0


@pytest.mark.parametrize("name", WOUNDED)
def test_no_count_makes_the_reader_allocate_what_is_not_there(name: str) -> None:
    """Every word of the head of a section, one after another, becomes 10^15."""
    whole, huge = (FILES / name).read_bytes(), 10**15
    read(name, whole)  # what is loaded once does not count
    for section in (b"$Entities\n", b"$Nodes\n", b"$Elements\n"):
        start = whole.index(section) + len(section)
        for k in range(8):
            if "binary" in name:
                place = start + 8 * min(k, 4) + 4 * max(k - 4, 0)
                data = whole[:place] + struct.pack("<q", huge) + whole[place + 8 :]
            else:
                words = whole[start:].split(maxsplit=k + 1)
                data = whole[:start] + b" ".join([*words[:k], str(huge).encode(), *words[k + 1 :]])
            tracemalloc.start()
            with suppress(UserError):
                read(name, data)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 20 * len(whole)
