"""Fits to the data of many experiments: sums over members, their bits, their data files, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.errors import InterruptedRunError, NonFiniteError, SceneError
from tests.support.command import SCENES, files
from tests.support.short_scenes import ctrl_c

SCENE = SCENES / "calibration.toml"
FEW: dict[str, Any] = {"ensemble.members": 4}
STIFFNESS = "spring.stiffness"


def fit_of(path: Path = SCENE, **more: Any) -> ParameterFit:
    return ParameterFit(RunOptions(path, FEW | more).validated())


def gradient(fit: ParameterFit) -> np.ndarray:
    found = {name: np.zeros(field.shape) for name, field in fit.objective.fields.items()}
    fit.objective.evaluate_into(found)
    return np.concatenate([one.ravel() for one in found.values()])


def test_loss_gradient_and_curvature_are_the_sums_of_those_of_the_members() -> None:
    """In the order of the members, with the bits of fits of each alone."""
    whole, alone = fit_of(), [fit_of(**{"ensemble.member": k}) for k in range(4)]
    direction = [{STIFFNESS: np.ones(1)}]
    for fit in (whole, *alone):
        fit.objective.fields[STIFFNESS].set(np.array([2.2]))
    assert whole.objective.value() == sum(fit.objective.value() for fit in alone)
    assert gradient(whole) == sum(gradient(fit) for fit in alone)
    assert whole.objective.curvature(direction) == sum(fit.objective.curvature(direction) for fit in alone)
    assert whole.count == sum(fit.count for fit in alone) == 4 * 20


def test_the_gradient_is_that_of_the_loss() -> None:
    """By a difference of fourth order; of a parameter and an initial field at once."""
    shared = {STIFFNESS: {}, "v": {"body": "bob", "scale": "1 m/s"}}
    fit = fit_of(**{"fit.parameters": shared})
    name, h = "v", 1e-3
    field = fit.objective.fields[name]
    start = field.values.copy()

    def at(shift: float) -> float:
        field.set(start + shift * np.array([[0.0, 0.0], [1.0, 0.5]]))
        return fit.objective.value()

    slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
    field.set(start)
    found = {name: np.zeros(field.shape)}
    fit.objective.evaluate_into(found)
    assert found[name][1] @ [1.0, 0.5] == pytest.approx(slope, rel=1e-7)


def test_the_bits_depend_neither_on_threads_nor_on_earlier_evaluations(any_threads: None) -> None:
    found = []
    for threads in (1, 2):
        fit = fit_of(**{"runtime.threads": threads})
        for k in (2.0, 3.0, 2.0):
            fit.objective.fields[STIFFNESS].set(np.array([k]))
            found.append((fit.objective.value(), gradient(fit).tobytes()))
    assert found[0] == found[2] == found[3] == found[5]
    assert found[0] != found[1]


def test_half_a_fit_and_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    changes = FEW | {"fit.save_every": 2}
    expected = files(minusgrad.fit(SCENE, changes, "whole").folder)
    with ctrl_c(2) as progress, pytest.raises(InterruptedRunError):
        minusgrad.fit(SCENE, changes, "half", progress=progress)
    assert not Path("half/fit.json").exists()
    minusgrad.resume("half")
    found = files(Path("half"))
    assert found == expected
    assert "inputs/data/calibration.csv" in found


HANGING = """
title = "A mass hangs on a spring"
plugins = ["elastic"]
[state]
kind = "network"
nodes = [[0.0, 0.0], [0.0, -1.0]]
springs = [[0, 1]]
mass = 1.0
bodies = { nail = [0], bob = [1] }
[[energy]]
kind = "spring"
stiffness = 300.0
rest = 1.0
[[energy]]
kind = "body_force"
acceleration = [0.0, -10.0]
[[hold]]
body = "nail"
[stepper]
kind = "newton"
[run]
steps = 50
[ensemble.vary]
"state.m" = { list = [1.0, 2.0, 3.0], body = "bob" }
[fit]
of = "equilibrium"
members = "experiments"
method = "gauss_newton"
iterations = 20
[fit.parameters."spring.stiffness"]
[[fit.loss]]
kind = "misfit"
field = "x"
body = "bob"
sigma = 1e-3
data = "hanging_{member:02}.csv"
"""


def hanging(folder: Path, **more: str) -> Path:
    """A mass m hangs at y = -(1 + m g / k), k = 200 N/m; a file for each of three masses."""
    for member, mass in enumerate((1.0, 2.0, 3.0)):
        (folder / f"hanging_{member:02}.csv").write_text(f"time,x,y\n0,0,{-(1.0 + mass * 10.0 / 200.0)!r}\n")
    (folder / "hanging.toml").write_text(HANGING)
    return folder / "hanging.toml"


def test_equilibria_of_experiments_with_files_of_their_own(tmp_path: Path) -> None:
    fit = minusgrad.fit(hanging(tmp_path), out=tmp_path / "fit")
    (found,) = fit.estimates.parameters
    assert found.values == pytest.approx(200.0, rel=1e-9)
    assert fit.estimates.observations == 6
    slope = np.array([1.0, 2.0, 3.0]) * 10.0 / 200.0**2  # dy/dk
    assert found.errors == pytest.approx(1e-3 / np.sqrt((slope**2).sum()), rel=1e-6)
    there = sorted(path.name for path in (tmp_path / "fit/inputs").iterdir())
    assert there == ["hanging_00.csv", "hanging_01.csv", "hanging_02.csv"]


def test_equilibria_go_on_where_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = hanging(tmp_path)
    monkeypatch.chdir(tmp_path)
    changes = {"fit.save_every": 1, "fit.method": "lbfgs", "fit.iterations": 4}
    expected = files(minusgrad.fit(scene, changes, "whole").folder)
    with ctrl_c(2) as progress, pytest.raises(InterruptedRunError):
        minusgrad.fit(scene, changes, "half", progress=progress)
    minusgrad.resume("half")
    assert files(Path("half")) == expected


def test_experiments_measured_at_other_times_are_summed_too(tmp_path: Path) -> None:
    for name in ("calibration", "calibration_experiments"):
        text = (SCENES / f"data/{name}.csv").read_text()
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(("1,4.5", "1,5.0"))]
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / f"data/{name}.csv").write_text("".join(kept))
    (tmp_path / "calibration.toml").write_text(SCENE.read_text())
    whole = fit_of(tmp_path / "calibration.toml")
    assert whole.plan.startswith("4 experiments share the parameters, 2 with different times of measurements")
    alone = [fit_of(tmp_path / "calibration.toml", **{"ensemble.member": k}) for k in range(4)]
    assert [fit.count for fit in alone] == [20, 16, 20, 20]
    assert whole.objective.value() == sum(fit.objective.value() for fit in alone)
    assert gradient(whole) == sum(gradient(fit) for fit in alone)


def test_a_member_whose_run_is_not_finite_is_named() -> None:
    with pytest.raises(NonFiniteError, match=r"the experiments: member 2: .*step \d+"):
        fit_of(**{"ensemble.vary": {"state.v": {"list": [0.0, 0.0, 1e200, 0.0], "body": "bob"}}})


REFUSED: dict[str, dict[str, Any]] = {
    "'spring.stiffness': is varied by [ensemble], and experiments share what is fitted; leave it out of"
    ' [ensemble.vary], or set [fit] members = "starts"': {
        "ensemble.vary": {STIFFNESS: {"list": [1.0, 2.0, 3.0, 4.0]}}
    },
    "data/calibration.csv: needs rows of member 64, got none; add them": {
        "ensemble": {"members": 65, "vary": {}}
    },
    "fit.members: needs 'experiments' or 'starts', not 'all'": {"fit.members": "all"},
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_mistake_about_the_members_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(SceneError) as refused:
        fit_of(**REFUSED[text])
    assert text in str(refused.value)


def test_files_and_columns_of_members_need_an_ensemble(tmp_path: Path) -> None:
    without = HANGING.replace('[ensemble.vary]\n"state.m" = { list = [1.0, 2.0, 3.0], body = "bob" }\n', "")
    scene = hanging(tmp_path)
    cases: dict[str, Callable[[str], str]] = {
        "fit.members: members: needs an [ensemble], got none; add it, or leave `members` out": lambda t: t,
        "data: names the file of a member, got a scene without [ensemble]: 'hanging_{member:02}.csv'": (
            lambda t: t.replace('members = "experiments"\n', "")
        ),
        "fit: members: says what the members of [ensemble] are, got nothing": (
            lambda t: HANGING.replace('members = "experiments"\n', "")
        ),
        "hanging.csv: has a column 'member', got a scene without [ensemble]; add it, or": (
            lambda t: t.replace('members = "experiments"\n', "").replace("_{member:02}", "")
        ),
    }
    (tmp_path / "hanging.csv").write_text("member,time,x,y\n0,0,0,-1.05\n")
    for text, change in cases.items():
        scene.write_text(change(without))
        with pytest.raises(SceneError) as refused:
            ParameterFit(RunOptions(scene).validated())
        assert text in str(refused.value)
