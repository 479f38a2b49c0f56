"""Surfaces of triangles in space as thin shells: files, stretching, bending, pressure, on paper."""

from pathlib import Path

import meshlane
import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Potential, bind
from minusgrad.errors import UserError
from minusgrad_elastic.shells import surface_files
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh, prepared_surface
from minusgrad_shells import bending
from minusgrad_shells.surface_state import shell
from tests.support.both_engines import assert_engines_agree
from tests.support.round_surfaces import cylinder_sheet, round_ball, write_obj, write_ply, write_stl

E, NU, THICKNESS = 2.0e3, 0.3, 0.01
MODULI = {"youngs_modulus": E, "poissons_ratio": NU}
SCENE = """
[state]
kind = "surface"
file = "{file}"
length = "m"
density = "1000 kg/m^3"
thickness = "10 mm"
{more}
[[energy]]
kind = "shell_stretching"
youngs_modulus = "2 kPa"
poissons_ratio = 0.3
[[energy]]
kind = "shell_bending"
stiffness = "1e-4 J"
[[energy]]
kind = "pressure"
pressure = "-0.01 Pa"
[stepper]
{stepper}
[run]
steps = {steps}
[[observe]]
kind = "frames"
every = {steps}
"""
NEWTON = {"stepper": 'kind = "newton"', "steps": 30}


def made(points: np.ndarray, triangles: np.ndarray):
    """The state of a shell."""
    return shell(SurfaceMesh("a", points, triangles), 1.0, 1000.0, THICKNESS)


def potential_of(state, x: np.ndarray, kind: str) -> Potential:
    """U of stretching or bending at other places."""
    fields = Fields({"x": x})
    if kind == "stretching":
        given = {"tuples": state.tuples["triangles"], "parameters": MODULI}
        data, term = state.data["triangles"], bending.shell_stretching
    else:
        given = {"tuples": state.tuples["hinges"], "parameters": {"stiffness": 2.0}}
        data, term = state.data["hinges"], bending.shell_bending
    known = {name: values for name, values in data.items() if name in term.roles}
    return Potential(fields, [bind(term, fields, data=known, **given)])


def test_stretching_of_any_surface_by_one_factor() -> None:
    """E = (s^2 - 1) / 2 in both directions: U = A t E_0 / (1 - nu) E^2, in every triangle alike."""
    for points, triangles in (round_ball(3), cylinder_sheet(4, 1.0)):
        state, s = made(points, triangles), 1.01
        strain = (s * s - 1.0) / 2.0
        turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
        area = state.data["triangles"]["area"].sum()
        value = potential_of(state, s * points @ turn + 3.0, "stretching").value()
        assert value == pytest.approx(area * THICKNESS * E / (1.0 - NU) * strain**2, rel=1e-10)


def test_stretching_of_a_sheet_along_one_axis() -> None:
    """S = C E of plane stress: sigma = E_0 / (1 - nu^2) e along and nu times that across."""
    points, triangles = cylinder_sheet(3, 0.0)
    state, e = made(points, triangles), 1e-4
    pulled = points * [1.0 + e, 1.0, 1.0]
    green = e + e * e / 2.0
    value = potential_of(state, pulled, "stretching").value()
    assert value == pytest.approx(0.5 * THICKNESS * E / (1.0 - NU**2) * green**2, rel=1e-9)


def test_bending_of_a_cylinder_is_that_of_a_plate() -> None:
    """U = D/2 k^2 on a unit square; only n - 1 of n rows of edges fold. The rest falls by n^2."""
    errors = []
    for parts in (8, 16, 32):
        flat, bent = (cylinder_sheet(parts, k) for k in (0.0, 1.5))
        value = potential_of(made(*flat), bent[0], "bending").value() * parts / (parts - 1)
        errors.append(abs(value / (0.5 * 2.0 * 1.5**2) - 1.0))
    slope = np.polyfit(np.log([8, 16, 32]), np.log(np.array(errors) + 1e-16), 1)[0]
    assert errors[-1] < 1e-3
    assert slope == pytest.approx(-2.0, abs=0.1) or errors[0] < 1e-12


