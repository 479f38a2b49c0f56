"""Paths by arc length: closed forms through limit points and snap-backs, units, steps, resuming, refusals."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import minusgrad as mg
from minusgrad import run
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.results.run import Run
from minusgrad.errors import RunFailedError, SceneError, UserError
from tests.support.command import SCENES, files, last_saved
from tests.support.command import minusgrad as command
from tests.support.short_scenes import cut
from tests.support.snapping import (
    AT_LIMIT,
    LIMIT,
    RISE,
    STIFF,
    advanced,
    arch_load,
    arch_path,
    followed,
    in_series,
    load_of,
    strut_path,
    two_bars,
)
from tests.support.tiers import sampled

# Two bars on paper ----------------------------------------------------------------------------------------


def test_two_bars_follow_their_curve_through_both_limit_points() -> None:
    simulation = two_bars(0.05)
    stepper, loads = simulation.stepper, []
    while stepper.outcome is None:
        simulation.step(1)
        y = simulation.fields["x"].values[1, 1]
        assert stepper.load == pytest.approx(load_of(y) / (2.0 * LIMIT), abs=1e-11)
        assert stepper.stable == (abs(y) > AT_LIMIT)
        loads.append(stepper.load)
    assert stepper.outcome == "converged"
    assert loads[-1] == 1.0
    assert max(loads[:60]) == pytest.approx(0.5, abs=1e-2)
    assert min(loads) == pytest.approx(-0.5, abs=1e-2)
    np.testing.assert_allclose([point.load for point in stepper.points], [0.5, -0.5], atol=1e-10)
    heights = [point.state.point.unknowns[0] for point in stepper.points]
    np.testing.assert_allclose(heights, [AT_LIMIT, -AT_LIMIT], atol=1e-7)
    assert [point.kind for point in stepper.points] == ["limit point"] * 2
    assert [point.node for point in stepper.points] == [1, 1]


@pytest.mark.parametrize("arc", [0.02, 0.1, 0.3, 1.0, 3.0])
def test_a_path_does_not_double_back(arc: float) -> None:
    """Over two decades of arc length the top only sinks, on the curve, past both limit points."""
    simulation = two_bars(arc)
    y = np.array([x[1, 1] for x in followed(simulation)])
    assert simulation.stepper.outcome == "converged"
    assert (np.diff(y) < 0.0).all()
    assert load_of(y[-1]) == pytest.approx(2.0 * LIMIT, rel=1e-11)
    np.testing.assert_allclose([p.load for p in simulation.stepper.points], [0.5, -0.5], atol=1e-10)


@pytest.mark.parametrize(("metre", "newton"), [(1e3, 1.0), (1.0, 1e-3), (1e-6, 1e6)])
def test_a_path_is_the_same_in_other_units(metre: float, newton: float) -> None:
    """m and mm, N and kN, um and uN: equal loads, arc lengths and steps."""
    paths = []
    for simulation, unit in ((two_bars(0.1), 1.0), (two_bars(0.1, metre, newton), metre)):
        rows = []
        while simulation.stepper.outcome is None:
            simulation.step(1)
            y = simulation.fields["x"].values[1, 1] / unit
            rows.append((simulation.stepper.load, simulation.stepper.arc, y))
        paths.append(np.array(rows))
    np.testing.assert_allclose(paths[1], paths[0], rtol=0.0, atol=1e-12)


def test_a_load_may_fall_first() -> None:
    """Pulled up, the two bars bear any load; the first step goes there."""
    simulation = two_bars(0.2, direction="down")
    y = [x[1, 1] for x in followed(simulation)]
    assert simulation.stepper.load == -1.0
    assert (np.diff(y) > 0.0).all()
    assert load_of(y[-1]) == pytest.approx(-2.0 * LIMIT, rel=1e-11)


# Snap-back ------------------------------------------------------------------------------------------------


def test_a_soft_spring_in_series_snaps_back() -> None:
    """Softer than the bars are at their steepest, the end of the spring goes back while the top goes on."""
    soft = 30.0
    simulation = in_series(soft, 0.05)
    places = followed(simulation)
    top, end = (np.array([x[node, 1] for x in places]) for node in (1, 3))
    assert simulation.stepper.outcome == "converged"
    assert (np.diff(top) < 0.0).all()
    assert (np.diff(end) > 0.0).any()
    np.testing.assert_allclose(end, top + 1.0 - load_of(top) / soft, atol=1e-11)
    np.testing.assert_allclose([p.load for p in simulation.stepper.points], [0.5, -0.5], atol=1e-10)


def test_a_support_that_is_displaced_is_a_load_that_turns() -> None:
    """d(place of the end)/d(place of the top) = 0: k' = soft, the limit points in the displacement."""
    soft = 30.0
    simulation = in_series(soft, 0.05, pulled=1.0)
    places = followed(simulation)
    top, end = (np.array([x[node, 1] for x in places]) for node in (1, 3))
    np.testing.assert_allclose(end, top + 1.0 - load_of(top) / soft, atol=1e-11)
    assert end[-1] == pytest.approx(RISE, abs=1e-14)

    def stiffness(y: float) -> float:
        """dP/dy."""
        length = np.hypot(1.0, y)
        return 2.0 * STIFF * (np.hypot(1.0, RISE) / length**3 - 1.0)

    assert len(simulation.stepper.points) == 2
    for point in simulation.stepper.points:
        y = point.state.point.unknowns[0]
        assert stiffness(y) == pytest.approx(soft, rel=1e-6)
        assert point.load == pytest.approx(RISE - (y - load_of(y) / soft), abs=1e-10)


