"""Billiards: impacts against events on paper, the gradient of a whole run against a Tape's, the fit."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape import billiards as tape

import minusgrad
from minusgrad import Fields, Loss, Potential, Rollout, bind
from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.engine import runtime
from minusgrad.plugin import Body, Evolution
from minusgrad.steppers.systems.system import System
from minusgrad_impacts.balls import impact, pocket, roll
from tests.support.edited_scenes import refusal

SCENE = Path(__file__).parents[3] / "scenes/billiards.toml"
RADIUS, RESTITUTION, DT, STEPS = 0.03, 0.8, 0.003, 400
PLACES = np.array([[0.1, 0.5], [0.3, 0.53], [0.45, 0.49], [0.42, 0.62]])
VELOCITIES = np.array([[0.4, 0.01], [0.0, 0.0], [-0.02, 0.03], [0.0, 0.0]])
AT = np.array([0.5, 0.7])


def events(x: np.ndarray, v: np.ndarray, end: float) -> tuple[np.ndarray, int]:
    """Places at time `end`, from impact to impact without steps, and the number of impacts."""
    x, v, now, count = x.copy(), v.copy(), 0.0, 0
    while True:
        times = {}
        for i in range(len(x)):
            for j in range(i):
                d, w = x[i] - x[j], v[i] - v[j]
                roots = np.roots([w @ w, 2.0 * d @ w, d @ d - 4.0 * RADIUS**2]) if d @ w < 0.0 else []
                if len(roots) and np.isreal(roots).all():
                    times[i, j] = roots.real.min()
        if not times or now + min(times.values()) > end:
            return x + (end - now) * v, count
        (i, j), wait = min(times.items(), key=lambda item: item[1])
        now, x, count = now + wait, x + wait * v, count + 1
        n = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
        jump = -(1.0 + RESTITUTION) / 2.0 * n.dot(v[i] - v[j]) * n
        v[i], v[j] = v[i] + jump, v[j] - jump


def program(x: np.ndarray, v: np.ndarray) -> Evolution:
    runtime.start()
    fields = Fields({"x": x, "v": v}, {"x": "m", "v": "m s^-1"})
    given = {"radius": RADIUS, "restitution": RESTITUTION}
    maps = [bind(impact, fields, parameters=given), bind(roll, fields)]
    return Evolution(System(Potential(fields, [], maps)), {"x": "x_next", "v": "v_next"}, dt=DT)


def test_impacts_one_after_another_are_those_on_paper() -> None:
    """The places to rounding, the gradient of a loss to differences of the places on paper."""
    stepper = program(PLACES, VELOCITIES)
    stepper.advance(STEPS)
    x, count = events(PLACES, VELOCITIES, STEPS * DT)
    assert count == 3
    np.testing.assert_allclose(stepper.potential.fields["x"].values, x, atol=1e-12)
    other = program(PLACES, VELOCITIES)
    fields = other.potential.fields
    goal = Potential(fields, [bind(pocket, fields, parameters={"at": AT})])
    _, found = Rollout(other, [Loss(goal, steps=(STEPS,))], steps=STEPS).evaluate(["x", "v"])
    for name, start in (("x", PLACES), ("v", VELOCITIES)):
        expected = np.zeros_like(start)
        for place in np.ndindex(start.shape):
            for h, weight in ((1e-5, 2 / 3), (-1e-5, -2 / 3), (2e-5, -1 / 12), (-2e-5, 1 / 12)):
                moved = {"x": PLACES.copy(), "v": VELOCITIES.copy()}
                moved[name][place] += h
                ends, _ = events(moved["x"], moved["v"], STEPS * DT)
                expected[place] += weight / 1e-5 * ((ends - AT) ** 2).sum()
        np.testing.assert_allclose(found[name], expected, atol=1e-7 * np.abs(expected).max())


def test_a_head_on_impact_has_the_derivative_on_paper() -> None:
    """The ball that is met ends at x1 + u (T - t), with u = (1 + e) v / 2 and t = (x1 - x0 - 2 R) / v."""
    x, v = np.array([[0.0, 0.0], [0.2, 0.0]]), np.array([[0.5, 0.0], [0.0, 0.0]])
    stepper = program(x, v)
    fields = stepper.potential.fields
    far = Potential(fields, [bind(pocket, fields, bodies=[Body("met", [1])], parameters={"at": [0.0, 0.0]})])
    loss, found = Rollout(stepper, [Loss(far, steps=(STEPS,))], steps=STEPS).evaluate(["x"])
    end, share = np.sqrt(loss), 0.5 * (1.0 + RESTITUTION)
    assert end == pytest.approx(0.2 + share * (0.5 * STEPS * DT - 0.14), rel=1e-13)
    assert found["x"][:, 0] == pytest.approx([2.0 * end * share, 2.0 * end * (1.0 - share)], rel=1e-12)


def test_momentum_is_kept_and_a_perfect_bounce_keeps_the_energy() -> None:
    """After 1,023 steps of the scene."""
    simulation = minusgrad.build(SCENE, {"map.0.restitution": 1.0})
    simulation.step(1023)
    v = simulation.fields["v"].values
    np.testing.assert_allclose(v.sum(axis=0), [0.3, 0.0], atol=1e-14)
    assert (v[1:] ** 2).sum() > 0.05
    assert (v**2).sum() == pytest.approx(0.09, rel=1e-13)


@pytest.mark.parametrize(("precision", "close"), [("f64", 1e-9), ("f32", 2e-3)])
def test_the_gradient_of_the_run_is_that_of_a_tape(precision: str, close: float) -> None:
    """Over 1,023 steps, by the start of every ball."""
    fit = ParameterFit(RunOptions(SCENE, {"runtime.precision": precision}).validated())
    loss, found = fit.function.evaluate(["x", "v"])
    start = {name: fit.simulation.fields[name].values.astype(float) for name in ("x", "v")}
    expected, *gradients = tape.program(11, 1023, precision)(start["x"], start["v"])
    assert loss == pytest.approx(expected, rel=close)
    for name, gradient in zip(("x", "v"), gradients, strict=True):
        assert np.abs(gradient[0]).max() > 0.1
        np.testing.assert_allclose(found[name], gradient, atol=close * np.abs(gradient).max())


def test_the_target_reaches_the_pocket(tmp_path: Path) -> None:
    fit = minusgrad.fit(SCENE, out=tmp_path / "fit")
    losses = fit.series("observables/loss").value
    assert fit.outcome == "converged"
    assert fit.remarks == ()
    assert len(losses) == 10
    assert 0.2 < np.sqrt(losses[0]) < 0.22
    assert losses[-1] < 1e-7
    start = {name: field.values[0] for name, field in fit.parameter_fit.objective.fields.items()}
    changes = {"state.places.0": start["x"].tolist(), "state.velocities.cue": start["v"].tolist()}
    run = minusgrad.run(SCENE, changes, out=tmp_path / "run")
    target = run.simulation.fields["x"].values[-1]
    assert np.linalg.norm(target - [0.9, 0.75]) == pytest.approx(np.sqrt(losses[-1]), rel=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.5, 0.5],", "[0.5, 0.5, 0.0],", "places.1: got 3 numbers; give 2 for each ball, or 3 for each"),
        ("target = [10]", "target = [11]", "bodies.target: no ball 11; there are 11, counted from 0"),
        ("target = [10]", "target = [9, 9]", "bodies.target: names a ball twice; leave one out"),
        (
            "velocities = { cue",
            "velocities = { queue",
            "velocities.queue: no body has this name; add it to `bodies`",
        ),
        ("[0.3, 0.0]", "[0.3]", "velocities.cue: got 1 numbers for 2 axes"),
    ],
)
def test_mistakes_of_the_table(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in refusal(SCENE, old, new, tmp_path)
