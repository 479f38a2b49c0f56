"""`minusgrad info FILE`: what a mesh contains, as numbers known on paper."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from minusgrad import hookimpl
from minusgrad.app import file_info
from minusgrad.assembly.registry import Registry
from minusgrad.errors import PluginError, UserError
from minusgrad_elastic import generators
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files import contents, quality
from tests.plugins.elastic.test_abaqus import CUBE
from tests.support import gmsh_decks

pytestmark = pytest.mark.unit

REGULAR = {
    "triangles": ([[0, 0], [1, 0], [0.5, 3**0.5 / 2]], 2),
    "quadrilaterals": ([[0, 0], [1, 0], [1, 1], [0, 1]], 2),
    "tetrahedra": ([[0, 0, 0], [1, 0, 0], [0.5, 3**0.5 / 2, 0], [0.5, 3**0.5 / 6, (2 / 3) ** 0.5]], 3),
    "pyramids": ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 0.5**0.5]], 3),
    "wedges": ([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (0.5, 3**0.5 / 2))], 3),
    "hexahedra": ([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], 3),
}


@pytest.mark.parametrize("name", REGULAR)
def test_the_quality_of_a_regular_cell_is_one_whatever_its_size_and_place(name: str) -> None:
    points, d = REGULAR[name]
    cells = np.arange(len(points))[None].astype(np.int32)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]
    turn[0] *= np.sign(np.linalg.det(turn))
    mesh = Mesh(3.0 * np.array(points) @ turn + 2.0, cells)
    assert mesh.kinds[0].name == name
    np.testing.assert_allclose(quality.corner_quality(mesh), 1.0, rtol=1e-12)
    mirrored = Mesh(np.array(points, float) * [-1.0, *[1.0] * (d - 1)], cells)
    np.testing.assert_allclose(quality.corner_quality(mirrored), -1.0, rtol=1e-12)


def test_a_box_on_paper() -> None:
    """A box of 2 x 1 x 1 in 4 x 2 x 2 parts of 6 tetrahedra: 96 cells, area 10.

    Edges (1, 0, 0), (1, 1, 0), (1, 1, 1) at a corner: q = sqrt 2 / (1 sqrt 2 sqrt 3) = 1 / sqrt 3.
    """
    found = contents.describe(generators.box((2.0, 1.0, 1.0), (4, 2, 2), "tetrahedra", 1))
    assert found["volume"] == pytest.approx(2.0)
    assert found["box"] == {"from": [0.0, 0.0, 0.0], "to": [2.0, 1.0, 1.0]}
    assert found["cells"] == [{"kind": "tetrahedra", "number": 96, "volume": pytest.approx(2.0), "nodes": 45}]
    assert found["sides"][-1] == {
        "side": "(whole boundary)",
        "facets": 80,
        "area": pytest.approx(10.0),
        "nodes": 42,
        "surface": "closed",
        "inside": 0,
    }
    assert {row["set"]: row["nodes"] for row in found["sets"]}["left"] == 9
    assert found["orientation"] == {"turned": 0, "of": 96, "tangled": 0}
    assert found["duplicate nodes"]["number"] == found["unused nodes"]["number"] == 0
    assert found["quality"]["least"] == pytest.approx(3.0**-0.5)


def test_faults_are_counted() -> None:
    """One of two triangles is turned, a node is there twice, and one belongs to no cell."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [5.0, 5.0]])
    found = contents.describe(Mesh(points, np.array([[0, 1, 2], [3, 5, 4]])))
    assert found["orientation"] == {"turned": 1, "of": 2, "tangled": 0}
    assert found["duplicate nodes"] == {"number": 2, "first": "3, 5", "within": pytest.approx(5e-12)}
    assert found["unused nodes"] == {"number": 1, "first": "6"}
    assert found["box"]["to"] == [1.0, 1.0]
    assert found["quality"]["least"] > 0.0
    assert found["area"] == pytest.approx(1.0)


