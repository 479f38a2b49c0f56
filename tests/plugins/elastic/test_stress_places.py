"""Stress at points, along a line, on a side, in files: against fields on paper, a peer, runs resumed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad import build, resume
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.errors import MinusgradError
from minusgrad.files import trajectory
from minusgrad_elastic.stress.observer import Stress, StressAlong
from tests.support.command import files
from tests.support.command import minusgrad as command
from tests.support.short_scenes import cut
from tests.support.toml_scenes import toml_text

FLAT = {"kind": "rectangle", "size": [2.0, 1.0], "cells": [4, 3], "thickness": 0.1, "density": 1.0}
SPACE = {"kind": "box", "size": [2.0, 1.0, 0.5], "cells": [3, 2, 2], "density": 1.0}
BODIES = {
    "triangles": FLAT,
    "6-node triangles": FLAT | {"order": 2},
    "8-node quadrilaterals": FLAT | {"cell": "quadrilaterals", "order": 2},
    "tetrahedra": SPACE,
    "10-node tetrahedra": SPACE | {"order": 2},
    "20-node hexahedra": SPACE | {"cell": "hexahedra", "order": 2},
}
HOOKE = {"kind": "linear", "youngs_modulus": 2.0, "poissons_ratio": 0.25}


def scene_of(body: dict, energy: dict, *observed: dict, **more: Any) -> dict[str, Any]:
    whole = {"title": "A body", "plugins": ["elastic"], "units": {"system": "dimensionless"}, "state": body}
    whole |= {"energy": [energy], "observe": [{"kind": "stress", "every": 1} | one for one in observed]}
    return whole | {"stepper": {"kind": "leapfrog", "dt": 1e-3}, "run": {"steps": 1}} | more


def made_of(folder: Path, *arguments: Any, **more: Any) -> BuiltScene:
    (folder / "scene.toml").write_text(toml_text(scene_of(*arguments, **more)))
    return build(folder / "scene.toml")


def bend(made: BuiltScene, strain: float = 0.1) -> None:
    """Displace the nodes by a field of degree 2, whose strain is e_xx = s (1 + x) / 2 alone."""
    X = made.fields["x"].values.astype(float)
    u = np.zeros(X.shape)
    u[:, 0] = 0.5 * strain * (X[:, 0] + 0.5 * X[:, 0] * X[:, 0])
    made.fields["x"].set(X + u)


def along_of(made: BuiltScene) -> StressAlong:
    return next(one for one in made.observers if isinstance(one, StressAlong))


ORDER_2 = ["6-node triangles", "8-node quadrilaterals", "10-node tetrahedra", "20-node hexahedra"]


@pytest.mark.parametrize("name", ORDER_2)
def test_stress_along_a_line_and_on_a_side_is_that_of_a_strain_linear_in_x(tmp_path: Path, name: str) -> None:
    """e_xx = s (1 + x) / 2 of a field that cells of order 2 have: recovered exactly, with no error."""
    d = 2 if BODIES[name]["kind"] == "rectangle" else 3
    line = {"from": [-0.5, *[0.21] * (d - 1)], "to": [1.9, *[0.43] * (d - 1)], "points": 7}
    made = made_of(
        tmp_path,
        BODIES[name],
        HOOKE,
        {"line": line, "measures": ["cauchy", "strain", "hydrostatic"]},
        {"side": "top", "measures": ["cauchy", "von_mises"]},
        {"at": ["points", "nodes"], "measures": ["cauchy", "von_mises"]},
    )
    bend(made)
    on_line, on_side = (one for one in made.observers if isinstance(one, StressAlong))
    found = on_line.values(0.0)
    x = found["place"][:, 0]
    assert np.isnan(found["strain"][:, 0, 0]).tolist() == [True, True, *[False] * 5]
    strain, inside = 0.05 * (1.0 + x), ~np.isnan(found["strain"][:, 0, 0])
    mu, lam = 0.8, 0.8
    assert found["strain"][inside, 0, 0] == pytest.approx(strain[inside], rel=1e-9)
    assert found["cauchy_stress"][inside, 0, 0] == pytest.approx((lam + 2 * mu) * strain[inside], rel=1e-9)
    assert found["hydrostatic_stress"][inside] == pytest.approx((lam + 2 * mu / 3) * strain[inside], rel=1e-9)
    seen = on_side.values(0.0)
    expected = (lam + 2 * mu) * 0.05 * (1.0 + seen["place"][:, 0])
    assert seen["cauchy_stress"][:, 0, 0] == pytest.approx(expected, rel=1e-9)
    assert np.abs(seen["von_mises_stress_error"]).max() < 1e-9
    top = 1.0 if d == 2 else 0.5
    assert np.abs(seen["place"][:, -1] - top).max() < 1e-12
    (whole,) = (one for one in made.observers if isinstance(one, Stress))
    values = whole.points.at(0.0)
    assert whole.recovery is not None
    at = whole.recovery.cells.places[:, 0]
    assert values.cauchy[:, 0, 0] == pytest.approx((lam + 2 * mu) * 0.05 * (1.0 + at), rel=1e-12)


def test_a_side_in_the_plane_is_in_its_order(tmp_path: Path) -> None:
    """From an end, and a closed one from its first node; distances along it."""
    for body, side in (
        (BODIES["6-node triangles"], "left"),
        ({"kind": "disc", "radius": 1.0, "rings": 4, "density": 1.0}, "rim"),
    ):
        made = made_of(tmp_path, body, HOOKE, {"side": side})
        found = along_of(made).along
        X = along_of(made).recovery.cells.X[found.nodes]
        legs = np.linalg.norm(np.diff(X, axis=0), axis=1)
        assert legs.max() == pytest.approx(legs.min(), rel=1e-9)
        assert found.apart == pytest.approx(np.concatenate([[0.0], np.cumsum(legs)]))


@pytest.mark.parametrize("name", BODIES)
def test_points_of_a_line_are_found_in_every_kind_of_cell(tmp_path: Path, name: str) -> None:
    """The shape functions at a point give its place."""
    d = 2 if BODIES[name]["kind"] == "rectangle" else 3
    line = {"from": [0.0] * d, "to": [2.0, 1.0, 0.5][:d], "points": 23}
    made = made_of(tmp_path, BODIES[name], HOOKE, {"line": line})
    one = along_of(made)
    cells, along = one.recovery.cells, one.along
    assert along.inside.all()
    assert np.abs(along.values(cells.X[cells.slots]) - along.places).max() < 1e-12


# Strain and stress of theories -------------------------------------------------------------------------


@pytest.mark.parametrize("plane_stress", [False, True])
@pytest.mark.parametrize("kind", ["linear", "hencky", "neo_hookean"])
def test_strain_is_greens_and_of_the_linear_theory_the_small_one(
    tmp_path: Path, kind: str, plane_stress: bool
) -> None:
    """Across a plate the strain is that of its stretch, across a body in plane strain zero."""
    energy = {"kind": kind, "plane_stress": plane_stress, "youngs_modulus": 1.0, "poissons_ratio": 0.3}
    made = made_of(tmp_path, FLAT, energy, {"measures": ["strain", "cauchy"]})
    F = np.array([[1.2, 0.1], [-0.05, 0.95]])
    made.fields["x"].set(made.fields["x"].values @ F.T)
    (observer,) = made.observers
    assert isinstance(observer, Stress)
    strain = observer.stresses(0.0)["strain"]
    flat = 0.5 * (F + F.T) - np.eye(2) if kind == "linear" else 0.5 * (F.T @ F - np.eye(2))
    assert np.abs(strain[:, :2, :2] - flat).max() < 1e-14
    across = 0.0
    if plane_stress and kind == "linear":
        across = -0.3 / 0.7 * np.trace(flat)
    elif plane_stress and kind == "hencky":
        across = 0.5 * (np.linalg.det(F) ** (-2.0 * 0.3 / 0.7) - 1.0)
    elif plane_stress:
        found = strain[0, 2, 2]
        t, mu, lam = np.sqrt(1.0 + 2.0 * found), 1.0 / 2.6, 0.3 / 0.52
        assert abs(mu * (t - 1.0 / t) + lam * np.log(np.linalg.det(F) * t) / t) < 1e-12
        return
    assert strain[:, 2, 2] == pytest.approx(across, abs=1e-14)


def test_cauchy_stress_of_a_linear_plate_is_hookes_whatever_its_strain(tmp_path: Path) -> None:
    """sigma = E / (1 - nu^2) (e_11 + nu e_22), none across; von Mises of both."""
    energy = {"kind": "linear", "plane_stress": True, "youngs_modulus": 3.0, "poissons_ratio": 0.25}
    made = made_of(tmp_path, FLAT, energy, {"measures": ["cauchy", "first_piola_kirchhoff", "von_mises"]})
    made.fields["x"].set(made.fields["x"].values * np.array([1.3, 0.9]))
    (observer,) = made.observers
    assert isinstance(observer, Stress)
    found = observer.stresses(0.0)
    sigma = 3.0 / 0.9375 * np.array([0.3 - 0.25 * 0.1, -0.1 + 0.25 * 0.3, 0.0])
    assert found["cauchy"] == pytest.approx(np.broadcast_to(np.diag(sigma), found["cauchy"].shape), abs=1e-13)
    assert found["first_piola_kirchhoff"] == pytest.approx(found["cauchy"], abs=1e-13)
    mises = np.sqrt(sigma[0] ** 2 + sigma[1] ** 2 - sigma[0] * sigma[1])
    assert found["von_mises"] == pytest.approx(mises, rel=1e-12)


def test_points_have_the_stress_of_scikit_fem(tmp_path: Path) -> None:
    """Its elements and mapping on the same mesh with curved cells, at our points; and our points are its."""
    skfem = pytest.importorskip("skfem")
    from skfem.helpers import grad

    from minusgrad_elastic.cells import reference_cells

    made = made_of(
        tmp_path,
        {"kind": "disc", "radius": 1.0, "rings": 3, "order": 2, "density": 1.0},
        {"kind": "neo_hookean", "youngs_modulus": 1.0, "poissons_ratio": 0.3},
        {"at": ["points"], "measures": ["first_piola_kirchhoff"]},
    )
    X = made.fields["x"].values.copy()
    made.fields["x"].set(X + 0.05 * np.stack([np.sin(2.0 * X[:, 1]), X[:, 0] ** 2], axis=1))
    (observer,) = made.observers
    assert isinstance(observer, Stress)
    assert observer.recovery is not None
    ours = observer.points.at(0.0)
    rows = made.state.tuples["cells"]
    mesh = skfem.MeshTri2(X.T.copy(), rows.T.astype(np.int64).copy())
    rule = reference_cells.cells()[2, 6].rule
    basis = skfem.Basis(
        mesh, skfem.ElementVector(skfem.ElementTriP2()), quadrature=(rule[0].T, 0.5 * np.array(rule[1]))
    )
    assert (
        np.abs(
            basis.global_coordinates().value.transpose(1, 2, 0).reshape(-1, 2)
            - observer.recovery.cells.places
        ).max()
        < 1e-13
    )
    nodal = basis.zeros()
    for node, value in zip(X, made.fields["x"].values - X, strict=True):
        dof = np.flatnonzero(np.abs(basis.doflocs.T - node).max(axis=1) < 1e-9)
        nodal[dof] = value
    F = grad(basis.interpolate(nodal)).transpose(2, 3, 0, 1).reshape(-1, 2, 2) + np.eye(2)
    mu, lam = 1.0 / 2.6, 0.3 / 0.52
    inverse = np.linalg.inv(F).transpose(0, 2, 1)
    P = mu * (F - inverse) + (lam * np.log(np.linalg.det(F)))[:, None, None] * inverse
    assert np.abs(ours.first_piola_kirchhoff[:, :2, :2] - P).max() < 1e-12


# Runs and files ----------------------------------------------------------------------------------------


def whole_scene(**more: Any) -> dict[str, Any]:
    """A plate that is pulled, with all that is recorded."""
    energy = {"kind": "neo_hookean", "youngs_modulus": 1.0, "poissons_ratio": 0.3}
    every = ["von_mises", "principal", "principal_directions", "tresca", "hydrostatic", "strain"]
    observed = (
        {"at": ["cells", "points", "nodes"], "measures": [*every, "cauchy", "first_piola_kirchhoff"]},
        {"line": {"from": [0.0, 0.5], "to": [2.0, 0.5], "points": 9}, "name": "middle"},
        {"side": "top", "measures": ["von_mises", "principal"]},
    )
    body = FLAT | {"order": 2}
    whole = scene_of(body, energy, *observed, **more)
    resultants = [{"cut": {"point": [1.0, 0.0], "normal": [1, 0]}}, {"side": "left"}]
    whole["observe"] += [{"kind": "resultant", "every": 1} | one for one in resultants]
    whole["observe"] += [{"kind": "frames", "every": 1}, {"kind": "energies", "every": 1}]
    whole["energy"] += [{"kind": "traction", "body": "right", "traction": [0.05, 0.01]}]
    whole |= {"hold": [{"body": "left"}], "run": {"steps": 6}, "checkpoint": {"every": 2}} | more
    return whole


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_runs_record_all_and_go_on_bit_for_bit(tmp_path: Path, precision: str) -> None:
    path = tmp_path / "plate.toml"
    path.write_text(toml_text(whole_scene(runtime={"precision": precision})))
    done = minusgrad.run(path, out=tmp_path / "whole")
    resume(cut(tmp_path / "parts", path, {}, 3))
    assert files(tmp_path / "whole") == files(tmp_path / "parts")
    assert len(done.findings) == 3
    assert "largest von Mises stress" in done.findings[0]
    series = trajectory.series(done.folder, "cells/cells/von_mises_stress_at_points")
    assert series.value.shape == (7, 24, 3)
    assert trajectory.series(done.folder, "grids/middle/place").value.shape == (7, 9, 2)
    error = trajectory.series(done.folder, "cells/cells/stress_error").value[-1]
    assert trajectory.series(done.folder, "observables/stress_error").value[-1] == pytest.approx(
        np.sqrt((error**2).sum()), rel=1e-12
    )
    peak = trajectory.series(done.folder, "observables/peak/von_mises_stress").value[-1]
    at_nodes = trajectory.series(done.folder, "particles/all/von_mises_stress_at_nodes").value[-1]
    assert peak == np.nanmax(at_nodes)


def test_observers_of_stress_change_no_bits(tmp_path: Path) -> None:
    ends = []
    for name, keep in (("with", 10), ("without", 0)):
        whole = whole_scene()
        whole["observe"] = [one for one in whole["observe"] if keep or one["kind"] == "frames"]
        (tmp_path / f"{name}.toml").write_text(toml_text(whole))
        done = minusgrad.run(tmp_path / f"{name}.toml", out=tmp_path / name)
        ends.append(done.simulation.fields["x"].values)
    assert ends[0].tobytes() == ends[1].tobytes()


def test_files_show_points_nodes_lines_to_other_programs(tmp_path: Path) -> None:
    """ParaView's reader, CSV and pictures."""
    vtk = pytest.importorskip("vtk")
    (tmp_path / "plate.toml").write_text(toml_text(whole_scene(run={"steps": 2}, checkpoint={"every": 2})))
    done = minusgrad.run(tmp_path / "plate.toml", out=tmp_path / "run")
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(done.folder / "trajectory.h5"))
    reader.Update()
    shown = reader.GetOutput()
    arrays = {shown.GetPointData().GetArrayName(i) for i in range(shown.GetPointData().GetNumberOfArrays())}
    assert {
        "von_mises_stress_at_nodes",
        "principal_stress_at_nodes",
        "von_mises_stress_error_at_nodes",
    } <= arrays
    cells = shown.GetCellData()
    assert cells.GetArray("stress_error").GetNumberOfComponents() == 1
    assert cells.GetArray("cauchy_stress_at_points").GetNumberOfComponents() == 27
    table = command("export", done.folder, "grids/middle/distance", "grids/middle/von_mises_stress")
    assert table.returncode == 0, table.stderr
    head, *rows = table.stdout.splitlines()
    assert head == "step,time,row,distance,von_mises_stress"
    assert len(rows) == 27


