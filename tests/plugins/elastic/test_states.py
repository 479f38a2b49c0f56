"""Bodies from every kind of state: measures, units, kinds of cells; what is refused, and in which words."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import meshlane
import numpy as np
import pytest

import minusgrad
from minusgrad.app import cli
from minusgrad.app.results.run import Run
from minusgrad.app.runs import build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.check import term_check
from minusgrad.engine import memory
from minusgrad.errors import SceneError, pip_line
from minusgrad_elastic.mesh import Mesh
from tests.support import foreign_files
from tests.support.continuum import Moduli, outward, principal
from tests.support.foreign_files import named_mesh

FILES = Path(__file__).parents[2] / "meshes"

HEAD = """\
plugins = ["elastic"]
[units]
system = "si"
[state]
"""
RECTANGLE = 'kind = "rectangle"\nsize = [2.0, 0.5]\ncells = [3, 2]\ndensity = 3.0\n'
BOX = 'kind = "box"\nsize = [1.0, 2.0, 3.0]\ncells = [2, 2, 3]\ndensity = 3.0\n'
BEAM = 'kind = "beam"\nlength = 10.0\nwidth = 1.0\nheight = 0.5\ncells = [8, 2, 1]\ndensity = 3.0\n'
DISC = 'kind = "disc"\nradius = 2.0\nrings = 3\ndensity = 3.0\n'
SOLID = '[[energy]]\nkind = "neo_hookean"\nyoungs_modulus = 100.0\npoissons_ratio = 0.3\n'
TAIL = '[stepper]\nkind = "leapfrog"\ndt = 0.001\n[run]\nsteps = 2\n'


def from_file(file: str, kind: str = "gmsh", length: str = "m") -> str:
    return f'kind = "{kind}"\nfile = "{file}"\nlength = "{length}"\ndensity = 3.0\n'


@pytest.fixture
def scene(tmp_path: Path) -> Callable[..., Path]:
    """A scene file of some state, energies and more, with the meshes beside it."""

    def write(state: str = RECTANGLE, energies: str = SOLID, more: str = "", head: str = HEAD) -> Path:
        for name in re.findall(r'file = "([\w.]+\.msh)"', state):
            if (FILES / name).exists():
                (tmp_path / name).write_bytes((FILES / name).read_bytes())
        path = tmp_path / "scene.toml"
        path.write_text(head + state + energies + TAIL + more)
        return path

    return write


# Measures ------------------------------------------------------------------------------------------------

# space, volume (in the plane: area), measure of the boundary, bodies
SIDES = ["left", "right", "bottom", "top"]
BODIES = {
    "rectangle": (RECTANGLE, 2, 1.0, 5.0, SIDES),
    "box": (BOX, 3, 6.0, 22.0, [*SIDES[:2], "front", "back", *SIDES[2:]]),
    "beam": (BEAM, 3, 5.0, 31.0, [*SIDES[:2], "front", "back", *SIDES[2:]]),
    "disc": (DISC, 2, 36.0 * np.sin(np.pi / 9.0), 72.0 * np.sin(np.pi / 18.0), ["centre", "rim"]),
    "gmsh": (from_file("plate.msh"), 2, 2.75, 10.0,
             ["pin", "clamp", "hole", "pull", "group_8", "steel", "all of it", "rubber"]),
    "gmsh in space": (from_file("block.msh"), 3, 2.0, 10.0,
                      ["group_7_curve", "grip", "group_7_surface", "core", "shell"]),
    "gmsh, turned over": (from_file("clockwise.msh"), 2, 1.0, 4.0, []),
    "mesh": (from_file("plate.msh", "mesh"), 2, 2.75, 10.0,
             ["pin", "clamp", "hole", "pull", "group_8", "steel", "all of it", "rubber"]),
}  # fmt: skip
EVERY = pytest.mark.parametrize("kind", BODIES)
ORIGIN, VELOCITY = [5.0, -2.0, 1.0], [0.5, 0.25, -1.0]


def made(scene: Callable, kind: str, thickness: float | None = None) -> BuiltScene:
    text, d, *_ = BODIES[kind]
    moved = f"origin = {ORIGIN[:d]}\nvelocity = {VELOCITY[:d]}\n"
    energies = SOLID + 'tuples = "cells"\n'
    return build(scene(text + moved + (f"thickness = {thickness}\n" if thickness else ""), energies))


@EVERY
def test_measures(scene, kind: str) -> None:
    """Masses, volumes and areas sum to those of the shape; the surface is closed; gradients make F = I."""
    _, d, volume, measure, bodies = BODIES[kind]
    for thickness in (None, 0.02) if d == 2 else (None,):
        simulation = made(scene, kind, thickness)
        state, thick = simulation.state, thickness or 1.0
        x, m, cells = state.fields["x"], state.fields["m"], state.tuples["cells"]
        assert x.shape == state.fields["v"].shape == (len(m), d)
        assert m.min() > 0.0
        assert m.sum() == pytest.approx(3.0 * volume * thick, rel=1e-13)
        data = state.data["cells"]
        corners = x[cells]
        exact = np.linalg.det(corners[:, 1:] - corners[:, :1]) / (2.0 if d == 2 else 6.0)
        np.testing.assert_allclose(data["volume"], exact * thick, rtol=1e-9)
        assert data["volume"].sum() == pytest.approx(volume * thick, rel=1e-12)
        F = np.einsum("eai,eaj->eij", corners - np.array(ORIGIN[:d]), data["gradients"])
        assert np.abs(F - np.eye(d)).max() < 1e-11
        facets, areas = state.tuples["boundary"], state.data["boundary"]["area"]
        vectors = outward(Mesh(x, cells), facets)
        np.testing.assert_allclose(areas, np.linalg.norm(vectors, axis=1) * thick, rtol=1e-9)
        assert areas.sum() == pytest.approx(measure * thick, rel=1e-12)
        assert np.abs(vectors.sum(axis=0)).max() < 1e-13 * measure
        pairs = {tuple(sorted((a, b))) for row in cells.tolist() for a in row for b in row if a != b}
        edges = state.tuples["edges"]
        assert list(map(tuple, edges.tolist())) == sorted(pairs)
        apart = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        np.testing.assert_allclose(state.data["edges"]["rest"], apart, rtol=1e-12)
        assert [b.name for b in state.bodies] == bodies
        assert all(len(b.nodes) and b.nodes.min() >= 0 and b.nodes.max() < len(m) for b in state.bodies)


@EVERY
def test_a_body_lies_where_it_is_put_and_moves_as_one(scene, kind: str) -> None:
    text, d, *_ = BODIES[kind]
    moved = made(scene, kind).state
    fields = build(scene(text, SOLID + 'tuples = "cells"\n')).state.fields
    np.testing.assert_array_equal(moved.fields["x"], fields["x"] + np.array(ORIGIN[:d]))
    np.testing.assert_array_equal(moved.fields["v"], np.tile(VELOCITY[:d], (len(fields["x"]), 1)))
    assert not fields["v"].any()
    assert moved.units == {"x": "m", "v": "m s^-1", "m": "kg"}
    assert moved.labels == {"x": "position", "v": "velocity", "m": "mass"}
    assert moved.shown == ("cells",)


@EVERY
def test_every_body_is_at_rest_where_it_begins(scene, kind: str) -> None:
    """Solids and springs: no energy, no force; so its gradients, volumes and lengths are of one shape."""
    springs = '[[energy]]\nkind = "spring"\nstiffness = 10.0\n'
    simulation = build(scene(BODIES[kind][0], SOLID + 'tuples = "cells"\n' + springs))
    assert simulation.potential.value() < 1e-12
    assert np.abs(simulation.potential.gradient("x")).max() < 1e-11


def test_a_body_falls_freely(scene, tmp_path: Path) -> None:
    """Leapfrog is exact: x = x0 + v t + a t^2 / 2 for every node, in millimetres and grams as in SI."""
    weight = '[[energy]]\nkind = "body_force"\nacceleration = ["1 m/s^2", "-9.81 m/s^2"]\n'
    text = RECTANGLE.replace("3.0", '"3 kg/m^3"').replace("[2.0, 0.5]", '["2 m", "50 cm"]')
    text += 'velocity = ["0.5 m/s", "2 m/s"]\norigin = ["10 cm", 0.0]\n'
    solid = SOLID.replace("100.0", '"100 Pa"')
    frames = '[[observe]]\nkind = "frames"\nevery = 100\n'
    ends = {}
    for name, units, size in (("si", "", 1.0), ("mm", 'length = "mm"\nmass = "g"\n', 1e-3)):
        head = HEAD.replace('system = "si"\n', units)
        path = scene(text, solid + weight, frames, head)
        run = minusgrad.run(path, {"run.steps": 200}, out=tmp_path / name)
        x = run.series("particles/all/position").value * size
        fall = np.array([0.5, 2.0]) * 0.2 + 0.5 * np.array([1.0, -9.81]) * 0.04
        np.testing.assert_allclose(x[-1], x[0] + fall, rtol=0.0, atol=1e-12)
        assert x[0].min(axis=0) == pytest.approx([0.1, 0.0], abs=1e-15)
        ends[name] = x[-1], run.simulation.fields["m"].values * (1e-3 if size < 1.0 else 1.0)
    np.testing.assert_allclose(ends["mm"][0], ends["si"][0], rtol=1e-12)
    np.testing.assert_allclose(ends["mm"][1], ends["si"][1], rtol=1e-13)
    assert ends["si"][1].sum() == pytest.approx(3.0, rel=1e-13), "a sheet of 1 m, whatever the unit of length"


def test_a_run_without_units_asks_for_none(scene) -> None:
    text = from_file("plate.msh").replace('length = "m"\n', "")
    state = build(scene(text, STEEL, head=HEAD.replace('"si"', '"dimensionless"'))).state
    assert state.fields["x"].max() == pytest.approx(3.0, rel=1e-15)


@pytest.mark.parametrize("kind", ["gmsh", "mesh"])
def test_the_numbers_of_a_file_are_in_its_own_unit(scene, kind: str) -> None:
    """A plate of 2.75 mm^2 x 1 mm, in a run in cm and grams and in SI."""
    text = from_file("plate.msh", kind, "mm") + 'thickness = "1 mm"\n'
    text, solid = text.replace("3.0", '"3 g/cm^3"'), SOLID.replace("100.0", '"100 Pa"') + 'tuples = "cells"\n'
    si = build(scene(text, solid)).state
    cm = build(scene(text, solid, head=HEAD.replace('system = "si"\n', 'length = "cm"\nmass = "g"\n'))).state
    assert si.data["cells"]["volume"].sum() == pytest.approx(2.75e-9, rel=1e-12)
    assert si.fields["m"].sum() == pytest.approx(3000.0 * 2.75e-9, rel=1e-12)
    assert si.fields["x"].max() == pytest.approx(3e-3, rel=1e-15)
    assert si.data["boundary"]["area"].sum() == pytest.approx(10e-6, rel=1e-12)
    assert cm.data["cells"]["volume"].sum() == pytest.approx(2.75e-3, rel=1e-12)
    assert cm.fields["m"].sum() == pytest.approx(8.25e-3, rel=1e-12)
    there, here = (s.data["cells"]["gradients"] for s in (cm, si))
    np.testing.assert_allclose(100.0 * there, here, atol=1e-12 * here.max())
    np.testing.assert_allclose(cm.data["edges"]["rest"], si.data["edges"]["rest"] * 100.0, rtol=1e-12)
    plain = build(scene(from_file("plate.msh", kind), SOLID + 'tuples = "cells"\n')).state
    assert plain.fields["x"].max() == pytest.approx(3.0, rel=1e-15), "the run's unit, if nothing is said"


# Kinds of cells ------------------------------------------------------------------------------------------

STEEL = SOLID.replace("100.0", "200.0") + 'name = "of_steel"\ntuples = "steel"\n'
RUBBER = SOLID.replace("neo_hookean", "st_venant_kirchhoff") + 'name = "of_rubber"\ntuples = "rubber"\n'
SOFT, HARD = Moduli(E=100.0), Moduli(E=200.0)


@pytest.mark.parametrize("kind", ["gmsh", "mesh"])
def test_two_materials_cover_every_cell_once(scene, kind: str) -> None:
    simulation = build(scene(from_file("plate.msh", kind), STEEL + RUBBER))
    potential, state = simulation.potential, simulation.state
    rows = {name: potential.terms[name].elements.nodes for name in ("of_steel", "of_rubber")}
    covered = np.concatenate(list(rows.values()))
    assert sorted(map(tuple, covered.tolist())) == sorted(map(tuple, state.tuples["cells"].tolist()))
    x = state.fields["x"]
    assert x[rows["of_steel"]][:, :, 0].max() == 2.0 == x[rows["of_rubber"]][:, :, 0].min()
    assert state.data["steel"]["volume"].sum() == pytest.approx(1.75, rel=1e-13)
    assert state.data["rubber"]["volume"].sum() == pytest.approx(1.0, rel=1e-13)
    F = np.array([[1.3, 0.2], [-0.1, 0.9]])
    simulation.fields["x"].set(x @ F.T)
    energies = potential.by_term()
    assert energies["of_steel"] == pytest.approx(1.75 * principal("neo_hookean", F).energy(HARD), rel=1e-12)
    rubber = principal("st_venant_kirchhoff", F).energy(SOFT)
    assert energies["of_rubber"] == pytest.approx(1.0 * rubber, rel=1e-12)


def test_a_kind_of_cells_and_a_body_of_that_name_are_the_same_cells(scene) -> None:
    by_body = build(
        scene(from_file("plate.msh"), STEEL.replace('tuples = "steel"', 'tuples = "cells"\nbody = "steel"'))
    )
    by_kind = build(scene(from_file("plate.msh"), STEEL))
    np.testing.assert_array_equal(*(s.potential.terms["of_steel"].elements.nodes for s in (by_body, by_kind)))


def test_where_a_mesh_has_several_kinds_the_scene_says_which(scene) -> None:
    path = scene(from_file("plate.msh"), SOLID)
    assert (
        complaint(path)
        == f"{path}:9:3: energy.0: say which `tuples` (there are: cells, edges, boundary, steel, rubber)"
    )


@pytest.mark.parametrize("name", ["cells", "edges", "boundary"])
def test_a_kind_of_cells_may_not_take_the_place_of_a_list(scene, tmp_path: Path, name: str) -> None:
    text = (FILES / "plate.msh").read_text().replace('"rubber"', f'"{name}"')
    path = scene(from_file("o.msh"), STEEL)
    (tmp_path / "o.msh").write_text(text)
    assert complaint(path) == (
        f"{path}:4:2: state: 'o.msh': its cells '{name}' are called like a list of every body; rename them"
    )


# Files of others -----------------------------------------------------------------------------------------


def complaint(path: Path, overrides: tuple[str, ...] = ()) -> str:
    """What is wrong with a scene."""
    with pytest.raises(SceneError) as refused:
        build(path, overrides)
    return str(refused.value)


def test_both_ways_to_read_gmsh_agree(scene) -> None:
    """`pull` and `group_8` are two groups of one line."""
    one, other = (build(scene(from_file("plate.msh", kind), STEEL)).state for kind in ("gmsh", "mesh"))
    for name in ("x", "m"):
        np.testing.assert_allclose(other.fields[name], one.fields[name], rtol=1e-15)
    assert one.tuples.keys() == other.tuples.keys()
    assert all(np.array_equal(one.tuples[name], other.tuples[name]) for name in one.tuples)
    theirs, ours = ({b.name: b.nodes.tolist() for b in state.bodies} for state in (other, one))
    assert theirs == ours


@pytest.mark.parametrize("ending", ["vtk", "vtu", "inp", "mesh"])
@pytest.mark.parametrize("name", ["plate.msh", "washer.msh"])
def test_a_mesh_comes_back_from_other_formats(scene, tmp_path: Path, name: str, ending: str) -> None:
    ours = build(scene(from_file(name) + "drop_unused = true\n", SOLID + 'tuples = "cells"\n')).state
    cells = [("triangle", ours.tuples["cells"])]
    flat = np.column_stack([ours.fields["x"], np.zeros(len(ours.fields["x"]))])
    meshlane.Mesh(flat, cells).write(tmp_path / f"other.{ending}")
    theirs = build(scene(from_file(f"other.{ending}", "mesh"), SOLID + 'tuples = "cells"\n')).state
    np.testing.assert_allclose(theirs.fields["x"], ours.fields["x"], rtol=1e-9)
    assert np.array_equal(theirs.tuples["cells"], ours.tuples["cells"])
    np.testing.assert_allclose(theirs.fields["m"], ours.fields["m"], rtol=1e-8)


def test_a_unit_that_a_file_states_is_taken_with_a_remark(scene, tmp_path: Path) -> None:
    text = from_file("a.med", "mesh").replace('length = "m"\n', "")
    path = scene(text, SOLID + 'tuples = "cells"\n')
    (tmp_path / "a.med").write_bytes(foreign_files.med(named_mesh(2, 4), "mm              mm"))
    built = build(path)
    assert np.ptp(built.fields["x"].values, axis=0).tolist() == pytest.approx([1.3e-3, 1.2e-3], rel=1e-9)
    assert "'a.med': its coordinates are in mm, as it states" in built.starting.remarks
    (tmp_path / "a.med").write_bytes(foreign_files.med(named_mesh(2, 4), "furlong"))
    assert "length: needs the unit of the coordinates, which 'a.med' does not state" in complaint(path)


def test_both_states_read_msh_2_with_its_groups(scene) -> None:
    one, other = (
        build(scene(from_file("version_2.2.msh", kind), SOLID + 'tuples = "cells"\n')).state
        for kind in ("gmsh", "mesh")
    )
    assert [body.name for body in one.bodies] == [body.name for body in other.bodies]
    np.testing.assert_array_equal(one.fields["x"], other.fields["x"])


def test_sets_of_points_and_cells_are_bodies(scene, tmp_path: Path) -> None:
    """Abaqus: a set of nodes, a set of cells; tetrahedra."""
    box = build(scene(BOX)).state
    sets = {"grip": np.array([0, 3, 5])}
    half = [np.arange(5, 20)]
    other = meshlane.Mesh(
        box.fields["x"], [("tetra", box.tuples["cells"])], point_sets=sets, cell_sets={"core": half}
    )
    other.write(tmp_path / "other.inp")
    state = build(scene(from_file("other.inp", "mesh"), SOLID + 'tuples = "core"\n')).state
    bodies = {b.name: b.nodes.tolist() for b in state.bodies}
    assert bodies["grip"] == [0, 3, 5]
    assert bodies["core"] == sorted(set(box.tuples["cells"][5:20].ravel().tolist()))
    np.testing.assert_array_equal(state.tuples["core"], box.tuples["cells"][5:20])


def test_without_meshlane_the_extra_is_named(scene, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "meshlane", None)
    path = scene(from_file("version_2.2.msh"), STEEL)
    assert complaint(path) == f"{path}:4:2: state: 'version_2.2.msh': needs meshlane: {pip_line('mesh')}"
    assert build(scene(from_file("plate.msh"), STEEL)).state, "and the reader of one's own needs it not"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("other.xyzzy", "",
         "must be a mesh format of one file, got '.xyzzy' (.avs, .bdf, .cdb, .dat, .dato, .e, .ex2, .exo,"
         " .f3grid, .fem, .inp, .mdpa, .med, .mesh, .meshb, .msh, .nas, .obj, .off, .ply, .post, .stl, .su2,"
         " .tec, .ugrid, .vol, .vtk, .vtu, .wkt); save it as VTU, or as Gmsh's MSH 4.1"),
        ("lines.vtk", "# vtk DataFile Version 2.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 2 float\n"
         "0 0 0\n1 0 0\nCELLS 1 3\n2 0 1\nCELL_TYPES 1\n3\n",
         "no cells of a kind that is read (triangle, triangle6, quad, quad8, quad9, tetra, tetra10, pyramid,"
         " wedge, hexahedron, hexahedron20, hexahedron27), got line"),
        ("cut.vtk", "# vtk DataFile Version 2.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 2 float\n0 0 0\n",
         "meshlane cannot read it: cannot reshape array of size 3 into shape (2,3)"),
    ],
)  # fmt: skip
def test_what_meshlane_cannot_read_is_told_in_one_line(scene, tmp_path, capfd, file, text, message) -> None:
    path = scene(from_file(file, "mesh"))
    if text is not None:
        (tmp_path / file).write_text(text)
    assert complaint(path) == f"{path}:4:2: state: '{file}': {message}"
    assert capfd.readouterr() == ("", "")


POINTS = np.array(
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0]]
)


def test_cells_of_another_kind_are_not_left_out_silently(scene, tmp_path: Path) -> None:
    cells = [("triangle", np.array([[0, 1, 2], [0, 2, 3]])), ("polygon", np.array([[1, 4, 5, 2, 2]]))]
    meshlane.Mesh(POINTS, cells).write(tmp_path / "mixed.vtk")
    path = scene(from_file("mixed.vtk", "mesh"))
    assert complaint(path) == (
        f"{path}:4:2: state: 'mixed.vtk': 1 polygons of 5 nodes (VTK's type 7) cannot be cells; mesh with"
        " kinds of cells that are read"
    )


def test_triangles_in_space_are_refused(scene, tmp_path: Path) -> None:
    bent = POINTS[:4] + np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 0.0]])
    meshlane.Mesh(bent, [("triangle", np.array([[0, 1, 2], [0, 2, 3]]))]).write(tmp_path / "bent.vtk")
    path = scene(from_file("bent.vtk", "mesh"))
    assert complaint(path) == (
        f"{path}:4:2: state: 'bent.vtk': the triangles lie in space; they are meshed in a plane z = constant"
    )


# Remarks -------------------------------------------------------------------------------------------------

TURNED = "'clockwise.msh': all 14 cells were inverted; they are turned over"


def test_what_was_done_to_a_mesh_is_told(scene, tmp_path: Path, capsys) -> None:
    path = scene(from_file("clockwise.msh"))
    assert TURNED in minusgrad.run(path, out=tmp_path / "run").remarks
    assert cli.main(["run", str(path), "--out", str(tmp_path / "announced")]) == 0
    assert f"minusgrad: {TURNED}\n" in capsys.readouterr().err
    washer = scene(from_file("washer.msh") + "drop_unused = true\n")
    assert build(washer).starting.remarks == [
        "'washer.msh': nodes of no cell (1 of 37): 0 (tags 1); they are left out",
        "'washer.msh': body 'centre' had no other nodes",
    ]


# What is refused -----------------------------------------------------------------------------------------

NU = (
    "is not within (-1, 0.5); 0.5 is incompressible, its lambda infinite: take 0.49 at most, and know that"
    " cells lock"
)
WEIGHT = '[[energy]]\nkind = "body_force"\nacceleration = {}\n'
PULL = '[[energy]]\nkind = "traction"\ntraction = [1.0, 0.0]\n'
LOAD = '[[energy]]\nkind = "load"\nforce = [1.0, 0.0]\n'
SEEN = '[[observe]]\nkind = "energy_density"\nevery = 5\n'
ABOVE = "needs a quantity above 0, not"

REFUSED = {
    "nu of an incompressible solid": (
        RECTANGLE, SOLID.replace("0.3", "0.5"),
        f"12:18: energy.0: neo_hookean.poissons_ratio: 0.5 {NU}"),
    "nu beyond": (
        RECTANGLE, SOLID.replace("0.3", "0.6"),
        f"12:18: energy.0: neo_hookean.poissons_ratio: 0.6 {NU}"),
    "nu of a solid that cannot be bulged": (
        RECTANGLE, SOLID.replace("0.3", "-1.0"),
        f"12:18: energy.0: neo_hookean.poissons_ratio: -1.0 {NU}"),
    "nu of another solid": (
        RECTANGLE, SOLID.replace("0.3", "0.5").replace("neo_hookean", "st_venant_kirchhoff"),
        f"12:18: energy.0: st_venant_kirchhoff.poissons_ratio: 0.5 {NU}"),
    "a negative modulus": (
        RECTANGLE, SOLID.replace("100.0", "-1.0"),
        f"11:18: energy.0.youngs_modulus: {ABOVE} -1.0"),
    "no modulus": (
        RECTANGLE, SOLID.replace("100.0", "0.0"),
        f"11:18: energy.0.youngs_modulus: {ABOVE} 0.0"),
    "a modulus of another unit": (
        RECTANGLE, SOLID.replace("100.0", "'5 N'"),
        "11:18: energy.0.youngs_modulus: '5 N' is a force, but 'Pa' (pressure) is needed"),
    "no density": (
        RECTANGLE.replace("3.0", "0.0"), SOLID,
        f"8:11: state.density: {ABOVE} 0.0"),
    "no thickness": (
        RECTANGLE + "thickness = 0.0\n", SOLID,
        f"9:13: state.thickness: {ABOVE} 0.0"),
    "a thickness in space": (
        BOX + "thickness = 0.1\n", SOLID,
        "9:13: state: thickness: a body in space has none; leave it out"),
    "an origin of one number": (
        RECTANGLE + "origin = [1.0]\n", SOLID,
        "9:10: state: origin: 1 numbers for 2 axes"),
    "a velocity of three": (
        RECTANGLE + "velocity = [1.0, 2.0, 3.0]\n", SOLID,
        "9:12: state: velocity: 3 numbers for 2 axes"),
    "a negative size": (
        RECTANGLE.replace("0.5", "-0.5"), SOLID,
        f"6:14: state.size.1: {ABOVE} -0.5"),
    "no cells along an axis": (
        RECTANGLE.replace("2]", "0]"), SOLID,
        "7:13: state.cells.1: needs a number of at least 1, not 0"),
    "no rings": (
        DISC.replace("rings = 3", "rings = 0"), SOLID,
        "7:9: state.rings: needs a whole number of at least 1, not 0"),
    "a list that is not there": (
        RECTANGLE, SOLID + 'tuples = "steel"\n',
        "9:3: energy.0: no list of tuples named 'steel' (there are: cells, edges, boundary, surface)"),
    "a solid of no cells": (
        RECTANGLE, SOLID + 'body = "top"\n',
        "9:3: energy.0: neo_hookean: none of its 12 tuples lies in its bodies; name other bodies"),
    "a body that is not there": (
        RECTANGLE, SOLID + LOAD + 'body = "tip"\n',
        "13:3: energy.1: no body named 'tip'; did you mean 'top'? (there are: left, right, bottom, top)"),
    "a physical group that is not there": (
        from_file("plate.msh"), STEEL + LOAD + 'body = "steal"\n',
        "15:3: energy.1: no body named 'steal'; did you mean 'steel'? (there are: pin, clamp, hole, pull,"
        " group_8, steel, all of it, rubber)"),
    "a hold of a body that is not there": (
        RECTANGLE, SOLID + '[[hold]]\nbody = "lefd"\n',
        "13:3: hold.0: no body named 'lefd'; did you mean 'left'? (there are: left, right, bottom, top)"),
    "a load on no nodes": (
        RECTANGLE, SOLID + LOAD + "body = []\n",
        "13:3: energy.1: body = [] names no body; leave it out for all nodes"),
    "a traction on no facets": (
        DISC, SOLID + PULL + 'body = "centre"\n',
        "13:3: energy.1: traction: none of its 18 tuples lies in its bodies; name other bodies"),
    "a traction of cells": (
        RECTANGLE, SOLID + PULL + 'tuples = "cells"\nbody = "right"\n',
        "13:3: energy.1: traction: none of its 12 tuples lies in its bodies; name other bodies"),
    "a weight that is no vector": (
        RECTANGLE, SOLID + WEIGHT.format("9.81"),
        "15:16: energy.1.acceleration: needs a list, not 9.81"),
    "a weight of three components in the plane": (
        RECTANGLE, SOLID + WEIGHT.format("[0.0, 0.0, -9.81]"),
        "15:16: energy.1: body_force.acceleration: one value needs shape [2], got [3]; reshape it"),
    "a solid of edges": (
        RECTANGLE, SOLID + 'tuples = "edges"\n',
        "9:3: energy.0: neo_hookean.volume: needs a value for each element, got none; give `data`"),
    "a ball without a size": (
        RECTANGLE,
        SOLID + '[[energy]]\nkind = "sphere"\ncentre = [0.0, 0.0]\nradius = 0.0\nstiffness = 1.0\n',
        f"16:10: energy.1.radius: {ABOVE} 0.0"),
    "a mesh that is not there": (
        from_file("nowhere.msh"), SOLID,
        "4:2: state: cannot read 'nowhere.msh' (No such file or directory); paths start at the scene's"
        " folder"),
    "a mesh from elsewhere": (
        from_file("../plate.msh"), SOLID,
        "4:2: state: '../plate.msh' lies outside the scene's folder; copy it there"),
    "a mesh in kilograms": (
        from_file("plate.msh", length="kg"), STEEL,
        "4:2: state: '1 kg' is a mass, but 'm' (length) is needed"),
    "a mesh in no unit": (
        from_file("plate.msh").replace('length = "m"\n', ""), STEEL,
        "4:2: state: length: needs the unit of the coordinates, which 'plate.msh' does not state; write"
        ' length = "mm", or the unit in which it was drawn'),
    "a mesh with idle nodes": (
        from_file("washer.msh"), SOLID,
        "4:2: state: 'washer.msh': nodes of no cell, which have no mass (1 of 37): 0 (tags 1); set"
        " drop_unused, or save without them (Gmsh: Mesh.SaveAll = 0)"),
    "a mesh of another version": (
        from_file("version_4.0.msh"), SOLID,
        "4:2: state: 'version_4.0.msh', $MeshFormat, line 2: MSH version 4 is not read; write it as 4.1: gmsh"
        " version_4.0.msh -save -format msh41 -o NEW.msh"),
    "the densities of no solid": (
        RECTANGLE, '[[energy]]\nkind = "spring"\nstiffness = 1.0\n' + SEEN,
        "12:3: observe.0: energy_density: no cells with volumes and an energy of F, got lists: none"),
    "the densities of a term that is not there": (
        RECTANGLE, SOLID + SEEN + 'term = "neo"\n',
        "13:3: observe.0: energy_density: no term 'neo' of cells with volumes and an energy of F, got lists:"
        " cells (neo_hookean)"),
    "the densities of springs": (
        RECTANGLE, SOLID + '[[energy]]\nkind = "spring"\nstiffness = 1.0\n' + SEEN + 'term = "spring"\n',
        "16:3: observe.0: energy_density: no term 'spring' of cells with volumes and an energy of F, got"
        " lists: cells (neo_hookean)"),
    "the densities of no list": (
        RECTANGLE, SOLID + SEEN + 'cells = "edges"\n',
        "13:3: observe.0: energy_density: 'edges' is no list of cells with volumes and an energy of F, got"
        " lists: cells (neo_hookean)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_refused_with_place_and_cure(scene, case: str) -> None:
    state, energies, message = REFUSED[case]
    path = scene(state, energies)
    assert complaint(path) == f"{path}:{message}"


def test_counts_that_do_not_fit_are_refused_before_anything_is_made(scene, monkeypatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: memory.Free(1_000_000))
    for text, place, count, need in (
        (RECTANGLE.replace("[3, 2]", "[50, 20]"), "7:9: state.cells", 2000, "2 MB"),
        (BOX.replace("[2, 2, 3]", "[10, 10, 2]"), "7:9: state.cells", 1200, "1.2 MB"),
        (BEAM.replace("[8, 2, 1]", "[100, 2, 1]"), "9:9: state.cells", 1200, "1.2 MB"),
        (DISC.replace("rings = 3", "rings = 20"), "7:9: state.rings", 2400, "2.4 MB"),
    ):
        path = scene(text)
        assert complaint(path) == (f"{path}:{place}: {count} cells: {need} of memory needed, 1 MB free")
    assert build(scene(RECTANGLE.replace("[3, 2]", "[20, 20]"))).state


def test_a_mesh_beyond_this_machine(scene) -> None:
    """Each count alone would fit."""
    path = scene(BOX.replace("[2, 2, 3]", "[100000, 100000, 100000]"))
    message = rf"{path}:7:9: state\.cells: 6{'0' * 15} cells: 6e\+06 TB of memory needed, \S+ .B free"
    assert re.fullmatch(message, complaint(path))


def msh(points: list, triangles: list) -> str:
    """A file of Gmsh's of some nodes in the plane, tags from 1, and triangles of nodes from 0."""
    n, e = len(points), len(triangles)
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Nodes", f"1 {n} 1 {n}", f"2 1 0 {n}"]
    lines += [str(k + 1) for k in range(n)] + [f"{x} {y} 0" for x, y in points]
    lines += ["$EndNodes", "$Elements", f"1 {e} 1 {e}", f"2 1 2 {e}"]
    lines += [f"{k + 1} {a + 1} {b + 1} {c + 1}" for k, (a, b, c) in enumerate(triangles)]
    return "\n".join([*lines, "$EndElements", ""])


SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("points", "triangles", "message"),
    [
        ([*SQUARE, [1.5, 0.5]], [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]],
         "inverted cells (1 of 4): 1 (tags 2), at (1.167, 0.5); they fold over others or themselves; untangle"
         " the mesh, or mesh again there"),
        (SQUARE, [[0, 1, 2], [0, 2, 3], [1, 2, 0]],
         "cells that are there already (1 of 3): 2 (tags 3); remove the copies "
         "(gmsh.model.mesh.removeDuplicateElements)"),
        ([*SQUARE, [5, 5]], [[0, 1, 2], [0, 2, 3]],
         "nodes of no cell, which have no mass (1 of 5): 4 (tags 5); set drop_unused, or save without them "
         "(Gmsh: Mesh.SaveAll = 0)"),
        ([*SQUARE, [0.5, 0.5]], [[0, 1, 2], [0, 2, 3], [0, 4, 2]],
         "cells without volume (1 of 3): 2 (tags 3), at (0.5, 0.5); mesh again there"),
    ],
)  # fmt: skip
def test_a_mesh_that_is_not_sound(scene, tmp_path: Path, points, triangles, message: str) -> None:
    path = scene(from_file("bad.msh"))
    (tmp_path / "bad.msh").write_text(msh(points, triangles))
    assert complaint(path) == f"{path}:4:2: state: 'bad.msh': {message}"