def test_a_surface_is_at_rest_as_its_file_has_it() -> None:
    for points, triangles in (round_ball(3), cylinder_sheet(4, 2.0)):
        state = made(points, triangles)
        for kind in ("stretching", "bending"):
            potential = potential_of(state, points, kind)
            assert potential.value() == pytest.approx(0.0, abs=1e-20)
            assert np.abs(potential.gradient("x")).max() < 1e-10


def test_the_lists_of_a_ball() -> None:
    """Euler: n - K + E = 2, each edge a hinge; the mass is rho t A; area and volume of the polyhedron."""
    points, triangles = round_ball(4)
    state = made(points, triangles)
    n, k, e = len(points), len(state.tuples["edges"]), len(triangles)
    assert n - k + e == 2
    assert len(state.tuples["hinges"]) == k
    area = state.data["triangles"]["area"].sum()
    assert state.fields["m"].sum() == pytest.approx(1000.0 * THICKNESS * area)
    assert area == pytest.approx(4.0 * np.pi, rel=0.03)
    np.testing.assert_allclose(state.data["triangles"]["gradients"].sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("parts", [4])
def test_a_ball_under_pressure_grows(parts: int, tmp_path: Path) -> None:
    """Delta r = p r^2 (1 - nu) / (2 E t), with the order of the polyhedron: 2."""
    errors = []
    for finer in (1, 2):
        points, triangles = round_ball(finer * parts)
        write_stl(tmp_path / "ball.stl", points, triangles)
        (tmp_path / "a.toml").write_text(SCENE.format(file="ball.stl", more="", **NEWTON))
        run = minusgrad.run(tmp_path / "a.toml", out=tmp_path / f"runs{finer}")
        x = run["position"][-1]
        grown = np.linalg.norm(x - x.mean(axis=0), axis=1).mean() - 1.0
        errors.append(abs(grown / (0.01 * (1.0 - NU) / (2.0 * E * THICKNESS)) - 1.0))
    assert errors[1] < 0.02
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.4)


def test_files_of_one_surface(tmp_path: Path) -> None:
    """STL has three points for each triangle: they are joined, with a remark."""
    points, triangles = round_ball(3)
    found = {}
    for ending, write in (("stl", write_stl), ("obj", write_obj), ("ply", write_ply)):
        write(tmp_path / f"a.{ending}", points, triangles)
        found[ending] = surface_files.read_surface(f"a.{ending}", (tmp_path / f"a.{ending}").read_bytes())
        assert found[ending].is_closed()
        assert len(found[ending].points) == len(points)
        assert found[ending].volume() == pytest.approx(4.0 / 3.0 * np.pi, rel=0.1)
        np.testing.assert_allclose(found[ending].areas().sum(), found["stl"].areas().sum(), rtol=1e-6)
    copies = 3 * len(triangles) - len(points)
    assert found["stl"].remarks == (
        f"{copies} corners of triangles that lie where another does are one with it",
    )
    assert found["obj"].remarks == found["ply"].remarks == ()


def test_groups_and_quadrilaterals(tmp_path: Path) -> None:
    points, triangles = cylinder_sheet(4, 0.0)
    write_obj(tmp_path / "a.obj", points, triangles, ("left", "right"))
    found = surface_files.read_surface("a.obj", (tmp_path / "a.obj").read_bytes())
    assert {name: len(rows) for name, rows in found.parts.items()} == {"left": 16, "right": 16}
    state = shell(found, 1.0, 1.0, 1.0)
    assert state.data["left"]["area"].sum() == pytest.approx(0.5)
    assert {body.name for body in state.bodies} == {"left", "right"}
    quads = np.array([[0, 5, 6, 1], [5, 10, 11, 6]])
    meshlane.write(tmp_path / "q.vtk", meshlane.Mesh(points, [("quad", quads)]))
    two = surface_files.read_surface("q.vtk", (tmp_path / "q.vtk").read_bytes())
    assert len(two.triangles) == 4
    assert "2 quadrilaterals are two triangles each" in two.remarks