@pytest.mark.long
def test_pictures_show_nodes_and_lines(tmp_path: Path) -> None:
    (tmp_path / "plate.toml").write_text(toml_text(whole_scene(run={"steps": 2}, checkpoint={"every": 2})))
    done = minusgrad.run(tmp_path / "plate.toml", out=tmp_path / "run")
    drawn = command("plot", done.folder)
    assert drawn.returncode == 0, drawn.stderr
    pictures = {path.name for path in (done.folder / "pictures").iterdir()}
    assert {"mesh_von_mises_stress_at_nodes.png", "mesh_stress_error.png", "von_mises_stress.png"} <= pictures
    assert not {"place.png", "distance.png"} & pictures


@pytest.mark.parametrize("engine", ["taichi", "quadrants"])
def test_both_engines_recover_the_same(tmp_path: Path, engine: str) -> None:
    (tmp_path / "plate.toml").write_text(toml_text(whole_scene(run={"steps": 2})))
    ran = command("run", tmp_path / "plate.toml", "--out", tmp_path / "run", MINUSGRAD_ENGINE=engine)
    assert ran.returncode == 0, ran.stderr
    peak = trajectory.series(tmp_path / "run", "observables/peak/von_mises_stress").value[-1]
    here = minusgrad.run(tmp_path / "plate.toml", out=tmp_path / "here")
    assert peak == pytest.approx(
        trajectory.series(here.folder, "observables/peak/von_mises_stress").value[-1], rel=1e-9
    )