def test_fbar_needs_cells_with_several_points(scene) -> None:
    path = scene(RECTANGLE, SOLID + "fbar = true\n")
    assert complaint(path) == (
        f"{path}:13:8: energy.0: fbar: needs cells with several quadrature points, got none; use"
        " quadrilaterals, hexahedra or cells of order 2, or leave `fbar` out"
    )
    assert build(scene(RECTANGLE + 'cell = "quadrilaterals"\n', SOLID + "fbar = true\n")).potential


def test_a_sound_mesh_by_hand(scene, tmp_path: Path) -> None:
    path = scene(from_file("good.msh"))
    (tmp_path / "good.msh").write_text(msh(SQUARE, [[0, 1, 2], [0, 2, 3]]))
    np.testing.assert_allclose(build(path).fields["m"].values, [1.0, 0.5, 1.0, 0.5], rtol=1e-15)


def test_a_traction_of_a_body_finds_the_boundary_by_itself(scene) -> None:
    """Of the lists only `boundary` has areas, so that it need not be named."""
    path = scene(RECTANGLE, SOLID + PULL + 'body = "right"\n')
    force = -build(path).potential.gradient("x")
    np.testing.assert_allclose(force.sum(axis=0), [0.5, 0.0], atol=1e-14)


def test_the_command_line_tells_a_mistake_and_ends_with_2(scene, capsys) -> None:
    path = scene(RECTANGLE, SOLID.replace("0.3", "0.5"))
    assert cli.main(["run", str(path)]) == 2
    assert capsys.readouterr() == ("", f"{path}:12:18: energy.0: neo_hookean.poissons_ratio: 0.5 {NU}\n")


