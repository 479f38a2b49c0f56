"""Planned motion against a plain planner in NumPy, and its gradient against differences."""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, bind_staged
from minusgrad_laser.machine.planned_motion import planned_motion, planned_motion_by_jerk
from tests.support.slow_planner import planned

GIVES = ("feed", "duration", "nominal")
PATH = ("x", "y", "speed", "lit")


def term(energy: Any, given: dict[str, Any], precision: str = "f64") -> Any:
    given = dict(given)
    fields = Fields({name: given.pop(name) for name in PATH}, precision=precision)
    blocks = {"planner_blocks": given.pop("planner_blocks")}
    return bind_staged(energy, fields, data=blocks, parameters=given)


def machine(**changes: Any) -> dict[str, Any]:
    """A GRBL engraver: 100 mm/s along x, 80 along y, 1,500 mm/s^2."""
    limits = {"axis_speed": [0.1, 0.08], "axis_acceleration": [1.5, 1.2], "planner_blocks": 16}
    return limits | {"line_time": 0.0, "lit_time": 0.0} | changes


def wander(rng: np.random.Generator, n: int = 60, step: float = 3e-4) -> dict[str, np.ndarray]:
    """A path with sharp and blunt corners, straight parts and travels."""
    turns = rng.normal(size=n) * rng.choice([0.0, 0.1, 1.5], n)
    lengths = step * rng.uniform(0.2, 2.0, n)
    x, y = (np.cumsum(lengths * f(np.cumsum(turns))) for f in (np.cos, np.sin))
    return {"x": x, "y": y, "speed": rng.uniform(0.005, 0.12, n), "lit": (rng.random(n) < 0.8) * 1.0}


RULES = [
    (planned_motion, {"junction_deviation": 1e-5}),
    (planned_motion_by_jerk, {"axis_jerk": [0.01, 0.008]}),
]


@pytest.mark.exam
@pytest.mark.parametrize(("energy", "rule"), RULES)
@pytest.mark.parametrize("times", [{}, {"line_time": 0.01}, {"lit_time": 0.02}, {"planner_blocks": 2}])
def test_plans_as_the_slow_planner(energy, rule, times):
    rng = np.random.default_rng(5)
    for _ in range(3):
        given = wander(rng) | machine(**times) | rule
        found, expected = term(energy, given).output_values(), planned(**given)
        for name in GIVES:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12)


@pytest.mark.exam
@pytest.mark.parametrize(("energy", "rule"), RULES)
def test_points_at_one_place_are_one_junction(energy, rule):
    """Repeated points change neither duration nor speed of the other moves; the gradient stays finite."""
    rng = np.random.default_rng(6)
    once = wander(rng)
    repeats = rng.choice([1, 1, 2, 4], len(once["x"]))
    repeats[[0, -1]] = 3
    again = {name: np.repeat(values, repeats) for name, values in once.items()}
    first = np.cumsum(repeats) - repeats
    limits = machine(planner_blocks=1000) | rule
    short, long = term(energy, once | limits), term(energy, again | limits)
    plain, found = short.output_values(), long.output_values()
    for name in GIVES:
        np.testing.assert_allclose(found[name][first], plain[name], rtol=1e-12)
    assert found["duration"].sum() == pytest.approx(plain["duration"].sum(), rel=1e-12)
    assert all((found[name] > 0.0).all() for name in ("feed", "nominal"))
    seeds = {name: rng.normal(size=len(again["x"])) for name in GIVES}
    gradients = long.gradients(PATH, 0.0, seeds)
    assert all(np.isfinite(values).all() for values in gradients.values())


@pytest.mark.exam
@pytest.mark.parametrize(("energy", "rule"), RULES)
def test_all_points_at_one_place(energy, rule):
    """A path without length takes no time, and has zero gradients but those of `speed`."""
    n = 5
    path = {"x": np.full(n, 0.3), "y": np.zeros(n), "speed": np.full(n, 0.1), "lit": np.ones(n)}
    still = term(energy, path | machine(line_time=0.002) | rule)
    assert still.output_values()["duration"].tolist() == [0.0] * n
    gradients = still.gradients(PATH, 0.0, dict.fromkeys(GIVES, 1.0))
    assert gradients["x"].tolist() == gradients["y"].tolist() == gradients["lit"].tolist() == [0.0] * n


