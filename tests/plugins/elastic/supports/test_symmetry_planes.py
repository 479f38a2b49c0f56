"""Planes at any angle: Lame's wedges, rollers on slopes, reactions, pressure at their rims, refusals."""

from collections.abc import Sequence
from pathlib import Path

import meshio
import numpy as np
import pytest

import minusgrad as mg
from minusgrad import UserError
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.app.cli import main
from minusgrad.app.jobs.job_runs import resume
from minusgrad.scene import toml_text
from tests.support.command import files
from tests.support.short_scenes import cut

E, NU, P = 1e6, 0.3, 1e3
LAME = P * (1.0 + NU) / E * ((1.0 - 2.0 * NU) + 4.0) / 3.0
"""u_r at the inner wall of a tube with radii 1 and 2 in plane strain (Timoshenko & Goodier 1951, 26)."""
SOLID = {"kind": "linear", "youngs_modulus": E, "poissons_ratio": NU}
REACTIONS = {"kind": "reactions", "every": 1}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def turned(axis: Sequence[float], angle: float) -> np.ndarray:
    """The matrix of a rotation about an axis (Rodrigues)."""
    e = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0.0, -e[2], e[1]], [e[2], 0.0, -e[0]], [-e[1], e[0], 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def wedge(angle: float, centre: Sequence[float], turn: np.ndarray, n: int = 6) -> str:
    """A wedge of a tube of radii 1 and 2 in 8-node quadrilaterals; in space 20-node hexahedra."""
    space = len(centre) == 3
    radii, angles = np.linspace(1.0, 2.0, 2 * n + 1), np.linspace(0.0, angle, 2 * n + 1)
    heights = np.linspace(0.0, 0.3, 3) if space else np.zeros(1)
    r, a, z = np.meshgrid(radii, angles, heights, indexing="ij")
    number = np.arange(r.size).reshape(r.shape)
    i, j = (p.ravel() for p in np.meshgrid(np.arange(0, 2 * n, 2), np.arange(0, 2 * n, 2), indexing="ij"))
    ring = ((0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1))
    if space:
        low, high = [(*p, 0) for p in ring], [(*p, 2) for p in ring]
        corners = [*low[:4], *high[:4], *low[4:], *high[4:], *((*p, 1) for p in ring[:4])]
    else:
        corners = [(*p, 0) for p in ring]
    cells = np.stack([number[i + p, j + q, k] for p, q, k in corners], axis=1)
    used, cells = np.unique(cells, return_inverse=True)
    r, a, z = (part.ravel()[used] for part in (r, a, z))
    points = np.stack([r * np.cos(a), r * np.sin(a), z], axis=1) @ turn.T
    points += np.array([*centre, 0.0])[:3]
    sides = {"first": a < 1e-9, "second": a > angle - 1e-9, "inner": r < 1.0 + 1e-9}
    sides |= {"low": z < 1e-9, "high": z > 0.3 - 1e-9} if space else {}
    kind = "hexahedron20" if space else "quad8"
    sets = {name: np.flatnonzero(chosen) for name, chosen in sides.items()}
    mesh = meshio.Mesh(points, [(kind, cells.reshape(-1, len(corners)))], point_sets=sets)
    meshio.write("wedge.inp", mesh)
    return "wedge.inp"


def plane(body: str, normal: np.ndarray, d: int, **more: object) -> dict:
    return {"kind": "symmetry_plane", "name": body, "body": body, "normal": normal[:d].tolist(), **more}


def pressed_wedge(
    angle: float, centre: Sequence[float], turn: np.ndarray, n: int = 6, **more: object
) -> dict:
    d = len(centre)
    second = np.array([-np.sin(angle), np.cos(angle), 0.0])
    planes = [plane("first", turn @ [0.0, 1.0, 0.0], d), plane("second", turn @ second, d)]
    planes += [plane(name, 3.0 * turn[:, 2], d) for name in ("low", "high") if d == 3]
    return {
        "state": {"kind": "mesh", "file": wedge(angle, centre, turn, n), "length": "m", "density": 1000.0},
        "energy": [SOLID, {"kind": "pressure", "body": "inner", "pressure": P}],
        "constraint": planes,
        "stepper": {"kind": "newton"},
        "run": {"steps": 20},
        **more,
    }


def widening(scene: dict, centre: Sequence[float], turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u_r at the inner wall, and all other displacements, in Lame's own axes."""
    end = mg.load(scene)
    d = len(centre)
    start = end.fields["x"].values - centre
    end.step(20)
    moved = (end.fields["x"].values - centre - start) @ turn[:d, :d]
    start = start @ turn[:d, :d]
    radius = np.linalg.norm(start[:, :2], axis=1)
    radial = (moved[:, :2] * start[:, :2]).sum(axis=1) / radius
    across = moved.copy()
    across[:, :2] -= radial[:, None] * start[:, :2] / radius[:, None]
    return radial[radius < 1.0 + 1e-6], across


@pytest.mark.parametrize("turn", [0.0, 0.4, 2.1])
@pytest.mark.parametrize("angle", [30.0, 75.0])
def test_a_wedge_of_a_tube_widens_as_lame_says_however_it_is_turned(angle: float, turn: float) -> None:
    """The planes meet in the axis, which the pressure finds; each bears p (a + u)."""
    rotation, centre, wide = turned([0.0, 0.0, 1.0], turn), (3.0, -1.0), np.radians(angle)
    scene = pressed_wedge(wide, centre, rotation, observe=[REACTIONS, {"kind": "constraints", "every": 1}])
    radial, across = widening(scene, centre, rotation)
    assert np.abs(radial / LAME - 1.0).max() < 5e-3
    assert np.abs(across).max() < 2e-3 * LAME
    run = mg.run(scene, out="run")
    normals = [rotation[:2, :2] @ [0.0, 1.0], rotation[:2, :2] @ [-np.sin(wide), np.cos(wide)]]
    load = P * (1.0 + radial[0])
    for name, normal, sign in zip(("first", "second"), normals, (-1.0, 1.0), strict=True):
        assert run[f"reaction/{name}"][-1] == pytest.approx(sign * load * normal, rel=1e-8, abs=1e-8 * load)
        assert run[f"multiplier/{name}"][-1].sum() == pytest.approx(-sign * load, rel=1e-8)


def test_members_of_a_wedge_at_other_origins_have_planes_and_an_apex_of_their_own() -> None:
    origins = [[0.0, 0.0], [4.0, -7.0]]
    scene = pressed_wedge(np.pi / 6, (0.0, 0.0), np.eye(3), 2, observe=[{"kind": "frames", "every": 20}])
    scene["ensemble"] = {"vary": {"state.origin": {"list": origins}}}
    moved = np.asarray(mg.run(scene, out="run")["position"])
    moved = moved[-1] - moved[0]
    assert np.abs(moved[1] - moved[0]).max() < 1e-9 * LAME
    assert np.linalg.norm(moved[1], axis=1).max() == pytest.approx(LAME, rel=1e-2)


@pytest.mark.parametrize("axis", [[1.0, 2.0, -0.5], [0.0, 0.0, 1.0]])
def test_a_wedge_in_space_turned_about_any_axis_does_so_too(axis: list[float]) -> None:
    """Its two ends slide in parallel planes across the axis, so that no point is in all planes."""
    rotation, centre = turned(axis, 0.9), (0.5, 2.0, -1.0)
    radial, across = widening(pressed_wedge(np.pi / 6, centre, rotation, 2), centre, rotation)
    assert np.abs(radial / LAME - 1.0).max() < 5e-3
    assert np.abs(across).max() < 2e-3 * LAME


def block(supports: dict, **more: object) -> dict:
    """A block that is pressed on top and slides on its other sides."""
    return {
        "state": {"kind": "box", "size": [1.0, 0.8, 0.5], "cells": [3, 2, 2], "density": 1000.0},
        "energy": [
            {"kind": "neo_hookean", "youngs_modulus": E, "poissons_ratio": NU},
            {"kind": "pressure", "body": "top", "pressure": 0.1 * E},
        ],
        "stepper": {"kind": "newton"},
        "run": {"steps": 20},
        **supports,
        **more,
    }


def test_a_plane_along_an_axis_is_the_hold_of_that_axis() -> None:
    sides = {"left": "x", "right": "x", "front": "y", "back": "y", "bottom": "z"}
    held = {"hold": [{"body": b, "axes": a} for b, a in sides.items()]}
    normals = {name: np.eye(3)["xyz".index(a)] * 2.0 for name, a in sides.items()}
    sliding = {"constraint": [plane(name, n, 3) for name, n in normals.items()]}
    ends, runs = [], []
    for k, supports in enumerate((held, sliding)):
        scene = block(supports, observe=[REACTIONS])
        one = mg.load(scene)
        one.step(20)
        ends.append(one.fields["x"].values.copy())
        runs.append(mg.run(scene, out=f"run_{k}"))
    assert np.abs(ends[1] - ends[0]).max() < 1e-12
    for name in sides:
        first, second = (run[f"reaction/{name}"][-1] for run in runs)
        assert first == pytest.approx(second, abs=1e-9 * E)


SLOPE = np.radians(25.0)
NORMAL = np.array([-np.sin(SLOPE), np.cos(SLOPE)])
DOWN = np.array([-np.cos(SLOPE), -np.sin(SLOPE)])


def sliding_sheet(**more: object) -> dict:
    """A sheet whose lower nodes may only move along a slope of 25 degrees, under its weight."""
    return {
        "state": {"kind": "rectangle", "size": [0.4, 0.2], "cells": [2, 1], "density": 1000.0},
        "energy": [SOLID, {"kind": "body_force", "acceleration": [0.0, -9.81]}],
        "constraint": [plane("bottom", NORMAL, 2)],
        "stepper": {"kind": "leapfrog", "dt": 1e-3},
        "run": {"steps": 60},
        "observe": [REACTIONS, {"kind": "energies", "every": 1}],
        **more,
    }


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_sheet_slides_down_a_slope_and_keeps_its_energy(precision: str) -> None:
    """Its centre moves by g sin(a) t^2 / 2 along the slope, whatever swings within the sheet."""
    scene = sliding_sheet(runtime={"precision": precision})
    one, rough = mg.load(scene), 1.0 if precision == "f64" else 1e6
    m, start = one.fields["m"].values.astype(float), one.fields["x"].values.astype(float)
    one.step(60)
    moved = one.fields["x"].values - start
    gone = (m[:, None] * moved).sum(axis=0) @ DOWN / m.sum()
    assert gone == pytest.approx(0.5 * 9.81 * np.sin(SLOPE) * 0.06**2, rel=1e-10 * rough)
    run = mg.run(scene, out="run")
    total = np.asarray(run["total"])
    assert np.abs(total - total[0]).max() < 1e-3 * np.ptp(run["kinetic"])
    pushed = np.asarray(run["reaction/bottom"])
    assert np.abs(pushed @ DOWN).max() < 1e-9 * rough * np.abs(pushed).max()


def test_a_run_that_was_interrupted_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    scene = tmp_path / "slope.toml"
    scene.write_text(toml_text.text(sliding_sheet()))
    mg.run(scene, out="whole")
    half = cut(tmp_path / "part", scene, {}, 25)
    resume(half)
    assert files(half) == files(tmp_path / "whole")


def test_nodes_that_are_held_anyway_are_left_out_of_a_plane() -> None:
    """Left clamped, bottom on rollers: their corner has nothing left to hold."""
    held = {"hold": [{"body": "left"}], "constraint": [plane("bottom", np.array([0.0, 2.0]), 2)]}
    scene = sliding_sheet(stepper={"kind": "newton"}, run={"steps": 10}, **held)
    alone = {"hold": [{"body": "left"}], "constraint": []}
    free = mg.load(sliding_sheet(stepper={"kind": "newton"}, run={"steps": 10}, observe=[], **alone))
    one = mg.load(scene)
    start = one.fields["x"].values.copy()
    one.step(10)
    free.step(10)
    moved, loose = one.fields["x"].values - start, free.fields["x"].values - start
    bottom = start[:, 1] == 0.0
    assert np.abs(moved[bottom, 1]).max() < 1e-15 < np.abs(moved[bottom, 0]).max()
    assert np.abs(loose[bottom, 1]).max() > 1e-6
    assert len(one.constraints.terms["bottom"].elements.nodes) == bottom.sum() - 1


def test_a_side_is_pushed_along_a_slope_as_the_load_grows() -> None:
    """A plane that moves by `distance` takes its nodes along; a bar between two planes is then strained."""
    scene = {
        "state": {"kind": "rectangle", "size": [1.0, 0.5], "cells": [2, 1], "density": 1.0},
        "energy": [{**SOLID, "poissons_ratio": 0.0}],
        "constraint": [
            plane("left", np.array([1.0, 0.0]), 2),
            plane("right", np.array([1.0, 0.0]), 2, distance=0.02, project_start=True),
            plane("bottom", np.array([0.0, 1.0]), 2),
        ],
        "stepper": {"kind": "newton", "load_steps": 2, "loads": ["right.distance"]},
        "run": {"steps": 2},
        "observe": [REACTIONS],
    }
    run = mg.run(scene, out="run")
    pulled = np.asarray(run["reaction/right"])[:, 0]
    assert pulled[-2:] == pytest.approx([0.005 * E, 0.01 * E], rel=1e-9)
    assert np.asarray(run["reaction/left"])[-1] == pytest.approx([-0.01 * E, 0.0], rel=1e-9, abs=1e-6)


def test_sensitivities_of_an_equilibrium_on_a_slope_are_exact() -> None:
    """By the angle of the plane, its distance and the modulus, against differences of equilibria."""
    scene = sliding_sheet(
        stepper={"kind": "newton"}, run={"steps": 20}, observe=[], hold=[{"body": "right", "axes": "x"}]
    )
    one = mg.load(scene)
    equilibrium = Equilibrium(one.stepper, [], 60)
    assert equilibrium.find()
    tip = np.zeros(one.fields["x"].shape)
    tip[-1] = [1.0, 0.5]
    names = ["bottom.normal", "bottom.distance", "linear.youngs_modulus"]
    found = equilibrium.pulled_back({"x": tip}, names)

    def place(normal: np.ndarray = NORMAL, distance: float = 0.0, young: float = E) -> float:
        other = {**scene, "constraint": [plane("bottom", normal, 2, distance=distance, project_start=True)]}
        other["energy"] = [{**SOLID, "youngs_modulus": young}, scene["energy"][1]]
        end = mg.load(other)
        end.step(20)
        return float((tip * end.fields["x"].values).sum())

    h = 1e-5
    for k in range(2):
        shift = h * np.eye(2)[k]
        slope = (place(NORMAL + shift) - place(NORMAL - shift)) / (2.0 * h)
        assert np.ravel(found["bottom.normal"])[k] == pytest.approx(slope, rel=1e-5, abs=1e-10)
    assert np.ravel(found["bottom.distance"])[0] == pytest.approx(
        (place(distance=h) - place(distance=-h)) / (2.0 * h), rel=1e-7
    )
    slope = (place(young=E * (1.0 + h)) - place(young=E * (1.0 - h))) / (2.0 * h * E)
    assert np.ravel(found["linear.youngs_modulus"])[0] == pytest.approx(slope, rel=1e-6)


def test_a_derivative_by_the_place_of_a_plane_at_a_pressed_rim_is_refused() -> None:
    scene = pressed_wedge(np.pi / 6, (0.0, 0.0), np.eye(3), 2)
    one = mg.load(scene)
    equilibrium = Equilibrium(one.stepper, [], 60)
    assert equilibrium.find()
    with pytest.raises(UserError, match=r"'first.distance': the pressure 'pressure' has its potential by"):
        equilibrium.pulled_back({"x": np.ones(one.fields["x"].shape)}, ["first.distance"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normal": [0.0, 0.0]}, "normal: must not be zero"),
        ({"normal": [0.0, 1.0, 0.0]}, r"normal.*2"),
        ({"point": [0.0, 0.5]}, "is violated at the start.*project_start = true"),
        ({"body": "bottoms"}, "did you mean 'bottom'"),
    ],
)
def test_bad_planes_are_refused(change: dict, message: str) -> None:
    scene = sliding_sheet()
    scene["constraint"][0].update(change)
    with pytest.raises(UserError, match=message):
        mg.load(scene)


def test_the_first_step_is_checked() -> None:
    mg.run(sliding_sheet(), out="run")
    assert main(["check", "run/scene.toml"]) == 0
