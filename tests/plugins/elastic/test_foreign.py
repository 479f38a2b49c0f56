"""Foreign mesh formats: those of one file are read, and no other file of the machine is opened."""

import os
import re
from pathlib import Path

import h5py
import meshlane
import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic.mesh_files import file_ends, foreign, formats, own_mesh, well_known_text
from minusgrad_elastic.mesh_files.inspection import inspect
from tests.support import cell_meshes

pytestmark = pytest.mark.unit

POINTS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
MESH = meshlane.Mesh(POINTS, [("tetra", np.array([[0, 1, 2, 3]]))])
XDMF = """<Xdmf Version="3.0"><Domain><Grid Name="g">
<Geometry GeometryType="XYZ">
<DataItem {0} Dimensions="4 3" NumberType="Float" Precision="8">{1}</DataItem></Geometry>
<Topology TopologyType="Tetrahedron" NumberOfElements="1">
<DataItem Format="XML" Dimensions="1 4" NumberType="Int">
0 1 2 3</DataItem></Topology></Grid></Domain></Xdmf>"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Points in a file of the machine that a mesh leads to, as bytes and as HDF5."""
    (tmp_path / "secret.bin").write_bytes(POINTS.tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["p"] = POINTS
    meshlane.Mesh(POINTS, [("tetra", np.array([[0, 1, 2, 3]]))]).write(tmp_path / "secret.inp")
    return tmp_path


def _refused(file: str, data: bytes) -> str:
    with pytest.raises(UserError) as refused:
        foreign.read_foreign(file, data)
    return str(refused.value)


def _refused_unbounded(file: str, data: bytes) -> str:
    """In this process, where meshlane can be changed."""
    with pytest.raises(UserError) as refused:
        foreign.parse_foreign(file, data)
    return str(refused.value)


@pytest.mark.parametrize("item", ['Format="Binary"', 'Format="HDF"'])
def test_xdmf_leads_nowhere(elsewhere: Path, item: str) -> None:
    """meshlane itself follows the absolute path: that is what makes the refusal needed."""
    leads = f"{elsewhere}/secret.bin" if "Binary" in item else f"{elsewhere}/secret.h5:/p"
    text = XDMF.format(item, leads)
    (elsewhere / "y.xdmf").write_text(text)
    np.testing.assert_array_equal(meshlane.read(elsewhere / "y.xdmf").points, POINTS)
    said = _refused("y.xdmf", text.encode())
    assert said.startswith("'y.xdmf': must be a mesh format of one file, got '.xdmf' (.avs, .bdf, ")
    assert said.endswith("; convert it: meshlane convert y.xdmf y.vtu")


def test_an_include_of_abaqus_leads_nowhere(elsewhere: Path) -> None:
    for text in (f"*INCLUDE, INPUT={elsewhere}/secret.inp\n", f"*include,input={elsewhere}/secret.inp\n"):
        (elsewhere / "y.inp").write_text(text)
        np.testing.assert_array_equal(meshlane.read(elsewhere / "y.inp").points, POINTS)
        said = _refused("y.inp", text.encode())
        assert said.startswith(f"'y.inp', line 1: {text[:8]}: the deck is one file here; put the text of the")


@pytest.mark.parametrize(
    "file",
    ["a.xmf", "a.h5m", "a.hmf", "a.cgns", "a.xml", "a.ele", "a.node", "a.vol.gz",
     "a.vtk.xdmf", "a.XDMF", "a.svg", "a", "vtk"],
)  # fmt: skip
def test_formats_of_several_files_are_refused_by_their_ending(file: str) -> None:
    assert f"'{file}': must be a mesh format of one file, got '{Path(file).suffix.lower()}'" in _refused(
        file, b""
    )


def test_every_format_of_meshlane_is_decided() -> None:
    """A new format of a later meshlane is refused until its reader has been read."""
    several = {*formats.SEVERAL}
    known = {one for formats in meshlane.extension_to_filetypes.values() for one in formats}
    assert known == {*formats.FORMATS, *several, "svg"}
    for name, endings in formats.FORMATS.items():
        assert all(name in meshlane.extension_to_filetypes[ending] for ending in endings)


def test_a_format_that_takes_over_an_ending_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(meshlane.extension_to_filetypes, ".vtk", ["vtk", "anything"])
    assert "must be a mesh format of one file, got '.vtk'" in _refused_unbounded("a.vtk", b"")


@pytest.mark.parametrize(
    "ending",
    ["avs", "bdf", "f3grid", "inp", "mdpa", "mesh", "meshb", "su2", "lb8.ugrid", "vol", "vtk", "vtu"],
)
def test_formats_of_one_file_open_one_file(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"box.{ending}"
    name = next(name for name, endings in formats.FORMATS.items() if path.suffix in endings)
    meshlane.write(path, MESH, file_format=name)
    opened = _opened_paths()
    mesh, _ = foreign.parse_foreign(path.name, path.read_bytes())
    files = {Path(one).name for one in opened if not Path(one).name.startswith("tmp")}  # without its folder
    assert files == {path.name}
    np.testing.assert_allclose(mesh.points[mesh.cells[0]], POINTS, atol=1e-6)


NAMES = {
    (2, 3): "triangle", (2, 6): "triangle6", (2, 4): "quad", (2, 8): "quad8", (2, 9): "quad9",
    (3, 4): "tetra", (3, 10): "tetra10", (3, 5): "pyramid", (3, 6): "wedge", (3, 8): "hexahedron",
    (3, 20): "hexahedron20",
    (3, 27): "hexahedron27",
}  # fmt: skip
"""meshlane's names of the kinds that are read."""


@pytest.mark.parametrize("kind", NAMES, ids=NAMES.values())
@pytest.mark.parametrize("ending", ["vtk", "vtu"])
def test_every_kind_of_cell_is_read_as_it_was_written(tmp_path: Path, kind, ending: str) -> None:
    mesh = cell_meshes.shaken(cell_meshes.mesh_of(*kind), 0.02)
    flat = np.zeros((len(mesh.points), 3 - kind[0]))
    written = meshlane.Mesh(np.concatenate([mesh.points, flat], axis=1), [(NAMES[kind], mesh.cells)])
    written.write(tmp_path / f"body.{ending}")
    found, remarks = inspect(
        foreign.read_foreign(f"body.{ending}", (tmp_path / f"body.{ending}").read_bytes())
    )
    np.testing.assert_array_equal(found.cells, mesh.cells)
    np.testing.assert_allclose(found.points, mesh.points, atol=1e-15)
    assert found.volumes().sum() == pytest.approx(1.0, rel=1e-12)
    assert remarks == []


_WATCHED: list[list[str]] = []


def _opened_paths() -> list[str]:
    """The paths that are opened from now on, by Python's audit hook, without modules that are imported."""
    import sys

    if not _WATCHED:
        sys.addaudithook(_watch)
    _WATCHED.append([])
    return _WATCHED[-1]


def _watch(event: str, arguments: tuple) -> None:
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        name = os.fspath(arguments[0])
        if not name.endswith((".py", ".pyc", ".so")) and _WATCHED:
            _WATCHED[-1].append(name)


def test_an_index_beyond_int32_does_not_wrap() -> None:
    cells = np.array([[0, 1, 2, 2**32 + 3]])
    found = meshlane.Mesh(POINTS, [("tetra", cells)], point_sets={})
    with pytest.raises(
        UserError, match=r"^'a.vtk': cells: must be below 2\^31, got 4294967299; count nodes from 0$"
    ):
        own_mesh.own_mesh("a.vtk", found)
    found = meshlane.Mesh(POINTS, [("tetra", cells % 4)], point_sets={"grip": np.array([2**32 + 3])})
    with pytest.raises(UserError, match=r"^'a.vtk': set 'grip': must be below 2\^31, got 4294967299"):
        own_mesh.own_mesh("a.vtk", found)


def test_an_entity_of_xml_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.vtu"
    MESH.write(path, file_format="vtu", binary=False)
    (tmp_path / "secret").write_text("0.5")
    text = (
        path.read_text()
        .replace(
            '<?xml version="1.0"?>',
            f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]>',
        )
        .replace("0.00000000000e+00", "&e;", 1)
    )
    assert "&e;" in text
    assert "meshlane cannot read it: " in _refused("a.vtu", text.encode())


@pytest.mark.parametrize("ending", ["ply", "off", "tec"])
def test_a_damaged_file_in_which_meshlane_loops_is_said_to_end(ending: str) -> None:
    """Its readers look for a line that is not there: 2 s of computing each, but for the end that is seen."""
    (path,) = (CORPUS / ending).glob("m_*")
    said = f"'a.{ending}': meshlane cannot read it: the file ends where more is needed"
    assert _refused(f"a.{ending}", path.read_bytes()) == said


@pytest.mark.parametrize("mode", ["r", "rb"])
def test_a_file_ends_once(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1 2\n3 4\n")
    with file_ends.open_within(path, mode) as file, open(path, mode) as plain:
        assert file.readline() == plain.readline()
        at = file.tell()
        assert list(file) == list(plain)
        file.seek(at)
        plain.seek(at)
        assert file.read(0) == plain.read(0)
        assert file.read() == plain.read()
        with pytest.raises(EOFError, match="the file ends where more is needed"):
            sum(map(len, iter(file.readline, None)))
    if mode == "rb":
        with file_ends.open_within(path, mode) as file:
            file.readline()
            assert np.fromfile(file, "u1", 3).tobytes() == b"3 4"
            assert file.read() == b"\n"


@pytest.mark.parametrize(("ending", "text"), [("vol", "mesh3d\npoints\n1\n"), ("obj", "f 1 2 9\n")])
def test_what_a_reader_raises_is_one_message(ending: str, text: str) -> None:
    said = _refused(f"a.{ending}", text.encode())
    assert said.startswith(f"'a.{ending}': ")
    assert "\n" not in said


def _tin(*rings: str) -> bytes:
    return f"TIN ({', '.join(f'(({ring}))' for ring in rings)})".encode()


RING = "0 0 0, 1e-05 0.0 0, 0 +1.5 -0., 0 0 0"


def test_well_known_text_is_read_with_the_exponents_that_meshlane_writes(tmp_path: Path) -> None:
    triangles = np.array([[0, 1, 2], [1, 3, 2]])
    flat = 1e-5 * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    meshlane.write(tmp_path / "a.wkt", meshlane.Mesh(flat, [("triangle", triangles)]))
    mesh = foreign.read_foreign("a.wkt", (tmp_path / "a.wkt").read_bytes())
    np.testing.assert_array_equal(mesh.points, flat[:, :2])
    np.testing.assert_array_equal(mesh.cells, triangles)
    wide = _tin(RING).replace(b",", b" ,\n").replace(b"(", b" (\t").strip() + b"\n"
    np.testing.assert_array_equal(foreign.read_foreign("a.wkt", wide).points, [[0, 0], [1e-5, 0], [0, 1.5]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"POINT (0 0)", "'a.wkt': must begin with 'TIN (', got 'POINT (0 0)'; save it as VTU"),
        (b"TIN ()", ", line 1: needs triangles ((x y z, x y z, x y z, x y z)), a comma"),
        (_tin(RING)[:-1], ", line 1: needs triangles"),
        (_tin(RING) + b"\nx", "', line 1: needs triangles"),
        (_tin(RING).replace(b"1.5", b"1.5.0"), "', line 1: needs triangles"),
        (_tin(RING).replace(b"1.5", b"nan"), "at the end, got '((0 0 0, 1e-05 0.0 0, 0 +nan"),
        (_tin(RING) * 2, "', line 1: needs triangles"),
        (_tin(RING, RING).replace(b"), (", b") ("), "', line 1: needs triangles"),
        (_tin(RING)[:-2] + b" 7)))", "'a.wkt', line 1: needs triangles"),
        (_tin(RING[:-1] + "1"), "triangle 1 must end where it begins, got (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)"),
        (_tin(RING, "0 0 0 1, 1 0 0 1, 0 1 0 1, 0 0 0 1"), "have as many numbers, got 3 and 4"),
    ],
)  # fmt: skip
def test_damaged_well_known_text_is_refused(text: bytes, said: str) -> None:
    assert said in _refused("a.wkt", text)


def test_well_known_text_is_looked_at_once() -> None:
    """Patterns that give nothing back: one that does took more than 2 s for the first of these."""
    damaged = _tin(*40 * [RING]).replace(b"0 0 0", b"0.000000 0.000000 0.000000")[:-6]
    assert "needs triangles" in _refused("a.wkt", damaged)
    for pattern in (well_known_text._HEAD, well_known_text._TRIANGLE, well_known_text._END):
        parts = re.sub(r"\[.*?\]", "", pattern.pattern)
        assert re.search(r"[*+}](?!\+)", re.sub(r"[*+?}]\+", "", parts)) is None


def test_warnings_that_quote_a_file_are_few_lines_that_a_terminal_can_show(capsys) -> None:
    """SU2's reader quotes each line that it does not know; by a stranger they were 200,000, and any bytes."""
    rows = "".join(f"\x1b[31m{'x' * 1000}{k}\n" for k in range(50))
    text = f"NDIME= 2\n{rows}NPOIN= 3\n0 0\n1 0\n0 1\nNELEM= 1\n5 0 1 2\n"
    foreign.read_foreign("a.su2", text.encode())
    said = capsys.readouterr().err
    lines = said.splitlines()
    assert len(lines) == foreign.MOST_REMARKS + 1
    assert "\x1b" not in said
    assert max(map(len, lines)) <= 200
    assert lines[0] == "Warning: meshlane could not parse line"
    assert lines[1].startswith("\\x1b[31mxxx")
    assert re.fullmatch(r"\.\.\. and \d+ lines more", lines[-1])
