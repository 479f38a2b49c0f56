"""Scenes that Newton's method minimises: the end of L-BFGS in few steps, the solver, mistakes."""

import json
from pathlib import Path

import numpy as np
import pytest

from minusgrad import build, run
from minusgrad.app.jobs.job_runs import resume
from minusgrad.errors import RunFailedError, SceneError
from tests.support.command import SCENES, files
from tests.support.short_scenes import cut

STRETCH = SCENES / "stretch.toml"
SEARCH = {"kind": "newton", "fields": {"x": {"scale": "1 cm"}}}
FEW = {"run.steps": 40, "observe": []}


def newton(**keys: object) -> dict[str, object]:
    return FEW | {"stepper": {"kind": "newton", "fields": {"x": {"scale": "1 cm"}}} | keys}


def test_the_end_is_that_of_lbfgs_in_a_tenth_of_the_steps(tmp_path: Path) -> None:
    whole = run(STRETCH, {"observe": []}, tmp_path / "lbfgs").simulation
    one = run(STRETCH, newton(gradient="1e-13 J"), tmp_path / "newton")
    stepper = one.simulation.stepper
    assert stepper.outcome == "converged"
    assert stepper.step <= 12
    assert 10 * stepper.step <= whole.stepper.step
    ends = [simulation.fields["x"].values for simulation in (whole, one.simulation)]
    assert np.abs(ends[0] - ends[1]).max() < 1e-10
    events = [json.loads(line) for line in (one.folder / "journal.jsonl").read_text().splitlines()]
    assert events[-1]["solver"].startswith("SuperLU: 150 unknowns, at most 1,500; ")
    assert events[-1]["solver_bits"].startswith("the same on one machine with one number of threads")


@pytest.mark.parametrize("solver", ["multigrid", "block_jacobi"])
def test_iterations_give_the_same_end(solver: str, tmp_path: Path, capsys) -> None:
    ends = []
    for kind in ("superlu", solver):
        done = run(STRETCH, newton(solver=kind, gradient="1e-12 J"), tmp_path / kind)
        assert done.simulation.stepper.outcome == "converged"
        ends.append(done.simulation.fields["x"].values)
    assert np.abs(ends[0] - ends[1]).max() < 1e-10


COLUMN = """
[state]
kind = "beam"
length = "1 m"
width = "5 cm"
height = "5 cm"
cells = [3, 1, 1]
cell = "hexahedra"
density = "1000 kg/m^3"
[[energy]]
kind = "st_venant_kirchhoff"
youngs_modulus = "1 MPa"
poissons_ratio = 0.0
[[energy]]
kind = "traction"
body = "right"
traction = ["0 Pa", "0 Pa", "0 Pa"]
[[hold]]
body = "left"
[stepper]
kind = "newton"
[run]
steps = 20
"""


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_without_a_load_all_forces_are_rounding_and_the_search_ends(precision: str, tmp_path: Path) -> None:
    (tmp_path / "column.toml").write_text(COLUMN)
    own = {"runtime.precision": precision}
    done = run(tmp_path / "column.toml", own, tmp_path / "run")
    assert done.outcome == "converged"
    stepper = done.simulation.stepper
    assert stepper.verdict.endswith(f", all of it rounding (step {stepper.step})")
    assert resume(cut(tmp_path / "parts", tmp_path / "column.toml", own, 1)).outcome == "converged"
    assert files(tmp_path / "run") == files(tmp_path / "parts")


def test_a_load_near_rounding_still_moves_the_body(tmp_path: Path) -> None:
    """A pull of 1e-15 of E lengthens the column by about as much."""
    (tmp_path / "column.toml").write_text(COLUMN)
    pull = {"energy.1.traction": ["1e-9 Pa", "0 Pa", "0 Pa"]}
    done = run(tmp_path / "column.toml", pull, tmp_path / "run")
    assert done.outcome == "converged"
    x, start = done.simulation.fields["x"].values, build(tmp_path / "column.toml").fields["x"].values
    end = start[:, 0] > 0.99
    assert np.mean((x - start)[end, 0]) == pytest.approx(1e-15, abs=3e-16)


def test_what_nothing_holds_is_named(tmp_path: Path) -> None:
    """The cantilever without its wall: the load pushes it away and turns it."""
    own = {"hold": [], "observe": []}
    with pytest.raises(RunFailedError, match="the Hessian is singular: nothing resists a translation"):
        run(SCENES / "cantilever.toml", own, tmp_path / "run")


