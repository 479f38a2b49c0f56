"""Sides of runs: printed, saved, resumed bit for bit, found anew by members, in precisions and pictures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import minusgrad as mg
import minusgrad.torch as mg_torch
import torch
from minusgrad.app.info import info
from minusgrad.app.jobs.job_runs import resume
from minusgrad.errors import SceneError
from tests.support.command import files, minusgrad
from tests.support.short_scenes import cut

SCENE = """
title = "Pulled"
[state]
kind = "rectangle"
size = ["2 m", "1 m"]
cells = [4, 2]
density = 1.0

[state.sides]
west = { x = "0 mm" }
east = { normal = [1, 0] }
sharp = { edge = { angle = "30 deg" } }

[[energy]]
kind = "neo_hookean"
youngs_modulus = 100.0
poissons_ratio = 0.3

[[energy]]
kind = "traction"
body = "east"
traction = [1.0, 0.5]

[[hold]]
body = "west"

[stepper]
kind = "leapfrog"
dt = 0.01

[run]
steps = 12

[[observe]]
kind = "energies"
every = 2

[[observe]]
kind = "reactions"
every = 2
"""
LINES = [
    "side west: 2 facets, 1 m^2, 3 nodes",
    "side east: 2 facets, 1 m^2, 3 nodes",
    "side sharp: 4 nodes",
]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "pulled.toml"
    path.write_text(SCENE)
    return path


def test_a_run_prints_and_keeps_its_sides(scene: Path) -> None:
    """On the terminal, in its remarks and in `minusgrad info`; a mistake has its line and exit code 2."""
    done = minusgrad("run", scene, "--out", scene.parent / "run", cwd=scene.parent)
    assert done.returncode == 0
    assert [line.removeprefix("minusgrad: ") for line in done.stderr.splitlines() if "side" in line] == LINES
    assert info(scene.parent / "run")["sides"] == dict(line[5:].split(": ") for line in LINES)
    shown = minusgrad("info", scene.parent / "run", cwd=scene.parent).stdout
    assert all(f"  {line}" in shown for line in LINES)
    wrong = minusgrad("run", scene, "state.sides.west.x=0.1", cwd=scene.parent)
    assert wrong.returncode == 2
    assert "state.sides.west: no node is at x = 0.1 m, to 2.24e-06 m; the nearest is 0 m, of 0 m to 2 m" in (
        wrong.stderr
    )
    scene.write_text(SCENE.replace("normal = [1, 0]", 'normal = [1, 0], angel = "3 deg"'))
    misspelt = minusgrad("run", scene, cwd=scene.parent)
    assert "pulled.toml:11:" in misspelt.stderr
    assert "no key 'angel'; did you mean 'angle'?" in misspelt.stderr


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_resumed_bit_for_bit(scene: Path, precision: str) -> None:
    overrides: dict[str, Any] = {"runtime.precision": precision, "checkpoint.every": 4}
    whole = mg.run(scene, overrides, scene.parent / "whole").folder
    half = cut(scene.parent / "half", scene, overrides, 6)
    resume(half)
    assert files(half) == files(whole)


def test_a_scene_of_python_functions_resumes(tmp_path: Path) -> None:
    """The scene has the numbers of the nodes that functions chose."""
    made = mg.Simulation(
        state={"kind": "rectangle", "size": [2.0, 1.0], "cells": [4, 2], "density": 1.0},
        sides={"west": lambda x: x[:, 0] < 1e-9, "east": lambda x: x[:, 0] > 1.99},
        energies=[
            mg.energy("neo_hookean", youngs_modulus=100.0, poissons_ratio=0.3),
            mg.energy("traction", body="east", traction=[1.0, 0.5]),
        ],
        holds=[{"body": "west"}],
        observe=[{"kind": "energies", "every": 2}],
        stepper=mg.Leapfrog(dt=0.01),
        run={"steps": 12},
    )
    path = tmp_path / "scene.toml"
    made.to_toml(path)
    overrides = {"run.steps": 12, "checkpoint.every": 4}
    whole = mg.run(path, overrides, tmp_path / "whole").folder
    half = cut(tmp_path / "half", path, overrides, 6)
    resume(half)
    assert files(half) == files(whole)


def test_members_find_their_sides_anew(scene: Path) -> None:
    """Of plates of other sizes: each has its own area, its supports where it begins, and is as alone."""
    sizes = [[2.0, 1.0], [2.5, 1.5]]
    vary = {'ensemble.vary."state.size".list': sizes, "run.steps": 6}
    run = mg.run(scene, vary, scene.parent / "members")
    elastic = np.asarray(run["potential/neo_hookean"])
    assert elastic[0].tolist() == [0.0, 0.0]
    for member, (length, height) in enumerate(sizes):
        alone = mg.load(scene, {**vary, "ensemble.member": member})
        pull = -alone.potential.gradient("x").sum(axis=0)
        assert pull == pytest.approx([height, 0.5 * height])
        assert alone.fields["x"].values.max(axis=0).tolist() == [length, height]
        alone.step(6)
        assert elastic[-1, member] == pytest.approx(alone.potential.by_element("neo_hookean").sum(), rel=1e-9)


@pytest.mark.parametrize("stepper", [{"kind": "lbfgs"}, {"kind": "leapfrog", "dt": 0.01}])
def test_supports_of_members_begin_where_their_states_are(scene: Path, stepper: dict[str, Any]) -> None:
    """Also those that turn, about a point: in lanes, or one after another, as of each member alone."""
    turned = {"hold.0.rotation": {"centre": [0.0, 0.0], "angle": 0.1}, "hold.0.duration": 0.1}
    given = {'ensemble.vary."state.size".list': [[2.0, 1.0], [2.5, 1.5]], "stepper": stepper, "run.steps": 40}
    given |= {"observe": [{"kind": "energies", "every": 40}]}
    given |= turned if stepper["kind"] == "leapfrog" else {"hold.0.rotation": turned["hold.0.rotation"]}
    run = mg.run(scene, given, scene.parent / "members")
    assert run.ensemble is not None
    for member in (0, 1):
        alone = mg.load(scene, {**given, "ensemble.member": member})
        alone.step(40)
        run.ensemble.stepper.show(member)
        shown = run.ensemble.template.fields["x"].values
        np.testing.assert_allclose(shown, alone.fields["x"].values, rtol=1e-8, atol=1e-9)
        corner = alone.state.fields["x"][2, 1] * np.array([-np.sin(0.1), np.cos(0.1)])
        np.testing.assert_allclose(shown[2], corner, rtol=1e-12)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (
            "{ x = 2.0 }",
            "member 1, state.size = .*: no node is at x = 2 m, to 2.69e-06 m; the nearest is 1.875",
        ),
        (
            "{ x = 2.0, of = 'nodes', tolerance = 0.45 }",
            "member 1, .*: makes a state with other nodes in 'tip'",
        ),
    ],
)
def test_members_whose_sides_are_others_are_refused(scene: Path, side: str, message: str) -> None:
    vary = {'ensemble.vary."state.size".list': [[2.0, 1.0], [2.5, 1.0]]}
    if "tolerance" in side:
        vary = {'ensemble.vary."state.size".list': [[2.0, 1.0], [2.4, 1.0]]}
    scene.write_text(SCENE.replace("[[energy]]", f"tip = {side}\n\n[[energy]]", 1))
    with pytest.raises(SceneError, match=message):
        mg.run(scene, vary, scene.parent / "members")


def test_a_function_of_torch_acts_on_sides(scene: Path) -> None:
    """dU/dx of the traction alone is that on the facets of the side."""
    scene.write_text(SCENE.replace("youngs_modulus = 100.0", "youngs_modulus = 1e-12"))
    U = mg_torch.energy(scene)
    x = torch.tensor(mg.load(scene).fields["x"].values, requires_grad=True)
    U(x=x).backward()
    assert x.grad is not None
    assert (-x.grad.sum(dim=0)).tolist() == pytest.approx([1.0, 0.5], rel=1e-9)


BODIES = {
    "plane": SCENE,
    "space": SCENE.replace('"rectangle"', '"box"').replace('["2 m", "1 m"]', '["2 m", "1 m", "1 m"]')
    .replace("[4, 2]", "[4, 2, 2]").replace("[1, 0]", "[1, 0, 0]").replace("[1.0, 0.5]", "[1.0, 0.5, 0.0]"),
}  # fmt: skip
NETWORK = """
[state]
kind = "network"
nodes = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 1.0]]
springs = [[0, 2], [1, 2]]
mass = 1.0
sides = { feet = { z = 0.0 } }
[[energy]]
kind = "spring"
stiffness = 1.0
[stepper]
kind = "newton"
[run]
steps = 1
"""


@pytest.mark.parametrize("name", [*BODIES, "network"])
def test_a_picture_has_names_and_sizes(tmp_path: Path, name: str) -> None:
    """`plot SCENE --sides`: a PNG with every side, in the plane, in space, of nodes; nothing is run."""
    (tmp_path / "some.toml").write_text(NETWORK if name == "network" else BODIES[name])
    done = minusgrad("plot", "some.toml", "--sides", "-o", "pictures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    picture = Image.open(tmp_path / "pictures" / "some_sides.png")
    said = picture.text["Description"]  # type: ignore[attr-defined]
    parts = {"network": ["feet: 2 nodes"], "plane": ["west: 2 facets, 1 m², 3 nodes", "sharp: 4 nodes"]}
    assert all(one in said for one in parts.get(name, ["east: 8 facets, 1 m², 9 nodes", "sharp: 28 nodes"]))
    colours = {tuple(c[1]) for c in picture.convert("RGB").getcolors(10_000_000) or () if c[0] > 30}
    assert len(colours) > 3


def test_a_mesh_file_is_drawn_with_its_groups(tmp_path: Path) -> None:
    mesh = Path(__file__).parents[1] / "meshes" / "quarter.msh"
    done = minusgrad("plot", mesh, "--sides", "--body", "hole", "-o", "pictures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    picture = Image.open(tmp_path / "pictures" / "quarter_sides.png")
    assert "hole: 3 facets, 0.785378, 7 nodes" in picture.text["Description"]  # type: ignore[attr-defined]
    wrong = minusgrad("plot", mesh, "--sides", "--body", "hole2", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "no side or body named 'hole2'; did you mean 'hole'?" in wrong.stderr
    both = minusgrad("plot", mesh, "--sides", "--step", "3", cwd=tmp_path)
    assert "--step is for what a run recorded, got --sides, too" in both.stderr
