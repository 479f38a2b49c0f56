"""Pressure on surfaces whose rims move: Lame's tube wherever its axis lies, reactions, refusals."""

import json
from collections.abc import Sequence
from pathlib import Path

import meshlane
import numpy as np
import pytest

import minusgrad as mg
from minusgrad import UserError
from minusgrad.app.cli import main

E, NU, P = 1e6, 0.3, 1e3
LAME = P * (1.0 + NU) / E * ((1.0 - 2.0 * NU) + 4.0) / 3.0
"""u_r at the inner wall of a tube with radii 1 and 2 in plane strain (Timoshenko & Goodier 1951, 26)."""


def quarter(folder: Path, centre: Sequence[float], n: int = 6) -> str:
    """A quarter of the tube in quadrilaterals of 8 nodes, as an Abaqus file with sets of nodes."""
    radii, angles = np.linspace(1.0, 2.0, 2 * n + 1), np.linspace(0.0, np.pi / 2, 4 * n + 1)
    r, angle = np.meshgrid(radii, angles, indexing="ij")
    number = np.arange(r.size).reshape(r.shape)
    places = np.meshgrid(np.arange(0, 2 * n, 2), np.arange(0, 4 * n, 2), indexing="ij")
    i, j = (part.ravel() for part in places)
    corners = ((0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1))
    cells = np.stack([number[i + a, j + b] for a, b in corners], axis=1)
    used, cells = np.unique(cells, return_inverse=True)
    r, angle = r.ravel()[used], angle.ravel()[used]
    points = np.stack([r * np.cos(angle) + centre[0], r * np.sin(angle) + centre[1], 0.0 * r], axis=1)
    sides = {"bottom": angle < 1e-9, "side": angle > np.pi / 2 - 1e-9, "inner": r < 1.0 + 1e-9}
    sets = {name: np.flatnonzero(chosen) for name, chosen in sides.items()}
    mesh = meshlane.Mesh(points, [("quad8", cells.reshape(-1, 8))], point_sets=sets)
    name = f"q_{len(list(folder.iterdir()))}.inp"
    meshlane.write(folder / name, mesh)
    return name


def scene_of(file: str, holds: list, pressure: dict | None = None, **more: object) -> dict:
    return {
        "state": {
            "kind": "mesh",
            "file": file,
            "length": "m",
            "density": 1000.0,
            **dict(more.pop("state", {})),
        },
        "energy": [
            {"kind": "linear", "youngs_modulus": E, "poissons_ratio": NU},
            {"kind": "pressure", "body": "inner", "pressure": P, **(pressure or {})},
        ],
        "hold": holds,
        "stepper": {"kind": "newton"},
        "run": {"steps": 20},
        **more,
    }


