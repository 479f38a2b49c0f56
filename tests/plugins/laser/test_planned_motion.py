"""Planned motion against a plain planner in NumPy, and its gradient against differences."""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind, bind_staged
from minusgrad_laser.losses.path_costs import job_time
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
    limits = machine(planner_blocks=4) | rule
    short, long = term(energy, once | limits), term(energy, again | limits)
    plain, found = short.output_values(), long.output_values()
    for name in GIVES:
        np.testing.assert_allclose(found[name][first], plain[name], rtol=1e-12)
    assert found["duration"].sum() == pytest.approx(plain["duration"].sum(), rel=1e-12)
    assert all((found[name] > 0.0).all() for name in ("feed", "nominal"))
    seeds = {name: rng.normal(size=len(again["x"])) for name in GIVES}
    gradients = long.gradients(PATH, 0.0, seeds)
    assert all(np.isfinite(values).all() for values in gradients.values())


def dense(rng: np.random.Generator, n: int = 60) -> dict[str, np.ndarray]:
    """A lit path of blunt corners at full speed, along which the look-ahead of 16 blocks is the limit."""
    turns = 0.02 * rng.normal(size=n)
    lengths = 1e-4 * rng.uniform(0.8, 1.2, n)
    x, y = (np.cumsum(lengths * f(np.cumsum(turns))) for f in (np.cos, np.sin))
    return {"x": x, "y": y, "speed": rng.uniform(0.09, 0.1, n), "lit": np.full(n, 0.9)}


def tripled(path: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.repeat(values, 3) for name, values in path.items()}


@pytest.mark.exam
@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize(("energy", "rule"), RULES)
@pytest.mark.parametrize("blocks", [1, 2, 16, 59, 60])
def test_look_ahead_counts_no_repeated_points(energy, rule, blocks, precision):
    """Each point three times: the duration of each move, and the gradient by each place, of points once."""
    once, limits = dense(np.random.default_rng(12)), machine(planner_blocks=blocks) | rule
    short, long = term(energy, once | limits, precision), term(energy, tripled(once) | limits, precision)
    plain, found, expected = short.output_values(), long.output_values(), planned(**tripled(once), **limits)
    close = 1e-9 if precision == "f64" else 2e-4
    unseen = planned(**once, **(limits | {"planner_blocks": 1000}))
    if blocks <= 16:  # the look-ahead matters
        assert expected["duration"].sum() > 1.01 * unseen["duration"].sum()
    for name in GIVES:
        np.testing.assert_allclose(found[name], expected[name], rtol=close)
        np.testing.assert_array_equal(found[name][::3], plain[name])
    names = [*PATH, "axis_acceleration"]
    rng = np.random.default_rng(13)
    weights = {name: rng.normal(size=60) for name in GIVES}
    firsts = {name: np.where(np.arange(180) % 3 == 0, np.repeat(w, 3), 0.0) for name, w in weights.items()}
    by_once, by_all = short.gradients(names, 0.0, weights), long.gradients(names, 0.0, firsts)
    for name in names:
        summed = by_all[name].reshape(-1, 3).sum(axis=1) if name in PATH else by_all[name]
        scale = float(np.abs(by_once[name]).max())
        np.testing.assert_allclose(summed, by_once[name], atol=(1e-12, 1e-5)[precision == "f32"] * scale)


@pytest.mark.exam
@pytest.mark.parametrize(("precision", "close"), [("f64", 2e-5), ("f32", 2e-3)])
@pytest.mark.parametrize(("energy", "rule"), RULES)
def test_gradient_along_repeated_points(energy, rule, precision, close):
    """Against differences by the place, speed and `lit` of all three points at a place, moved as one."""
    once, limits = dense(np.random.default_rng(12)), machine() | rule
    long, w = term(energy, tripled(once) | limits, precision), np.random.default_rng(13).normal(size=180)
    long.output_values()
    gradients = long.gradients(PATH, 0.0, {"duration": w})
    for name in PATH:
        summed, step = gradients[name].reshape(-1, 3).sum(axis=1), 1e-6 * np.abs(once[name]).max()
        differences = np.zeros(60)
        for i in range(60):
            for sign in (1.0, -1.0):
                moved = once[name].copy()
                moved[i] += sign * step
                differences[i] += sign * w @ planned(**tripled(once | {name: moved}), **limits)["duration"]
        differences /= 2.0 * step
        np.testing.assert_allclose(summed, differences, atol=close * np.abs(differences).max(), err_msg=name)


@pytest.mark.exam
@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize(("energy", "rule"), RULES)
def test_after_fields_changed_it_has_the_bits_of_a_fresh_potential(energy, rule, precision):
    paths = [dense(np.random.default_rng(seed), 180) for seed in (12, 14)]
    paths.insert(1, tripled(dense(np.random.default_rng(13))))
    limits = machine() | rule
    blocks = {"planner_blocks": limits.pop("planner_blocks")}

    def potential(path: dict[str, np.ndarray]) -> Potential:
        fields = Fields(path, precision=precision)
        maps = [bind_staged(energy, fields, data=blocks, parameters=limits)]
        return Potential(fields, [bind(job_time, fields, parameters={"weight": 1.0})], maps)

    def found(one: Potential) -> list[np.ndarray]:
        return [np.array(one.value()), *(one.gradient(name) for name in PATH)]

    kept = potential(paths[0])
    for path in (*paths, paths[1], paths[0]):
        for name, values in path.items():
            kept.fields[name].set(values)
        assert [a.tobytes() for a in found(kept)] == [a.tobytes() for a in found(potential(path))]


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