# Checks --------------------------------------------------------------------------------------------------

ACTED_ON = (
    SOLID + 'tuples = "cells"\n' + '[[energy]]\nkind = "spring"\nstiffness = 10.0\n'
    + WEIGHT.format("[0.5, -9.81]") + PULL + 'body = "right"\n'
    + '[[energy]]\nkind = "sphere"\ncentre = [1.0, -0.5]\nradius = 0.8\nstiffness = 1e3\n'
    + '[[energy]]\nkind = "floor"\nheight = 0.1\nstiffness = 1e3\n'
)  # fmt: skip


@pytest.mark.parametrize("deformed", [False, True])
def test_every_gradient_of_a_scene_is_true(scene, deformed: bool) -> None:
    simulation = build(scene(RECTANGLE, ACTED_ON))
    x = simulation.fields["x"]
    if deformed:
        noise = 0.03 * np.random.default_rng(1).normal(size=x.shape)
        x.set(x.values @ np.array([[1.1, 0.3], [-0.2, 0.9]]).T + noise)
    found = list(term_check.of_potential(simulation.potential))
    assert {f.term for f in found} == {"neo_hookean", "spring", "body_force", "traction", "sphere", "floor"}
    assert [f.text for f in found if not f.passed] == []


@pytest.mark.long
def test_check_from_the_command_line(scene, capsys) -> None:
    assert cli.main(["check", str(scene(RECTANGLE, SOLID))]) == 0
    assert ", 0 findings" in capsys.readouterr().out