def test_the_worst_cell_is_named_with_its_place() -> None:
    """A quadrilateral with a corner pushed through a diagonal."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0], [1.2, 0.2]])
    found = contents.describe(Mesh(points, np.array([[0, 1, 2, 3], [1, 4, 5, 2]], np.int32)))
    worst = found["quality"]
    assert worst["worst cell"] == 1
    assert worst["least"] < 0.0
    assert worst["at"] == pytest.approx([1.3, 0.3])
    assert found["orientation"]["tangled"] == 1


@pytest.mark.parametrize("ending", ["msh", "inp", "vtk", "bdf"])
def test_it_prints_several_formats(ending: str, tmp_path: Path, invoke) -> None:
    gmsh_decks.write_pair("tetra10", tmp_path, ending)
    code, out, err = invoke("info", tmp_path / f"tetra10.{ending}")
    assert code == 0
    assert out.startswith(f"tetra10.{ending}\n  mesh: ")
    assert "length: not stated in the file; say it in the scene: [state] length" in out
    assert "10-node tetrahedra" in out
    assert "(whole boundary)" in out
    code, out, _ = invoke("info", tmp_path / f"tetra10.{ending}", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["volume"] == pytest.approx(3.14, rel=2e-3)
    assert found["sides"][-1]["surface"] == "closed"
    assert err == ""


def test_a_side_is_open_and_a_skin_closed(tmp_path: Path, invoke) -> None:
    text = CUBE + "*Surface, name=skin\nbrick\n*Surface, name=three\nbrick, S1\nbrick, S3\nbrick, S5\n"
    (tmp_path / "c.inp").write_text(text)
    found = json.loads(invoke("info", tmp_path / "c.inp", "--json")[1])
    rows = {row["side"]: row for row in found["sides"]}
    assert (rows["skin"]["surface"], rows["skin"]["facets"], rows["skin"]["area"]) == ("closed", 6, 6.0)
    assert (rows["three"]["surface"], rows["three"]["area"], rows["three"]["nodes"]) == ("open", 3.0, 8)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.inp", "*Node\n1, 0., x\n", "minusgrad: 'a.inp', line 2: *Node: must be numbers, got '0., x'"),
        ("a.vtk", "nothing\n", "minusgrad: 'a.vtk': meshlane cannot read it: "),
        ("a.msh", "$MeshFormat\n4.1 0 8\n", "minusgrad: 'a.msh', $MeshFormat"),
        ("a.txt", "", "minusgrad: 'a.txt': must be a run folder or a file ending in "),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_line(name: str, text: str, said: str, tmp_path: Path, invoke) -> None:
    (tmp_path / name).write_text(text)
    code, out, err = invoke("info", tmp_path / name)
    assert (code, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_a_plugin_describes_its_files_and_two_owners_are_refused() -> None:
    registry = Registry.load([], [])
    one = ModuleType("one")
    one.register_file_descriptions = hookimpl(lambda: {".abc": lambda file, data: {"bytes": len(data)}})  # type: ignore[attr-defined]
    registry.add(one)
    assert file_info.endings_described(registry)[".abc"]("a", b"12") == {"bytes": 2}
    two = ModuleType("two")
    two.register_file_descriptions = one.register_file_descriptions  # type: ignore[attr-defined]
    registry.add(two)
    with pytest.raises(PluginError, match=r"describes files '.abc', as another plugin does"):
        file_info.endings_described(registry)


def test_a_mesh_without_cells_or_with_missing_nodes_is_refused() -> None:
    with pytest.raises(UserError, match="there are no cells"):
        contents.describe(Mesh(np.zeros((3, 2)), np.zeros((0, 3), np.int32)))
    with pytest.raises(UserError, match="cells with missing nodes"):
        contents.describe(Mesh(np.zeros((3, 2)), np.array([[0, 1, 9]])))
