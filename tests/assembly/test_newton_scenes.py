"""Scenes that Newton's method minimises: the end of L-BFGS in few steps, the solver, mistakes."""

import json
from pathlib import Path

import numpy as np
import pytest

from minusgrad import run
from minusgrad.errors import RunFailedError, SceneError
from tests.support.command import SCENES

STRETCH = SCENES / "stretch.toml"
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
    assert events[-1]["solver"].startswith("SuperLU: 150 unknowns, at most 12,000; ")


@pytest.mark.parametrize("solver", ["multigrid", "block_jacobi"])
def test_iterations_give_the_same_end(solver: str, tmp_path: Path, capsys) -> None:
    ends = []
    for kind in ("superlu", solver):
        done = run(STRETCH, newton(solver=kind, gradient="1e-12 J"), tmp_path / kind)
        assert done.simulation.stepper.outcome == "converged"
        ends.append(done.simulation.fields["x"].values)
    assert np.abs(ends[0] - ends[1]).max() < 1e-10


def test_what_nothing_holds_is_named(tmp_path: Path) -> None:
    """The cantilever without its wall: the load pushes it away and turns it."""
    own = {"stepper.kind": "newton", "hold": [], "observe": []}
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