# Steps ----------------------------------------------------------------------------------------------------


def test_steps_have_their_length_and_grow_where_they_may() -> None:
    short, long = two_bars(0.02), two_bars(0.02, longest=8.0)
    for simulation in (short, long):
        followed(simulation)
    assert long.stepper.step < 0.4 * short.stepper.step
    assert long.stepper.arc == pytest.approx(short.stepper.arc, rel=1e-2)
    np.testing.assert_allclose([p.load for p in long.stepper.points], [0.5, -0.5], atol=1e-10)


def test_a_first_step_is_as_long_as_the_load_grows() -> None:
    path = arch_path(1.0e-3, 1e-9, 1e-3)  # so flat that it is linear
    path.advance(1)
    assert path.load == pytest.approx(1e-3, rel=1e-4)
    assert path.arc == 1e-3


def test_a_step_that_ends_on_a_critical_point_is_shortened() -> None:
    """The strut's path is straight: the eighth step would end on the bifurcation, where no side is known."""
    load = 8.0 * 0.1 * np.sqrt(2.0)
    path = strut_path(load, 1.0, 0.1, most=2.0)
    advanced(path)
    assert [(p.kind, pytest.approx(load)) for p in path.points] == [("bifurcation", load)]


def test_a_step_that_cannot_be_taken_ends_the_path_at_its_last_state() -> None:
    simulation = two_bars(3.0, iterations=2, halvings=0)
    followed(simulation)
    stepper = simulation.stepper
    assert stepper.outcome == "stuck"
    assert stepper.failed
    assert stepper.step == 0
    y = simulation.fields["x"].values[1, 1]
    assert (stepper.load, y) == (0.0, pytest.approx(RISE))
    assert "stuck: no equilibrium was found beyond load 0 of 1" in stepper.verdict
    assert "raise `halvings` or `iterations`, or give a smaller `arc_length`" in stepper.verdict


def test_a_path_of_so_many_steps_has_not_failed() -> None:
    simulation = two_bars(0.1)
    simulation.step(3)
    assert simulation.stepper.outcome is None
    assert not simulation.stepper.failed
    assert simulation.stepper.verdict.startswith("followed: load 0.")


def test_parameters_may_be_written_between_steps() -> None:
    """Stiffer bars: the next state is on their curve."""
    simulation = two_bars(0.1)
    simulation.step(3)
    simulation.potential.set_parameter("spring.stiffness", 1.5 * STIFF)
    simulation.step(1)
    y = simulation.fields["x"].values[1, 1]
    assert simulation.stepper.load == pytest.approx(1.5 * load_of(y) / (2.0 * LIMIT), abs=1e-11)


# Shallow arch ---------------------------------------------------------------------------------------------


def test_a_shallow_arch_on_paper() -> None:
    """e = 2: only limit points, where 3 q^2 = e^2 - 1."""
    path = arch_path(2.0, 8.0, 0.05)
    seen = advanced(path)
    for load, (q, r) in seen:
        assert 8.0 * load == pytest.approx(arch_load(2.0, q), abs=1e-11)
        assert r == 0.0
    first = path.points[0]
    assert first.kind == "limit point"
    assert 8.0 * first.load == pytest.approx(arch_load(2.0, 1.0), abs=1e-10)


# Runs -----------------------------------------------------------------------------------------------------

TRUSS = SCENES / "two_bar_truss.toml"
OF_SCENE = LIMIT / 20.0
"""The limit load of the scene, as a part of its load."""


def moved(done: Run) -> tuple[np.ndarray, np.ndarray]:
    """The load factor and the height of the top at each step."""
    factor = done.series("observables/load_path/factor").value
    return factor, RISE + done.series("observables/load_path/displacement/top").value[:, 1]