def test_members_have_the_stresses_of_runs_alone(tmp_path: Path) -> None:
    whole = whole_scene(run={"steps": 2}, checkpoint={"every": 2})
    path = tmp_path / "plate.toml"
    path.write_text(
        toml_text(whole | {"ensemble": {"vary": {'"neo_hookean.youngs_modulus"': {"list": [1.0, 2.0]}}}})
    )
    together = minusgrad.run(path, out=tmp_path / "together")
    path.write_text(toml_text(whole))
    alone = minusgrad.run(path, {"energy.0.youngs_modulus": 2.0}, out=tmp_path / "alone")
    for name in ("peak/von_mises_stress", "resultant/cut", "stress_error"):
        rows = trajectory.series(together.folder, f"observables/{name}").value[-1]
        assert rows[1].tobytes() == trajectory.series(alone.folder, f"observables/{name}").value[-1].tobytes()


# Keys and bad input ------------------------------------------------------------------------------------


def test_nodes_is_at_with_nodes_and_means_are_asked_for(tmp_path: Path) -> None:
    made = made_of(tmp_path, FLAT, HOOKE, {"nodes": True})
    (observer,) = made.observers
    assert isinstance(observer, Stress)
    assert observer.at == ("cells", "nodes")
    assert not observer.means
    made = made_of(tmp_path, FLAT, HOOKE, {"nodes": True, "recovery": "means"})
    (observer,) = made.observers
    assert isinstance(observer, Stress)
    assert observer.recovery is None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"line": {"from": [0, 0], "to": [1, 1]}, "side": "top"}, "has a `line` and a `side`"),
        ({"side": "top", "at": ["nodes"]}, "has `at` or `nodes` besides a `side`"),
        ({"side": "top", "recovery": "means"}, "a `side` takes recovered values"),
        ({"name": "rim"}, "is that of a `line` or a `side`, got neither"),
        ({"nodes": True, "at": ["nodes"]}, 'is the same as "nodes" in `at`, got both'),
        ({"side": "rim"}, "there is no side 'rim', got sides: left, right, bottom, top"),
        ({"line": {"from": [0, 0, 0], "to": [1, 1]}}, "line.from: needs 2 numbers, got 3"),
        ({"line": {"from": [5, 5], "to": [6, 6]}}, "the line from (5, 5) to (6, 6) does not meet the cells"),
        ({"line": {"from": [0, 0], "to": [1, 1], "points": 1}}, "points"),
        ({"at": []}, "at"),
        ({"measures": ["tension"]}, "measures"),
    ],
)
def test_bad_keys_have_one_message(tmp_path: Path, keys: dict, message: str) -> None:
    with pytest.raises(MinusgradError) as refused:
        made_of(tmp_path, FLAT, HOOKE, keys)
    assert message in str(refused.value)