PLANES = [{"body": "bottom", "axes": "y"}, {"body": "side", "axes": "x"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("centre", [(0.0, 0.0), (1.0, 1.0), (-3.0, 0.5)])
def test_a_tube_widens_by_lames_solution_wherever_its_axis_lies(folder: Path, centre: tuple) -> None:
    """And its planes of symmetry bear p (a + u) each, the pressure on the deformed wall's projection."""
    scene = scene_of(quarter(folder, centre), PLANES, observe=[{"kind": "reactions", "every": 1}])
    run = mg.run(scene, out=folder / "run")
    end = mg.load(scene)
    start = end.fields["x"].values - centre
    end.step(20)
    moved = end.fields["x"].values - centre - start
    wall = np.linalg.norm(start, axis=1) < 1.0 + 1e-6
    radial = (moved * start).sum(axis=1)[wall] / np.linalg.norm(start[wall], axis=1)
    assert np.abs(radial / LAME - 1.0).max() < 5e-3
    assert run["reaction/bottom"][-1][1] == pytest.approx(-P * (1.0 + radial[0]), rel=1e-9)
    assert run["reaction/side"][-1][0] == pytest.approx(-P * (1.0 + radial[-1]), rel=1e-9)


# A sheet between rollers ----------------------------------------------------------------------------------

HEIGHT, WIDTH = 0.5, 1.0
SUNK = P * HEIGHT * (1.0 + NU) * (1.0 - 2.0 * NU) / (E * (1.0 - NU))
"""How far the top of a body between rollers sinks under a pressure: Hooke's law at one strain."""
ROLLERS = [
    {"body": "left", "axes": "x"},
    {"body": "right", "axes": "x"},
    {"body": "bottom", "axes": "y", "name": "floor"},
]


def sheet(holds: list | None = None, origin: Sequence[float] = (5.0, 7.0), **more: object) -> dict:
    plane = len(origin) == 2
    size = [WIDTH, HEIGHT] if plane else [WIDTH, 0.8, HEIGHT]
    shape = {"kind": "rectangle" if plane else "box", "size": size, "cells": [2] * len(size), "density": 1.0}
    return {
        "state": {**shape, "origin": list(origin), **dict(more.pop("state", {}))},
        "energy": [
            {"kind": "linear", "youngs_modulus": E, "poissons_ratio": NU},
            {"kind": "pressure", "body": "top", "pressure": P},
        ],
        "hold": ROLLERS if holds is None else holds,
        "stepper": {"kind": "newton"},
        "run": {"steps": 20},
        **more,
    }


def sunk(scene: dict) -> np.ndarray:
    """How far the nodes on top have sunk."""
    found = mg.load(scene)
    start = found.fields["x"].values.astype(float)
    found.step(20)
    top = start[:, -1] > start[:, -1].max() - 1e-6
    return (start - found.fields["x"].values)[top, -1]


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_sheet_between_rollers_sinks_alike_under_its_pressed_top(order: int, precision: str) -> None:
    """The rim slides on two parallel planes, away from the origin."""
    scene = sheet(state={"order": order}, runtime={"precision": precision})
    assert np.abs(sunk(scene) / SUNK - 1.0).max() < (1e-6 if precision == "f64" else 2e-2)


def test_a_block_between_four_walls_sinks_alike_and_rests_on_p_times_its_area(tmp_path: Path) -> None:
    """In space: the planes of the rim meet nowhere in one point."""
    holds = [
        {"body": ["left", "right"], "axes": "x"},
        {"body": ["front", "back"], "axes": "y"},
        {"body": "bottom", "axes": "z", "name": "floor"},
    ]
    scene = sheet(holds, (3.0, -2.0, 4.0), observe=[{"kind": "reactions", "every": 1}])
    assert np.abs(sunk(scene) / SUNK - 1.0).max() < 1e-6
    run = mg.run(scene, out=tmp_path / "run")
    assert run["reaction/floor"][-1][2] == pytest.approx(P * WIDTH * 0.8, rel=1e-9)
    assert np.abs(run["reaction/left_right"][-1][1:]).max() < 1e-6 * P


def test_a_clamped_rim_bears_its_part_of_the_pressure(tmp_path: Path) -> None:
    """The whole load is p times the width, wherever the sheet lies."""
    holds = [{"body": ["left", "right"]}]
    run = mg.run(sheet(holds, observe=[{"kind": "reactions", "every": 1}]), out=tmp_path / "run")
    assert run["reaction/left_right"][-1] == pytest.approx([0.0, P * WIDTH], abs=1e-6 * P)


def test_a_plane_that_moves_with_its_support_changes_the_pressed_width(tmp_path: Path) -> None:
    """The right side is pulled by 0.1 as the load grows: the floor then bears p times the new width."""
    holds = [
        {"body": "left", "axes": "x"},
        {"body": "right", "axes": "x", "displacement": [0.1]},
        {"body": "bottom", "axes": "y", "name": "floor"},
    ]
    steps = {"kind": "newton", "load_steps": 2, "loads": ["pressure.pressure"]}
    scene = sheet(holds, stepper=steps, run={"steps": 2}, observe=[{"kind": "reactions", "every": 1}])
    run = mg.run(scene, out=tmp_path / "run")
    assert [row[1] for row in run["reaction/floor"]] == pytest.approx(
        [0.0, 0.5 * P * 1.05, P * 1.1], rel=1e-6
    )


@pytest.mark.parametrize("holds", [ROLLERS[2:], [{"body": "bottom"}], ROLLERS[1:]])
def test_a_rim_that_may_move_is_refused_by_its_node_with_a_cure(holds: list) -> None:
    words = r"pressure: .* got a rim that may move at node \d+ \((5|6), 7.5\); hold the rim, give"
    with pytest.raises(UserError, match=words):
        mg.load(sheet(holds))


def test_an_apex_stands_for_planes_of_constraints() -> None:
    """The rim is not held; whoever gives the apex says that it slides in planes through it."""
    scene = sheet(ROLLERS[2:])
    scene["energy"][1]["apex"] = [5.0, 7.0]
    loaded = mg.load(scene)
    force = -loaded.potential.gradient("x")
    assert force[:, 1].sum() == pytest.approx(-0.5 * P * WIDTH)  # and the cone's at the rim, along the planes


def test_an_apex_beside_the_planes_of_supports_is_refused() -> None:
    scene = sheet()
    scene["energy"][1]["apex"] = [0.0, 0.0]
    with pytest.raises(UserError, match=r"apex: supports hold the rim so that it follows; leave it out"):
        mg.load(scene)


@pytest.mark.long
def test_check_asks_pressure_for_translation_of_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its supports: of a rim that is held U is the same where all is moved."""
    scene = tmp_path / "sheet.toml"
    scene.write_text(mg.load(sheet()).to_toml())
    assert main(["check", str(scene), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    asked = [one for one in found if one["term"] == "pressure" and one["question"] == "translation"]
    assert asked