@pytest.mark.exam
@pytest.mark.parametrize(("energy", "rule"), RULES)
@pytest.mark.parametrize("times", [{}, {"line_time": 0.01}, {"lit_time": 0.02}, {"planner_blocks": 2}])
def test_gradient_against_differences(energy, rule, times):
    """By each input, at a path of a real machine, whose limits are all active somewhere."""
    rng = np.random.default_rng(8)
    given = wander(rng) | machine(**times) | rule
    given["lit"] = 0.1 + 0.8 * given["lit"]
    bound, weights = term(energy, given), {name: rng.normal(size=60) for name in GIVES}
    names = [*PATH, *(n for n in energy.roles if n not in (*PATH, "planner_blocks"))]
    bound.output_values()
    gradients = bound.gradients(names, 0.0, weights)

    def value(**changed: np.ndarray) -> float:
        found = planned(**(given | changed))
        return sum(float(weights[name] @ found[name]) for name in GIVES)

    for name in names:
        base = np.asarray(given[name], dtype=float)
        step = 1e-6 * max(float(np.abs(base).max()), 1e-4)
        for place in np.ndindex(base.shape):
            up, down = base.copy(), base.copy()
            up[place] += step
            down[place] -= step
            difference = (value(**{name: up}) - value(**{name: down})) / (2.0 * step)
            if base[place] == 0.0:  # times of zero: the limit is off on one side
                continue
            scale = float(np.abs(gradients[name]).max()) + 1e-12
            assert gradients[name][place] == pytest.approx(difference, abs=2e-5 * scale), (name, place)


@pytest.mark.exam
@pytest.mark.parametrize(("energy", "rule"), RULES)
def test_single_precision(energy, rule):
    given = wander(np.random.default_rng(5)) | machine(line_time=0.002) | rule
    found, expected = term(energy, given, "f32").output_values(), planned(**given)
    for name in GIVES:
        np.testing.assert_allclose(found[name], expected[name], rtol=2e-4)


@pytest.mark.exam
def test_a_move_from_rest_to_rest():
    """1 mm at 1 m/s^2 and at most 20 mm/s: accelerates over 0.2 mm, in 70 ms; shorter, it is a triangle."""
    limits = machine(axis_speed=[1.0, 1.0], axis_acceleration=[1.0, 1.0], junction_deviation=1e-5)
    path = {"x": np.array([0.0, 1e-3]), "y": np.zeros(2), "lit": np.ones(2), "speed": np.full(2, 0.02)}
    assert term(planned_motion, path | limits).output_values()["duration"][1] == pytest.approx(0.07)
    path["x"][1] = 1e-4
    assert term(planned_motion, path | limits).output_values()["duration"][1] == pytest.approx(0.02)


@pytest.mark.exam
def test_speed_at_a_right_angle():
    """sqrt(a delta s / (1 - s)), s = sin 45 degrees: 7.16 mm/s, by the acceleration along the bisector."""
    corner = np.array([[0.0, 0.0], [0.05, 0.0], [0.05, 0.05]]).T
    path = {"x": corner[0], "y": corner[1], "lit": np.ones(3), "speed": np.full(3, 0.1)}
    limits = machine(axis_acceleration=[1.5, 1.5], axis_speed=[0.1, 0.1], junction_deviation=1e-5)
    s = np.sqrt(0.5)
    v = np.sqrt(1.5 * np.sqrt(2.0) * 1e-5 * s / (1.0 - s))
    assert v == pytest.approx(7.156e-3, rel=1e-3)
    one = (0.1 - v) / 1.5 + 0.1 / 1.5 + (0.05 - (2 * 0.01 - v * v) / 3.0) / 0.1
    assert term(planned_motion, path | limits).output_values()["duration"][1] == pytest.approx(one, rel=1e-9)