# Energy density ------------------------------------------------------------------------------------------

LOOKS = '[[observe]]\nkind = "frames"\nevery = 5\n[[observe]]\nkind = "energies"\nevery = 5\n'
HELD = '[[hold]]\nbody = "{}"\nvelocity = [-20.0, 5.0]\n[[hold]]\nbody = "{}"\nvelocity = [20.0, -5.0]\n'


def densities(run: Run, cells: str, material: str, m: Moduli) -> float:
    """The recorded densities are those of F, cell by cell at every look; the energy of the last."""
    state = run.simulation.state
    rows, data = state.tuples[cells], state.data[cells]
    found, places = run.series(f"cells/{cells}/energy_density"), run.series("particles/all/position")
    assert found.step.tolist() == [0, 5, 10]
    assert found.value.shape == (3, len(rows))
    for seen, x in zip(found.value, places.value, strict=True):
        F = np.einsum("eai,eaj->eij", x[rows], data["gradients"])
        expected = np.array([principal(material, one).energy(m) for one in F])
        np.testing.assert_allclose(seen, expected, rtol=1e-10, atol=1e-12 * m.E)
    assert np.ptp(found.value[-1]) > 0.0
    assert found.value[-1].max() > 1e-3 * m.E
    return float((found.value * data["volume"]).sum(axis=1)[-1])


