"""Scenes with Lagrangians of a user's file: the hook, units, coordinates, mistakes and their places."""

import json
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from scipy.special import ellipk

import minusgrad
from minusgrad.app.modes import modes
from minusgrad.app.runs import build
from minusgrad.errors import SceneError
from tests.support.command import minusgrad as minusgrad_command

PENDULUM = """
from minusgrad import Node, Parameter, Velocity, hookimpl, lagrangian, ti

@lagrangian("pendulum", over="nodes", q=Node("rad"), v=Velocity("rad/s"), m=Parameter("kg"), l=Parameter("m"),
            g=Parameter("m s^-2", default=9.81))
def pendulum(q, v, m, l, g):
    return 0.5 * m * l**2 * v[0] ** 2 + m * g * l * ti.cos(q[0])
"""
HOOK = """
@hookimpl
def register_lagrangians():
    return [pendulum]
"""
SCENE = """
title = "A pendulum"
plugins = ["control"]
[state]
kind = "coordinates"
[state.coordinates.q]
unit = "rad"
start = 2.0
[[lagrangian]]
kind = "pendulum"
m = "1 kg"
l = "100 cm"
[stepper]
kind = "variational"
order = 4
dt = "5 ms"
[run]
steps = 531
[[observe]]
kind = "energies"
every = 531
"""


def written(folder: Path, scene: str = SCENE, plugin: str = PENDULUM) -> tuple[Path, Path]:
    for name, text in (("scene.toml", scene), ("stranger.py", plugin)):
        (folder / name).write_text(dedent(text))
    return folder / "scene.toml", folder / "stranger.py"


@pytest.mark.parametrize("hook", ["", HOOK])
def test_a_pendulum_of_a_users_file_has_the_period_of_the_elliptic_integral(hook, tmp_path) -> None:
    """At amplitude 2 rad, T = 4 K(sin 1) sqrt(l / g); at T it is at rest at 2 rad again."""
    scene, plugin = written(tmp_path, plugin=PENDULUM + hook)
    period = 4.0 * ellipk(np.sin(1.0) ** 2) / np.sqrt(9.81)
    run = minusgrad.run(scene, {"stepper.dt": period / 531}, tmp_path / "run", plugins=[plugin])
    assert run.simulation.fields["q"].values[0] == pytest.approx(2.0, abs=1e-8)
    assert run.simulation.fields["v"].values[0] == pytest.approx(0.0, abs=2e-8)
    assert run.series("observables/energy_function").value[0] == run.series("observables/total").value[0]
    assert run.series("observables/total").value[0] == pytest.approx(-9.81 * np.cos(2.0), rel=1e-12)
    found = modes(run.folder, plugins=[plugin]).found
    assert found.eigenvalues == pytest.approx([9.81 * np.cos(2.0)], rel=1e-6)  # it is at 2 rad once more
    assert found.unstable.all()
    assert not found.at_rest


@pytest.mark.parametrize(
    ("old", "new", "place", "text"),
    [
        ('"variational"\norder = 4', '"leapfrog"', "stepper", "has no rule for a Lagrangian"),
        (
            '[[lagrangian]]\nkind = "pendulum"\nm = "1 kg"\nl = "100 cm"',
            '[[energy]]\nkind = "travel"\n',
            "",
            "energy",
        ),
        ('kind = "energies"', 'kind = "temperatures"', "observe.0", "has no rule for a Lagrangian"),
        ("order = 4", "order = 3", "stepper.order", "2 or 4"),
        ('m = "1 kg"', 'm = "1 s"', "lagrangian.0.m", "s"),
        ('unit = "rad"', 'unit = "m"', "lagrangian.0", "field 'q' is in m, not rad"),
        ("start = 2.0", 'start = [[1.0], "x"]', "state", "x"),
        ("start = 2.0", "start = 2.0\nvelocity = 'w'", "lagrangian.0", "no field named 'v'"),
        ('m = "1 kg"', "m = 0.0", "stepper", "lagrangian 'pendulum', element 0: its mass matrix"),
    ],
)
def test_mistakes_are_told_with_their_places(old, new, place, text, tmp_path) -> None:
    assert old in SCENE
    scene, plugin = written(tmp_path, SCENE.replace(old, new))
    with pytest.raises(SceneError) as caught:
        build(scene, plugins=[plugin])
    assert place in str(caught.value)
    assert text in str(caught.value)


def test_copies_are_scattered_and_rows_are_systems_of_their_own(tmp_path) -> None:
    many = SCENE.replace("start = 2.0", "start = 2.0\nscatter = 1e-3").replace(
        'kind = "coordinates"', 'kind = "coordinates"\ncopies = 64'
    )
    scene, plugin = written(tmp_path, many)
    q = build(scene, plugins=[plugin]).fields["q"].values
    assert q.shape == (64,)
    assert 5e-4 < q.std() < 2e-3
    scene, plugin = written(tmp_path, SCENE.replace("start = 2.0", "start = [1.0, 2.0]"))
    with pytest.raises(SceneError, match="of shape"):
        build(scene, plugins=[plugin])


KEPLER = """
from minusgrad import Node, Parameter, Velocity, lagrangian, ti

def turn(q):
    return ti.Vector([0.0, 1.0])

@lagrangian("kepler", over="nodes", q=Node("1", (2,)), v=Velocity("s^-1", (2,)), k=Parameter("J"),
            generators={"spin": turn})
def kepler(q, v, k):
    r = q[0][0]
    return 0.5 * k * (v[0][0] * v[0][0] + r * r * v[0][1] * v[0][1]) + k / r
"""
ORBIT = """
title = "A planet in polar coordinates"
plugins = ["control"]
[units]
system = "dimensionless"
[state]
kind = "coordinates"
[state.coordinates.q]
start = [[0.5, 0.0], [1.0, 0.0]]
rate = [[0.0, 3.4], [0.0, 1.0]]
[[lagrangian]]
kind = "kepler"
k = 1.0
[stepper]
kind = "variational"
dt = 0.01
[run]
steps = 200
[[observe]]
kind = "momenta"
every = 20
by_node = true
"""


def test_momenta_and_momentum_maps_are_recorded_and_conserved(tmp_path) -> None:
    scene, plugin = written(tmp_path, ORBIT, KEPLER)
    run = minusgrad.run(scene, {}, tmp_path / "run", plugins=[plugin])
    spin = run.series("observables/momentum_map/spin").value
    assert spin[0] == pytest.approx(0.25 * 3.4 + 1.0, rel=1e-15)
    assert np.abs(spin - spin[0]).max() < 1e-15
    p = run.series("particles/all/conjugate_momentum").value
    assert p.shape == (11, 2, 2)
    np.testing.assert_allclose(p.sum(axis=1), run.series("observables/momentum").value, rtol=1e-15)
    assert np.abs(p[:, 0, 0]).max() > 0.1


@pytest.mark.long
def test_check_of_a_scene_finds_a_symmetry_that_a_lagrangian_lacks(tmp_path) -> None:
    wrong = KEPLER.replace("ti.Vector([0.0, 1.0])", "ti.Vector([1.0, 0.0])")
    scene, plugin = written(tmp_path, ORBIT, wrong)
    done = minusgrad_command("check", scene, "--plugin", plugin, "--json")
    findings = json.loads(done.stdout)
    assert {f["question"] for f in findings if not f["passed"]} == {"momentum"}
    assert {"mass", "momentum", "taylor", "product", "value"} <= {f["question"] for f in findings}
    assert done.returncode == 1
