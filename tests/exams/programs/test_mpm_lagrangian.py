"""An elastic sheet through a grid: Taichi's example mpm_lagrangian_forces, and the gradient it lacks."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Loss, Potential, Rollout, bind, build
from minusgrad.errors import EnergyError, OutsideError, SceneError
from minusgrad_elastic.loads import body_force
from tests.support.command import SCENES

ROOT = Path(__file__).parents[3]
SCENE = SCENES / "mpm_lagrangian.toml"
REFERENCE = Path(__file__).parent / "references" / "mpm_lagrangian.npy"
ON_THE_BALL = 0.575
"""The height from which the sheet meets the ball within some steps."""
SMALL = ["state.counts=[12, 4]", "state.corner=[0.46, 0.575]"]


def test_mpm_lagrangian() -> None:
    """Places after 200 steps are the example's."""
    simulation = build(SCENE)
    simulation.step(200)
    x = simulation.fields["x"].values
    assert x.shape == (800, 2)
    assert len(simulation.state.tuples["cells"]) == 1386
    assert np.abs(x - np.load(REFERENCE)).max() < 1e-12
    assert abs(x[:, 1].mean() - 0.7 - 3.5 / 128) > 0.02


def test_it_is_the_example_on_the_ball_too(tmp_path: Path) -> None:
    """The example runs here, and now, from a lower start; the ball turns it aside."""
    there = tmp_path / "there.npy"
    command = [sys.executable, "-m", "tests.exams.programs.taichi_mpm_lagrangian"]
    done = subprocess.run(
        [*command, "150", str(ON_THE_BALL), there], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    expected = np.load(there)
    simulation = build(SCENE, [f"state.corner=[0.1, {ON_THE_BALL}]"])
    simulation.step(150)
    x = simulation.fields["x"].values
    assert np.abs(x - expected).max() < 1e-12
    assert np.ptp(x[::8, 1]) > 1e-3, "the lowest row is bent"


def rollout(steps: int) -> Rollout:
    """The height of the sheet's centre after some steps on the ball."""
    simulation = build(SCENE, SMALL)
    fields = simulation.fields
    up = [0.0, -1.0 / len(fields["x"])]
    loss = Potential(fields, [bind(body_force, fields, parameters={"acceleration": up})])
    return Rollout(simulation.stepper, [Loss(loss, (steps,))], steps)


def test_its_gradient_by_stiffness_and_start_agrees_with_differences() -> None:
    """On the ball, over 60 steps: central differences, whose own error is 1e-8 here."""
    run = rollout(60)
    names = ["x", "v", "neo_hookean.youngs_modulus"]
    value, found = run.evaluate(names)
    assert value == run.value()
    fields, potential = run.stepper.potential.fields, run.stepper.potential
    rng = np.random.default_rng(0)
    for name, h in (("x", 1e-8), ("v", 1e-5), ("neo_hookean.youngs_modulus", 1.0)):
        start = (fields[name].values if name in fields else potential.parameter(name)).copy()
        way = rng.normal(size=start.shape)
        ends = []
        for sign in (1.0, -1.0):
            moved = start + sign * h * way
            fields[name].set(moved) if name in fields else potential.set_parameter(name, moved)
            ends.append(run.value())
        fields[name].set(start) if name in fields else potential.set_parameter(name, start)
        expected = (ends[0] - ends[1]) / (2.0 * h)
        assert abs((found[name] * way).sum() - expected) < 2e-6 * abs(expected), name


@pytest.mark.parametrize("outside", ["refuse", None])
def test_a_particle_that_leaves_the_grid_is_refused(outside: str | None) -> None:
    own = ["state.velocity=[-100.0, 0.0]", *([f'map.1.outside="{outside}"'] if outside else [])]
    simulation = build(SCENE, [*own, "state.grid.walls=0"])
    with pytest.raises(OutsideError) as error:
        simulation.step(60)
    step = simulation.stepper.step
    x = simulation.fields["x"].values[0]
    assert str(error.value) == (
        f"step {step + 1}: map 'to_grid', node 0: its window leaves the grid of 64 x 64 cells, got 44 to 46,"
        f" -1 to 1 with x = [{x[0]:.6g}, {x[1]:.6g}]; take a larger grid, keep what moves within walls, or"
        ' give the map outside = "cut" to lose what lies beyond'
    )
    assert x[0] < 0.5 / 64
    assert np.isfinite(simulation.fields["x"].values).all()


def test_a_window_that_does_not_meet_the_grid() -> None:
    with pytest.raises(OutsideError, match=r"step 1: .* does not meet the grid of 64 x 64 cells, got 44 to"):
        build(SCENE, ["state.corner=[3.0, 0.7]"]).step(1)


def test_windows_that_never_meet_the_grid_are_refused_even_where_they_are_cut() -> None:
    simulation = build(SCENE, ["state.corner=[3.0, 0.7]", 'map.1.outside="cut"'])
    with pytest.raises(
        EnergyError, match=r"map 'to_grid': no window meets the grid of 64 x 64 cells, got 44 to"
    ):
        simulation.step(1)


def test_windows_that_leave_are_cut_where_the_scene_says_so() -> None:
    own = ["state.velocity=[-100.0, 0.0]", "state.grid.walls=0", 'map.1.outside="cut"']
    simulation = build(SCENE, own)
    simulation.step(60)
    assert simulation.fields["x"].values[:, 0].min() < 0.0


def test_the_way_out_of_a_grid_is_part_of_the_origin_of_a_run() -> None:
    ways = ([], ['map.1.outside="cut"'], ['map.1.outside="refuse"'])
    usual, cut, refused = (build(SCENE, way).origin["terms"]["map.1"]["values"] for way in ways)
    assert usual == refused != cut


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ('map.1.outside="clamp"', "map.1: to_grid.outside: no way named 'clamp' (there are: cut, refuse)"),
        ('map.0.outside="cut"', "map.0: momentum_with_force: does not add to cells, got `outside`; leave it"),
        (
            "state.grid.cells=[64]",
            "state: grid.cells: needs 2 or 3 numbers, for x, y (and z), got 1; correct",
        ),
        (
            "state.grid={cells=[8, 8, 8], spacing=0.1}",
            "state: grid.cells: a sheet lies in the plane, got 3 axes; give 2",
        ),
    ],
)
def test_mistakes_have_their_place(override: str, message: str) -> None:
    with pytest.raises(SceneError) as error:
        build(SCENE, [override])
    assert message in str(error.value)


def test_the_factor_of_a_slope_has_a_unit() -> None:
    """In millimetres; and a factor without its unit makes the affine velocity none."""
    own = ['units.length="mm"', 'state.grid.spacing="0.015625 m"']
    slope = build(SCENE, own).potential.slopes["slope_to_grid"]
    assert slope.factor["A"] == pytest.approx(16384e-6, rel=1e-15)
    assert slope.gives["A"].unit == "s^-1"
    with pytest.raises(
        SceneError, match=r"next\.C: 'C' is in s\^-1, got 'C_next' in m\^2 s\^-1; correct the"
    ):
        build(SCENE, ["slope.1.factor.A=16384.0"])
