"""Observers that ask by time: the steps that they see, changed steps, and times between steps."""

import re

import numpy as np
import pytest

import minusgrad
from minusgrad import build
from minusgrad.app.info import info
from minusgrad.errors import InterruptedRunError, SceneError
from tests.support.command import SCENES, files

SCENE = SCENES / "outer_solar_system.toml"


@pytest.mark.parametrize(
    ("dt", "every", "steps"), [("5 day", "75 day", 15), ("0.1 day", "0.3 day", 3), ("2 h", "1 day", 12)]
)
def test_a_time_is_a_number_of_steps(dt, every, steps):
    one = build(SCENE, {"stepper.dt": dt, "observe.0.every": every})
    assert one.observers[0].trigger.n == steps


@pytest.mark.parametrize("stepper", ["yoshida4", "gauss_radau"])
def test_states_are_at_these_times(tmp_path, stepper):
    change = {"stepper.kind": stepper, "stepper.dt": "12.5 day", "run.steps": 40}
    change |= {f"observe.{k}.every": "125 day" for k in range(3)}
    run = minusgrad.run(SCENE, change, out=tmp_path / "run")
    assert run.series("observables/total").time.tolist() == [0.0, 125.0, 250.0, 375.0, 500.0]


@pytest.mark.parametrize(
    ("scene", "change", "said"),
    [
        (
            SCENE,
            {"observe.0.every": "12 day"},
            "of steps, dt = 5 day, got 2.4; the nearest are 10 day (2 steps) and 15 day (3 steps)",
        ),
        (
            SCENE,
            {"observe.0.every": "1 day"},
            "of steps, dt = 5 day, got 0.2; the nearest are 5 day (1 step)",
        ),
        (SCENE, {"observe.0.every": "2 kg"}, "'2 kg' is a mass, but 's' (time) is needed"),
        (SCENE, {"observe.0.every": "often"}, "'often' is not a quantity"),
        (
            SCENES / "stretch.toml",
            {"observe.0.every": "1 s"},
            "stepper 'lbfgs' has no dt, got a time",
        ),
    ],
)
def test_other_times_are_refused(scene, change, said):
    text = refused(scene, change)
    assert "observe.0.every: " in text
    assert said in text


def refused(scene, change) -> str:
    with pytest.raises(SceneError) as caught:
        build(scene, change)
    return str(caught.value)


def test_a_wrong_dt_is_reported_once():
    with pytest.raises(SceneError) as caught:
        build(SCENE, {"stepper.dt": "5 kg", "observe.0.every": "10 day"})
    (problem,) = caught.value.problems
    assert "stepper.dt" in str(problem)


# The time of a run ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dt", "time", "steps"),
    [
        ("5 day", "100 yr", 7305),
        ("0.1 day", "0.3 day", 3),
        ("2 h", "1 day", 12),
        (5.0, 50.0, 10),
        ("1 yr", 365.25, 1),
    ],
)
def test_the_time_of_a_run_is_a_number_of_steps(dt, time, steps):
    one = build(SCENE, {"stepper.dt": dt, "run.time": time, "observe": []})
    assert one.last == one.scene.run.steps == steps


@pytest.mark.parametrize(
    ("scene", "change", "said"),
    [
        (
            SCENE,
            {"run.time": "12 day"},
            "needs a whole number of steps, dt = 5 day, got 2.4; the nearest are 10 day (2 steps) and"
            " 15 day (3 steps)",
        ),
        (SCENE, {"run.time": 12.0}, "got 2.4; the nearest are 10 (2 steps) and 15 (3 steps)"),
        (SCENE, {"run.time": "1 h"}, "the nearest are 120 h (1 step)"),
        (SCENE, {"run.time": "1 kg"}, "'1 kg' is a mass, but 's' (time) is needed"),
        (SCENE, {"run.time": "-5 day"}, "needs a quantity above 0, not '-5 day'"),
        (
            SCENES / "stretch.toml",
            {"run.time": "1 s"},
            "stepper 'lbfgs' has no dt, got a time; give a number of",
        ),
        (
            SCENE,
            {
                "run.time": "50 day",
                "ensemble": {"members": 2, "vary": {"stepper.dt": {"list": ["5 day", "2 day"]}}},
            },
            "members differ in stepper.dt, so that they need other numbers of steps; give steps",
        ),
    ],
)
def test_other_times_of_a_run_are_refused(scene, change, said):
    text = refused(scene, change)
    assert "run.time: " in text
    assert said in text


@pytest.mark.parametrize(
    "times", [("7.123456789 day", "7.3 day"), ("3e-3 yr", "1 yr"), ("3 h", "0.123456789 day")]
)
def test_the_nearest_times_can_be_used(times):
    dt, time = times
    change = {"stepper.dt": dt, "observe": []}
    with pytest.raises(SceneError) as caught:
        build(SCENE, change | {"run.time": time})
    near = re.findall(r"([\d.e+-]+ \w+) \((\d+) step", str(caught.value))
    assert near
    for one, steps in near:
        assert build(SCENE, change | {"run.time": one}).last == int(steps)


def test_a_run_has_steps_or_a_time(tmp_path):
    text = SCENE.read_text()
    (tmp_path / "data").mkdir()
    table = "data/outer_solar_system.csv"
    (tmp_path / table).write_bytes((SCENES / table).read_bytes())
    for run in ("[run]\n", "[run]\nsteps = 10\ntime = '50 day'\n"):
        (tmp_path / "a.toml").write_text(re.sub(r"\[run\]\nsteps = \S+\n", run, text))
        with pytest.raises(
            SceneError, match=r'run: needs either steps, or a time such as "10 s", in place of it'
        ):
            build(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text(re.sub(r"\[run\]\nsteps = \S+\n", "[run]\ntime = '50 day'\n", text))
    assert build(tmp_path / "a.toml").last == 10
    assert build(tmp_path / "a.toml", {"run.steps": 3}).last == 3
    assert build(tmp_path / "a.toml", {"run.time": "20 day"}).last == 4


def test_a_run_of_a_time_is_resumed_and_says_its_last_step(tmp_path):
    change = {"run.time": "50 day", "stepper.dt": "5 day", "observe": []}
    whole = minusgrad.run(SCENE, change, out=tmp_path / "whole")
    assert (whole.simulation.stepper.step, info(tmp_path / "whole")["last"]) == (10, 10)
    with pytest.raises(InterruptedRunError):
        minusgrad.run(SCENE, change, out=tmp_path / "cut", max_hours=1e-12)
    minusgrad.resume(tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_time_in_python():
    x = np.zeros((1, 3))
    energy = minusgrad.energy("gravity")
    sim = minusgrad.Simulation(
        fields={"x": np.vstack([x, x + 1.0]), "m": np.ones(2)},
        energies=[energy],
        stepper=minusgrad.Leapfrog(dt=0.5),
        run={"time": "2 s"},
    )
    assert sim.last == 4