def test_a_run_says_its_limit_points_and_records_its_path(tmp_path: Path) -> None:
    done = run(TRUSS, {}, tmp_path / "run")
    first, second = (one for one in done.remarks if "limit point" in one)
    assert first.startswith("a limit point at load 0.4974958 of 1, whose mode moves node 1 most: the load")
    assert "a limit point at load -0.4974958 of 1" in second
    assert first in (tmp_path / "run" / "journal.jsonl").read_text()
    assert done.outcome == "converged"
    factor, y = moved(done)
    np.testing.assert_allclose(20.0 * factor, load_of(y), atol=1e-10)
    unstable = done.series("observables/load_path/unstable").value
    np.testing.assert_array_equal(unstable, np.abs(y) < AT_LIMIT)
    arc = done.series("observables/load_path/arc_length")
    np.testing.assert_array_equal(arc.value, arc.time)
    assert (np.diff(arc.value)[:-1] > 0.099).all()


def test_the_scene_of_two_bars(tmp_path: Path) -> None:
    """Limit points of 9.950 N, both to 1e-10, and every state on the curve."""
    simulation = mg.load(TRUSS)
    states = followed(simulation)
    loads = [20.0 * point.load for point in simulation.stepper.points]
    np.testing.assert_allclose(loads, [LIMIT, -LIMIT], atol=2e-9, rtol=1e-10)
    assert f"{LIMIT:.3f}" == "9.950"
    factor, y = moved(run(TRUSS, {}, tmp_path / "run"))
    np.testing.assert_allclose(y, [x[1, 1] for x in states], atol=1e-15)
    np.testing.assert_allclose(20.0 * factor, load_of(y), atol=1e-10)