def test_energies_that_read_maps_have_no_sparse_hessian(tmp_path: Path) -> None:
    own = {"stepper": {"kind": "newton", "fields": {"x": {}, "y": {}}}, "observe": []}
    with pytest.raises(SceneError, match=r"stepper: .*this Hessian is no sum over elements"):
        run(SCENES / "laser_butterfly.toml", own, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_unknown_solver_is_a_mistake_in_the_scene(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"stepper\.solver: .*'superlu'"):
        run(STRETCH, newton(solver="cholmod"), tmp_path / "run")


# Tolerances ---------------------------------------------------------------------------------------------


def test_a_search_ends_at_a_relative_force(tmp_path: Path) -> None:
    """The largest force is that of the supports; it does not depend on units, nor on the scale of x."""
    for scale in ("1 cm", "1 um"):
        own = {"kind": "newton", "fields": {"x": {"scale": scale}}, "tolerance": {"force": 1e-6}}
        stepper = run(STRETCH, FEW | {"stepper": own}, tmp_path / scale[2:]).simulation.stepper
        assert stepper.outcome == "converged"
        gradient = stepper.gradient["x"]
        free = stepper.holds.free("x")
        left, most = np.abs(gradient[free]).max(), np.abs(gradient).max()
        assert stepper.status.force == pytest.approx(left / most, rel=1e-12)
        assert left / most <= 1e-6


def test_a_search_ends_at_a_step_in_lengths(tmp_path: Path) -> None:
    steps = {}
    for length in ("1 mm", "1 nm"):
        done = run(
            STRETCH, {**FEW, "stepper": SEARCH | {"tolerance": {"step": length}}}, tmp_path / length[2:]
        )
        stepper = done.simulation.stepper
        assert stepper.outcome == "converged"
        assert stepper.moved <= {"1 mm": 1e-3, "1 nm": 1e-9}[length]
        steps[length] = stepper.step
    assert steps["1 mm"] < steps["1 nm"]


def test_of_two_tolerances_both_are_reached(tmp_path: Path) -> None:
    both = {"force": 0.5, "step": "1 nm"}
    one = run(STRETCH, {**FEW, "stepper": SEARCH | {"tolerance": both}}, tmp_path / "both").simulation.stepper
    assert one.outcome == "converged"
    assert one.status.moved <= 1e-9
    assert "; force " in one.verdict
    assert one.verdict.count("asked") == 2


def test_every_minimiser_takes_them(tmp_path: Path) -> None:
    own = {"kind": "lbfgs", "fields": {"x": {"scale": "1 cm"}}, "tolerance": {"force": 1e-5}}
    done = run(STRETCH, {"observe": [], "stepper": own}, tmp_path / "run").simulation.stepper
    assert (done.outcome, done.failed) == ("converged", False)


@pytest.mark.parametrize(
    ("tolerance", "text"),
    [
        ({}, "needs `force` or `step`, or both"),
        ({"force": 0.0}, "stepper.tolerance.force: needs a number above 0, not 0.0"),
        ({"step": "1 kg"}, "1 kg"),
        ({"step": "0 m"}, "tolerance.step: must be positive, got 0 m; give a length"),
    ],
)
def test_tolerances_that_mean_nothing(tolerance: dict, text: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError) as message:
        run(STRETCH, {**FEW, "stepper": SEARCH | {"tolerance": tolerance}}, tmp_path / "run")
    assert text in str(message.value)


def test_a_step_of_fields_with_different_units_is_refused(tmp_path: Path) -> None:
    own = {"kind": "newton", "fields": {"x": {}, "m": {"lower": "1 g"}}, "tolerance": {"step": 1e-9}}
    with pytest.raises(SceneError, match="the fields 'x' and 'm' have different units; use `change`"):
        run(SCENES / "stiffness_from_shape.toml", {"stepper": own, "observe": []}, tmp_path / "run")


def test_one_energy_of_a_free_body_is_judged_by_its_start(tmp_path: Path) -> None:
    """At rest it exerts no force on any node."""
    stepper = SEARCH | {"tolerance": {"force": 1e-6}}
    bent = build(STRETCH, {"hold": [], "observe": [], "stepper": stepper, "state.cells": [2, 2, 1]})
    x = bent.fields["x"]
    x.set(x.values * [1.05, 1.0, 0.98])
    bent.step(30)
    assert bent.stepper.outcome == "converged", bent.stepper.verdict