def test_two_lines_of_one_name_are_refused(tmp_path: Path) -> None:
    line = {"line": {"from": [0, 0], "to": [1, 1]}}
    with pytest.raises(MinusgradError, match="grid 'line': there is one already"):
        made_of(tmp_path, FLAT, HOOKE, line, line)


def test_stress_at_nodes_of_a_rest_shape_that_moved(tmp_path: Path) -> None:
    """It is that of F from the present rest shape, at every node."""
    body = SPACE | {"order": 2, "rest_shape": True}
    solid = {"kind": "neo_hookean", "youngs_modulus": 1.0, "poissons_ratio": 0.3, "rest_shape": True}
    asked = {"at": ["nodes"], "measures": ["strain", "von_mises"]}
    made = made_of(tmp_path, body, solid, asked, stepper={"kind": "newton"})
    grown, pulled = np.diag([1.1, 0.9, 1.0]), np.diag([1.05, 1.0, 1.0])
    made.fields["rest"].set(made.fields["rest"].values @ grown)
    made.fields["x"].set(made.fields["x"].values @ grown @ pulled)
    (observer,) = made.observers
    assert isinstance(observer, Stress)
    assert observer.recovery is not None
    observer.recovery.prepare()
    strain = observer.recovery.seat_values(observer.points.at(0.0, strain=True).strain)
    expected = np.diag([0.5 * (1.05**2 - 1.0), 0.0, 0.0])
    assert np.abs(strain - expected).max() < 1e-12


def test_a_stress_that_is_not_finite_at_a_cell_is_said_there(tmp_path: Path) -> None:
    """Values of its nodes are NaN or far off, and their errors infinite; the others are as they were."""
    made = made_of(tmp_path, FLAT, HOOKE, {"at": ["nodes"], "measures": ["von_mises", "cauchy"]})
    bend(made)
    (observer,) = made.observers
    assert isinstance(observer, Stress)
    recovery = observer.recovery
    assert recovery is not None
    recovery.prepare()
    cauchy = observer.points.at(0.0).cauchy
    cauchy[0] = np.nan
    seats = recovery.seat_values(cauchy)
    error = recovery.seat_errors("von_mises", cauchy, seats)
    assert np.isinf(error[np.isnan(seats[:, 0, 0])]).all()
    assert 0 < np.isinf(error).sum() < len(error)