def test_load_steps_record_their_path_too(tmp_path: Path) -> None:
    own = {"stepper.load_steps": 4, "energy.1.force": ["0 N", "-5 N"], "run.steps": 4}
    factor, y = moved(run(TRUSS, own, tmp_path / "run"))
    np.testing.assert_allclose(factor, [0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(5.0 * factor, load_of(y), atol=1e-8)


def test_a_path_that_was_cut_ends_with_the_same_files(tmp_path: Path) -> None:
    """Cut between the limit points, where the tangent points down."""
    own = {"checkpoint.every": 5}
    expected = files(run(TRUSS, own, tmp_path / "whole").folder)
    folder = cut(tmp_path / "run", TRUSS, own, 23)
    assert 20 <= last_saved(folder) < 57
    resume(folder)
    assert files(folder) == expected


def test_a_picture_of_a_path(tmp_path: Path) -> None:
    from minusgrad.plot.pictures import drawings, plot

    folder = run(TRUSS, {}, tmp_path / "run").folder
    jobs, _ = drawings(folder)
    assert "load_path" in jobs
    assert "observables" not in jobs
    figure = Figure()
    jobs["load_path"](figure)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "displacement of top, -y [m]"
    drawn = [line for line in axes.lines if len(line.get_xdata()) > 2]
    assert [line.get_linestyle() for line in drawn] == ["-", "--", "-"]
    assert plot(folder, tmp_path / "pictures", field="load_path/factor")


def test_members_follow_their_own_paths(tmp_path: Path) -> None:
    """Bars of three stiffnesses: each has its limit point at its own load, as alone."""
    own = {"ensemble": {"vary": {"spring.stiffness": {"list": ["0.5 kN/m", "1 kN/m", "1.5 kN/m"]}}}}
    done = run(TRUSS, own, tmp_path / "run")
    factor = done.series("observables/load_path/factor").value
    assert factor.shape[1] == 3
    first = [column[np.argmax(np.diff(column) < 0.0)] for column in factor.T]
    np.testing.assert_allclose(first, np.array([0.5, 1.0, 1.5]) * OF_SCENE, rtol=2e-2)
    alone = run(TRUSS, {"energy.0.stiffness": "1.5 kN/m"}, tmp_path / "alone")
    stiff = alone.series("observables/load_path/factor").value
    np.testing.assert_array_equal(factor[: len(stiff), 2], stiff)


@pytest.mark.parametrize("engine", sampled(["taichi", "quadrants"], ["quadrants"]))
def test_both_engines_follow_it(engine: str, tmp_path: Path) -> None:
    done = command("run", TRUSS, "--out", tmp_path / "run", MINUSGRAD_ENGINE=engine)
    assert done.returncode == 0
    assert "a limit point at load 0.4974958 of 1; a limit point at load -0.4974958 of 1" in done.stdout


# Bodies ---------------------------------------------------------------------------------------------------

SHEET = {
    "state": {"kind": "rectangle", "size": [1.0, 0.5], "cells": [4, 2], "density": 1.0},
    "energy": [
        {"kind": "neo_hookean", "youngs_modulus": 10.0, "poissons_ratio": 0.3},
        {"kind": "traction", "name": "to_right", "body": "right", "traction": [0.5, 0.0]},
        {"kind": "traction", "name": "to_left", "body": "left", "traction": [-0.5, 0.0]},
    ],
    "run": {"steps": 40},
}


def stretched(loads: list[str], folder: Path) -> Run:
    stepper = {"kind": "newton", "load_steps": {"arc_length": 0.25}, "loads": loads}
    return mg.run({**SHEET, "stepper": stepper}, out=folder)


def test_a_free_body_under_balanced_loads_has_a_path(tmp_path: Path) -> None:
    done = stretched(["to_right.traction", "to_left.traction"], tmp_path / "run")
    assert done.outcome == "converged"
    assert any("nothing resists a translation along x" in one for one in done.remarks)
    steps = {"kind": "newton", "load_steps": 2, "loads": ["to_right.traction", "to_left.traction"]}
    other = mg.run({**SHEET, "stepper": steps}, out=tmp_path / "steps")
    lengths = [np.ptp(one.simulation.fields["x"].values[:, 0]) for one in (done, other)]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-8)


def test_a_load_that_nothing_resists_has_no_path(tmp_path: Path) -> None:
    del_left = {**SHEET, "energy": SHEET["energy"][:2]}
    stepper = {"kind": "newton", "load_steps": {"arc_length": 0.25}, "loads": ["to_right.traction"]}
    with pytest.raises(RunFailedError, match=r"nothing resists a translation along x.*the load acts"):
        mg.run({**del_left, "stepper": stepper}, out=tmp_path / "run")


# Refused --------------------------------------------------------------------------------------------------

PATH = {"kind": "newton", "load_steps": {"arc_length": 0.1}, "loads": ["load.force"]}


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"stepper": PATH | {"loads": []}}, "nothing grows with the load"),
        ({"stepper": PATH | {"gradient": 1e-3}}, "gradient: has no meaning along a path by arc length"),
        ({"stepper": PATH | {"time": "2 s"}}, "time: has no meaning along a path by arc length"),
        ({"stepper": PATH | {"halvings": 3}}, "halvings: belongs into the table of `load_steps`"),
        ({"stepper": PATH | {"load_steps": {}}}, "load_steps.arc_length: required, but missing"),
        ({"stepper": PATH | {"load_steps": {"arc_length": 0}}}, "arc_length: needs a number above 0, not 0"),
        ({"stepper": PATH | {"load_steps": 0}}, "load_steps: needs a number of at least 1, not 0"),
        ({"stepper": PATH | {"load_steps": {"arc_length": 0.1, "slopes": ["spring.k"]}}}, "'k'"),
        ({"stepper": PATH | {"solver": "block_jacobi"}}, "arc_length: needs factors"),
        ({"stepper": PATH | {"fields": {"x": {"lower": "-1 m"}}}}, "arc_length: unknowns have bounds"),
        ({"runtime.precision": "f32"}, 'arc_length: needs double precision.*precision = "f64"'),
        (
            {"hold.1": {"body": "top", "axes": "x", "velocity": ["1 m/s"]}},
            "arc_length: has no rule for supports that move.*displacement without a duration",
        ),
        (
            {"dissipation": [{"kind": "mass_damping", "rate": "1 s^-1"}]},
            "arc_length: has no rule for friction.*has no velocities",
        ),
        ({"observe.0.bodies": ["tip"]}, "load_path: no body named 'tip'"),
        ({"observe.0.nodes": [3]}, "load_path: no node 3; 'x' has 3"),
    ],
)
def test_refused(own: dict, text: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=text):
        run(TRUSS, own, tmp_path / "run")


def test_the_observer_is_of_loads_that_grow(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="load_path: is of equilibria under a growing load"):
        run(TRUSS, {"stepper": {"kind": "newton"}}, tmp_path / "run")


def test_a_fit_takes_no_path(tmp_path: Path) -> None:
    shape, own = SCENES / "stiffness_from_shape.toml", {"stepper.load_steps": {"arc_length": 0.1}}
    with pytest.raises(SceneError, match="load_steps: a fit finds each equilibrium in one search"):
        mg.fit(shape, own | {"stepper.loads": ["weight.acceleration"]}, tmp_path / "fit")


def test_tensors_take_no_path() -> None:
    pytest.importorskip("torch")
    from minusgrad.torch import equilibrium

    with pytest.raises(UserError, match="load_steps: a tensor's equilibrium is found in one search"):
        equilibrium(TRUSS)