def test_energy_density(scene, tmp_path: Path) -> None:
    """psi of each cell of a body that is being pulled; times the volumes it is the term's energy."""
    path = scene(RECTANGLE + "thickness = 0.25\n", SOLID + HELD.format("left", "right"), SEEN + LOOKS)
    run = minusgrad.run(path, {"run.steps": 10}, out=tmp_path / "run")
    total = densities(run, "cells", "neo_hookean", SOFT)
    assert total == pytest.approx(run.series("observables/potential/neo_hookean").value[-1], rel=1e-12)


def test_energy_density_of_two_materials(scene, tmp_path: Path) -> None:
    which = [SEEN + f'term = "of_{name}"\n' for name in ("steel", "rubber")]
    path = scene(
        from_file("plate.msh"), STEEL + RUBBER + HELD.format("clamp", "pull"), "".join(which) + LOOKS
    )
    run = minusgrad.run(path, {"run.steps": 10, "stepper.dt": 0.002}, out=tmp_path / "run")
    for name, material, m in (("steel", "neo_hookean", HARD), ("rubber", "st_venant_kirchhoff", SOFT)):
        total = densities(run, name, material, m)
        assert total == pytest.approx(run.series(f"observables/potential/of_{name}").value[-1], rel=1e-12)


def test_the_densities_of_a_solid_that_is_one_kind_of_the_cells(scene, tmp_path: Path) -> None:
    part = STEEL.replace('tuples = "steel"', 'tuples = "cells"\nbody = "steel"')
    run = minusgrad.run(scene(from_file("plate.msh"), part, SEEN), out=tmp_path / "run")
    assert run.series("cells/steel/energy_density").value.shape == (2, 102)


def test_energy_density_has_a_unit(scene, tmp_path: Path) -> None:
    head = HEAD.replace('system = "si"\n', 'length = "mm"\nmass = "g"\ntime = "ms"\n')
    path = scene(RECTANGLE, SOLID, SEEN, head)
    run = minusgrad.run(path, out=tmp_path / "run")
    assert minusgrad.files.trajectory.symbols(run.folder, "cells/cells/energy_density")[0] == "mm^-1 g ms^-2"