def test_triangles_are_turned_and_a_closed_surface_faces_outwards() -> None:
    points, triangles = round_ball(2)
    mixed = triangles.copy()
    mixed[[3, 9, 20]] = mixed[[3, 9, 20], ::-1]
    found = prepared_surface(SurfaceMesh("a", points, mixed))
    assert found.volume() > 0.0
    assert found.remarks == ("3 triangles were listed the other way round; turned over",)
    over = prepared_surface(SurfaceMesh("a", points, triangles[:, ::-1].copy()))
    assert over.volume() == pytest.approx(found.volume())
    assert over.remarks == ("the closed surface was inside out; it is turned over",)


def test_a_moebius_strip_is_said() -> None:
    n = 12
    turn = 2.0 * np.pi * np.arange(n) / n
    rows = [[np.cos(t) * (1 + s * np.cos(t / 2)), np.sin(t) * (1 + s * np.cos(t / 2)), s * np.sin(t / 2)]
            for t in turn for s in (-0.3, 0.3)]  # fmt: skip
    triangles = []
    for k in range(n):
        a, b = 2 * k, 2 * k + 1
        c, d = (2 * k + 2, 2 * k + 3) if k < n - 1 else (1, 0)
        triangles += [[a, c, b], [b, c, d]]
    found = prepared_surface(SurfaceMesh("a", np.array(rows), np.array(triangles, np.int32)))
    assert found.remarks == ("the surface has one side only (a Moebius strip): it is not oriented",)


def _with_a_line(x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(x)
    return np.vstack([x, 2.0 * x[:1], 3.0 * x[:1]]), np.vstack([t, [[0, n, n + 1]]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x, t: (x * np.nan, t), "point 0 is not finite"),
        (lambda x, t: _with_a_line(x, t), "triangles without area (1 of 21)"),
        (lambda x, t: (x, np.vstack([t, t[5:6]])), "triangle 5 stands twice; remove the copies"),
    ],
)  # fmt: skip
def test_bad_surfaces_are_refused(change, said: str) -> None:
    points, triangles = change(*round_ball(1))
    with pytest.raises(UserError) as refused:
        prepared_surface(SurfaceMesh("a", points, triangles.astype(np.int32)))
    assert said in str(refused.value)


def test_files_without_a_surface_are_refused(tmp_path: Path) -> None:
    tet = meshlane.Mesh(np.eye(4)[:, :3], [("tetra", np.array([[0, 1, 2, 3]]))])
    meshlane.write(tmp_path / "a.vtk", tet)
    with pytest.raises(UserError, match="has triangles and quadrilaterals, got 1 tetra"):
        surface_files.read_surface("a.vtk", (tmp_path / "a.vtk").read_bytes())
    (tmp_path / "b.obj").write_text("v 0 0 0\n")
    with pytest.raises(UserError, match=r"'b\.obj': "):
        surface_files.read_surface("b.obj", (tmp_path / "b.obj").read_bytes())


MOTION = {"stepper": 'kind = "leapfrog"\ndt = "0.2 ms"', "steps": 40}


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    """A ball that falls while it swells."""
    points, triangles = round_ball(2)
    write_stl(tmp_path / "ball.stl", points + 3.0, triangles)
    text = SCENE.format(file="ball.stl", more="velocity = [0.0, 0.0, -1.0]", **MOTION)
    (tmp_path / "a.toml").write_text(text)
    return tmp_path / "a.toml"


def test_both_engines_move_a_shell(moving: Path, tmp_path: Path) -> None:
    assert_engines_agree(moving, tmp_path / "both")


def test_a_shell_in_single_precision(moving: Path, tmp_path: Path) -> None:
    last = [
        minusgrad.run(moving, {"runtime.precision": precision}, out=tmp_path / precision)["position"][-1]
        for precision in ("f32", "f64")
    ]
    np.testing.assert_allclose(last[0], last[1], atol=1e-5)


def test_a_shell_passes_the_check(moving: Path, invoke) -> None:
    code, out, _ = invoke("check", moving)
    assert code == 0
    assert " 0 findings" in out
