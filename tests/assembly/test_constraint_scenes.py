"""Scenes with constraints: blocks, bodies, names, plugins, steppers that keep them, and bad input."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import minusgrad
from minusgrad.app.run_options import RunOptions
from minusgrad.app.runs import build
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.errors import SceneError, UserError
from tests.support.command import minusgrad as command

SCENE = """
    [state]
    kind = "network"
    nodes = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.1], [3.0, 0.0]]
    springs = [[0, 1], [1, 2], [2, 3]]
    mass = [1.0, 1.0, 2.0, 0.5]
    bodies = { pivot = [0], near = [0, 1, 2] }
    [[energy]]
    kind = "body_force"
    acceleration = [0.0, -9.81]
    [[constraint]]
    kind = "rod"
    [[hold]]
    body = "pivot"
    [stepper]
    kind = "leapfrog"
    dt = 0.01
    [run]
    steps = 40
    [[observe]]
    kind = "constraints"
    every = 10
    [[observe]]
    kind = "reactions"
    every = 10
    [[observe]]
    kind = "temperatures"
    every = 10
    """
TRACK = """
    from minusgrad import Node, Parameter, constraint, hookimpl

    @constraint("track", over="nodes", x=Node("m", ("d",)), height=Parameter("m", default=0.0))
    def track(x, height):
        '''A node on a level track.'''
        return x[0][1] - height

    @hookimpl
    def register_constraints():
        return [track]
    """


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "scene.toml"
    path.write_text(dedent(SCENE))
    return path


def test_a_run_records_multipliers_forces_and_reactions(scene: Path, tmp_path: Path) -> None:
    run = minusgrad.run(scene, out=tmp_path / "run")
    forces = run.series("particles/all/constraint_force").value
    reaction = run.series("observables/reaction/pivot").value
    np.testing.assert_allclose(forces[:, 0] + reaction, [[0.0, 9.81]] * 5, atol=1e-11)  # its own weight
    np.testing.assert_allclose(forces.sum(axis=1), 0.0, atol=1e-11)
    multipliers = run.series("observables/multiplier/rod").value
    assert multipliers.shape == (5, 3)
    assert run.series("observables/violation").value.max() < 1e-14


def test_the_temperature_counts_the_degrees_of_freedom(scene: Path) -> None:
    """Three nodes may move in the plane, less three rods: 3."""
    simulation = build(scene, {"units.system": "dimensionless"})
    simulation.step(20)
    simulation.look()
    (observer,) = [one for one in simulation.observers if type(one).__name__ == "Temperatures"]
    v, m = simulation.fields["v"].values, simulation.fields["m"].values
    recorded: dict[str, float] = {}
    observer.recorder.record_observables = lambda step, time, values: recorded.update(values)  # type: ignore[method-assign]
    observer.observe()
    assert recorded["temperature/kinetic"] == pytest.approx((m[:, None] * v**2).sum() / 3.0, rel=1e-12)


def test_a_temperature_without_the_centre_of_mass(scene: Path) -> None:
    """Four free nodes of the plane, less three rods and two components of the centre, which moves: 3."""
    asked = [{"kind": "temperatures", "every": 1, "centre_of_mass": False}]
    changes = {"units.system": "dimensionless", "hold": [], "state.spin": [2.0], "observe": asked}
    simulation = build(scene, changes)
    simulation.step(20)
    (observer,) = simulation.observers
    v, m = simulation.fields["v"].values, simulation.fields["m"].values[:, None]
    within = v - (m * v).sum(axis=0) / m.sum()
    assert np.abs(v - within).max() > 0.1
    recorded: dict[str, float] = {}
    observer.recorder.record_observables = lambda step, time, values: recorded.update(values)  # type: ignore[method-assign]
    observer.observe()
    assert recorded["temperature/kinetic"] == pytest.approx((m * within**2).sum() / 3.0, rel=1e-9)
    assert recorded["temperature/kinetic"] > 0.1


def test_a_held_body_has_no_temperature_without_its_centre(scene: Path) -> None:
    asked = [{"kind": "temperatures", "every": 1, "centre_of_mass": False}]
    with pytest.raises(SceneError, match="centre_of_mass: cannot be left out where supports hold nodes, got"):
        build(scene, {"units.system": "dimensionless", "observe": asked})


def test_bodies_limit_the_elements(scene: Path) -> None:
    simulation = build(scene, {"constraint.0.body": "near"})
    assert simulation.constraints is not None
    assert simulation.constraints.count == 2
    assert "body_force" in simulation.potential.terms
    assert "rod" not in simulation.potential.terms


def test_rows_and_values_by_element(scene: Path) -> None:
    given = {"constraint.0.tuples": [[0, 1], [1, 3]], "constraint.0.length": ["1 m", "2 m"]}
    simulation = build(scene, given)
    lengths = simulation.constraints.potential.terms["rod"].data["length"]
    assert lengths.tolist() == [1.0, 2.0]


def test_a_stranger_registers_a_constraint(scene: Path, tmp_path: Path) -> None:
    (tmp_path / "track.py").write_text(dedent(TRACK))
    text = scene.read_text().replace("near = [0, 1, 2]", "near = [0, 1, 2], far = [3]")
    scene.write_text(text + '\n[[constraint]]\nkind = "track"\nname = "rail"\nbody = "far"\n')
    run = minusgrad.run(scene, out=tmp_path / "run", plugins=[tmp_path / "track.py"])
    x = run.simulation.fields["x"].values
    assert abs(x[3, 1]) < 1e-15
    assert run.series("observables/multiplier/rail").value.shape == (5, 1)


def test_a_scene_needs_no_energy_beside_a_constraint(scene: Path) -> None:
    text = scene.read_text()
    begin, end = text.index("[[energy]]"), text.index("[[constraint]]")
    scene.write_text(text[:begin] + text[end:])
    assert build(scene).potential.terms == {}


BAD: list[tuple[dict | Callable[[str], str], str]] = [
    ({"constraint.0.kind": "rodd"}, "constraint.0.kind: no constraint named 'rodd'; did you mean 'rod'?"),
    ({"constraint.0.lenght": 1.0}, "constraint.0.lenght: no key 'lenght'; did you mean 'length'?"),
    ({"constraint.0.body": "nobody"}, "constraint.0: no body named 'nobody'"),
    ({"constraint.0.length": [1.0, 2.0]}, "constraint.0: rod.length: "),
    ({"constraint.0.length": "3 s"}, "constraint.0.length: '3 s' is a time, but 'm' (length) is needed"),
    ({"constraint.0.length": 1.5}, "constraint.0: constraint 'rod', element 0 (nodes 0, 1): is violated"),
    ({"constraint.0.name": "body_force"}, "constraint.0: two terms have one name: body_force"),
    ({"stepper": {"kind": "implicit_euler", "dt": 0.01}}, "an implicit scheme: has no rule for constraints"),
    (lambda text: text.replace("[[constraint]]", "[constraint]"), "needs two brackets, [[constraint]]"),
    (lambda text: text.replace('kind = "rod"', 'kind = "spring"'), "no constraint named 'spring'"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_what_is_refused(scene: Path, change: dict | Callable[[str], str], message: str) -> None:
    if callable(change):
        scene.write_text(change(scene.read_text()))
        change = {}
    with pytest.raises((SceneError, UserError)) as refusal:
        build(scene, change)
    assert message in str(refusal.value)


def test_bad_input_ends_with_exit_code_2(scene: Path, tmp_path: Path) -> None:
    done = command("run", scene, "constraint.0.length=1.5", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("or move it there by project_start = true")
    assert not (tmp_path / "run").exists()


def test_projected_starts_run(scene: Path) -> None:
    simulation = build(scene, {"constraint.0.length": 1.05, "constraint.0.project_start": True})
    r = np.diff(simulation.fields["x"].values, axis=0)
    np.testing.assert_allclose(np.linalg.norm(r, axis=1), 1.05, rtol=1e-14)
    assert simulation.fields["x"].values[0].tolist() == [0.0, 0.0]


OFF = {"state.nodes": [[0.0, 0.0], [1.1, 0.0], [2.0, 0.2], [3.0, 0.0]], "constraint.0.project_start": True}
FIT = """
    [fit]
    method = "gauss_newton"
    iterations = 1
    [fit.parameters."rod.length"]
    [[fit.loss]]
    kind = "misfit"
    field = "x"
    body = "pivot"
    sigma = "1 m"
    data = "data.csv"
    """


def test_a_run_begins_at_the_bits_where_the_runs_of_a_fit_do(scene: Path) -> None:
    """A start off its rods, and lengths that a fit changes: projected once, from where the scene has it."""
    (scene.parent / "data.csv").write_text("time,x,y\n0.1,0.0,0.0\n")
    scene.write_text(scene.read_text() + dedent(FIT))
    fit = ParameterFit(RunOptions(scene, OFF | {"constraint.0.length": 1.0}).validated())
    fit.simulation.stepper.constraints.terms["rod"].set_datum("length", [1.2, 0.9, 1.1])
    fit.simulation.stepper.project_start()
    run = build(scene, OFF | {"constraint.0.length": [1.2, 0.9, 1.1]})
    for name in "xv":
        np.testing.assert_array_equal(fit.simulation.fields[name].values, run.fields[name].values)


def test_a_start_that_is_far_has_runs_and_no_derivatives(scene: Path) -> None:
    """Rods that are to be far longer and far shorter: no one projection leads there."""
    (scene.parent / "data.csv").write_text("time,x,y\n0.1,0.0,0.0\n")
    scene.write_text(scene.read_text() + dedent(FIT))
    far = OFF | {"constraint.0.length": [0.1, 2.5, 0.2]}
    run = build(scene, far)
    assert run.stepper.constraints.violation(["x"], 0.0) < 1e-15
    with pytest.raises(SceneError, match="the start is so far from them that no single projection reaches"):
        ParameterFit(RunOptions(scene, far).validated())
