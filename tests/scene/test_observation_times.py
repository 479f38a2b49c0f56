"""Observers that ask by time: the steps that they see, changed steps, and times between steps."""

import pytest

import minusgrad
from minusgrad import build
from minusgrad.errors import SceneError
from tests.support.command import SCENES

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
            "of steps, dt = 5 day, got 2.4; change either",
        ),
        (
            SCENE,
            {"observe.0.every": "1 day"},
            "of steps, dt = 5 day, got 0.2; change either",
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
    with pytest.raises(SceneError) as caught:
        build(scene, change)
    assert "observe.0.every: " in str(caught.value)
    assert said in str(caught.value)


def test_a_wrong_dt_is_reported_once():
    with pytest.raises(SceneError) as caught:
        build(SCENE, {"stepper.dt": "5 kg", "observe.0.every": "10 day"})
    (problem,) = caught.value.problems
    assert "stepper.dt" in str(problem)
