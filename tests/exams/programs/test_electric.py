"""Charges steered by electrodes: steps against NumPy, the gradient against a Tape's, goals never seen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.tape.electric import Electric, World

import minusgrad
from minusgrad import Fields, Potential, bind
from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad_control.electrodes import electrode, way_point_line
from tests.support.edited_scenes import refusal

SCENE = Path(__file__).parents[3] / "scenes/electric.toml"
INPUTS = ("of_place.w", "of_velocity.w", "of_offset.w", "of_goal_velocity.w")
NAMES = (*INPUTS, "hidden.b", "of_hidden.w", "electrodes.b")
STEPS, DT, INTERVAL = 512, 0.03, 7.68
COPIED = (3, *range(5, 12))


def of_copies(copies: int, seed: int = 0) -> dict[str, Any]:
    """Overrides for so many charges, whose mean cost is the loss."""
    blocks = {f"map.{k}.copies": copies for k in COPIED}
    return blocks | {"state.copies": copies, "fit.loss.0.weight": 1.0 / copies, "runtime.seed": seed}


def fit_of(copies: int, seed: int = 0) -> ParameterFit:
    return ParameterFit(RunOptions(SCENE, of_copies(copies, seed)).validated())


def world(simulation: BuiltScene) -> World:
    places = simulation.state.data["electrodes"]["place"]
    return World(places[: len(places) // len(simulation.fields["x"])].tolist())


def ways(simulation: BuiltScene) -> np.ndarray:
    """The way points of every goal, (n, w, 2)."""
    return simulation.fields["way_point"].values.reshape(len(simulation.fields["x"]), -1, 2).copy()


def joined(of: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights or gradients as the Tape has them: the first layer's inputs in one row."""
    w1 = np.hstack([of[name][:, 0] for name in INPUTS])
    return {"w1": w1, "b1": of["hidden.b"], "w2": of["of_hidden.w"], "b2": of["electrodes.b"]}


def weights(simulation: BuiltScene) -> dict[str, np.ndarray]:
    return {name: simulation.potential.parameter(name) for name in NAMES}


def goals(points: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
    """Goals on lines through points (n, w, 2), s intervals after the first one; the derivatives by s."""
    k = min(int(s), points.shape[1] - 2)
    slope = points[:, k + 1] - points[:, k]
    return points[:, k] + (s - k) * slope, slope


def in_numpy(
    of: World, points: np.ndarray, at: Mapping[str, np.ndarray], steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, velocities and running costs, step by step."""
    x, v, cost, places = at["x"].copy(), at["v"].copy(), np.zeros(len(at["x"])), np.array(of.electrodes)
    for k in range(steps):
        goal, slope = goals(points, k * DT / INTERVAL)
        sensors = [(x - 0.5) / 0.2, v / 0.1, (x - goal) / 0.1, slope / INTERVAL / 0.1]
        h = np.tanh(np.hstack(sensors) @ at["w1"].T + at["b1"])
        q = np.tanh(h @ at["w2"].T + at["b2"])
        d = x[:, None] - places
        r = np.maximum(np.linalg.norm(d, axis=2), 0.1)
        force = np.einsum("ne,ned->nd", 1e-3 * q / r**3, d)
        cost = cost + DT * ((x - goal) ** 2).sum(axis=1)
        v = np.exp(-0.2 * DT) * v + DT * force
        x = x + DT * v
    return x, v, cost


def test_steps_are_those_in_numpy() -> None:
    """All samples of the batch, with one set of weights."""
    simulation = minusgrad.build(SCENE)
    fields = simulation.fields
    at = joined(weights(simulation)) | {n: fields[n].values.copy() for n in "xv"}
    assert (at["w1"].shape, at["w2"].shape, at["x"].shape) == ((64, 8), (8, 64), (16, 2))
    expected = in_numpy(world(simulation), ways(simulation), at, STEPS)
    simulation.step(STEPS)
    for name, values in zip(("x", "v", "cost"), expected, strict=True):
        np.testing.assert_allclose(fields[name].values, values, rtol=0, atol=1e-11, err_msg=name)
    assert np.linalg.norm(fields["x"].values - at["x"], axis=1).max() > 0.1


def test_the_gradient_of_the_run_is_that_of_a_tape() -> None:
    """Over 512 steps, by all weights, biases and starts; and in one direction that of differences."""
    fit = fit_of(3)
    simulation = fit.simulation
    start = {n: simulation.fields[n].values.copy() for n in "xv"}
    at = joined(weights(simulation)) | start
    loss, found = fit.function.evaluate([*NAMES, "x", "v"])
    gradients = joined(found) | {n: found[n] for n in "xv"}
    program = Electric(world(simulation), ways(simulation), 64, STEPS)
    expected, by_tape = program.evaluate(at)
    assert loss == pytest.approx(expected, rel=1e-12)
    for name, gradient in by_tape.items():
        assert np.abs(gradient).max() > 0.01
        np.testing.assert_allclose(
            gradients[name], gradient, rtol=0, atol=1e-9 * np.abs(gradient).max(), err_msg=name
        )
    rng = np.random.default_rng(0)
    along = {name: rng.normal(size=values.shape) for name, values in at.items()}

    def moved(h: float) -> float:
        there = {name: values + h * along[name] for name, values in at.items()}
        return float(in_numpy(world(simulation), ways(simulation), there, STEPS)[2].mean())

    slope, h = sum(float((gradients[name] * along[name]).sum()) for name in at), 1e-5
    differences = (8.0 * (moved(h) - moved(-h)) - moved(2.0 * h) + moved(-2.0 * h)) / (12.0 * h)
    assert slope == pytest.approx(differences, rel=1e-6)


def test_goals_pass_their_way_points() -> None:
    """At the times of knots, and between them as on paper; the velocity is that until the next one."""
    points = np.random.default_rng(1).uniform(0.2, 0.8, (2, 3, 2))
    fields = Fields({"way_point": points.reshape(-1, 2)}, {"way_point": "m"})
    tuples = [[i, 3 * i + k] for i in range(2) for k in range(3)]
    knot = np.tile(np.arange(3.0), 2)
    of_map = bind(
        way_point_line, fields, tuples=tuples, data={"knot": knot}, parameters={"interval": INTERVAL}
    )
    potential = Potential(fields, [], [of_map])
    for s in (0.0, 0.3, 1.0, 1.75, 2.0 - 1e-9):
        potential.refresh(s * INTERVAL)
        goal, slope = goals(points, s)
        np.testing.assert_allclose(fields["goal"].values, goal, rtol=0, atol=1e-14)
        np.testing.assert_allclose(fields["goal_velocity"].values, slope / INTERVAL, rtol=0, atol=1e-14)
    potential.refresh(2.0 * INTERVAL)
    np.testing.assert_allclose(fields["goal"].values, points[:, 2], rtol=0, atol=1e-14)


def test_an_electrode_is_a_ball_of_uniform_charge() -> None:
    """Coulomb's force outside, a linear one inside; the energy is continuous at the surface."""
    places = np.array([[0.3, 0.4], [0.03, -0.04], [0.1 + 1e-12, 0.0], [0.1 - 1e-12, 0.0]])
    fields = Fields({"x": places, "q": np.full(4, -0.7)}, {"x": "m"})
    given = {"strength": 2e-3, "radius": 0.1}
    tuples = [[k, k] for k in range(4)]
    term = bind(electrode, fields, tuples=tuples, data={"place": np.zeros((4, 2))}, parameters=given)
    potential = Potential(fields, [term])
    force = -potential.gradient("x")
    r = np.maximum(np.linalg.norm(places, axis=1), 0.1)[:, None]
    np.testing.assert_allclose(force, 2e-3 * -0.7 * places / r**3, rtol=1e-11)
    inside = (3.0 * 0.01 - 0.0025) / (2.0 * 0.001)
    assert potential.value() == pytest.approx(2e-3 * -0.7 * (2.0 + inside + 20.0), rel=1e-11)


@pytest.mark.long
def test_a_trained_controller_follows_goals_that_it_never_saw(tmp_path: Path) -> None:
    """1,000 iterations with 16 new goals each; over 20 others the mean loss is a tenth of the untrained."""
    unseen = fit_of(20, seed=1)
    fitted = minusgrad.fit(SCENE, out=tmp_path / "fit")
    trained, parameters = fitted.parameter_fit.simulation, unseen.simulation.potential
    losses = []
    for values in (weights(minusgrad.build(SCENE)), weights(trained)):
        for name, value in values.items():
            parameters.set_parameter(name, value)
        losses.append(unseen.function.value())
    assert len(fitted.series("observables/loss").value) == 1001
    assert losses[1] < 0.1 * losses[0]
    assert fitted.estimates.held_out == pytest.approx(losses[1], rel=0.5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.5, 0.9],", "[0.5, 0.9, 0.0],", "electrodes.4: got 3 numbers; give 2 for each, or 3 for each"),
        (
            'kind = "steered_charges"\ncopies = 16',
            'kind = "steered_charges"\ncopies = 15',
            "offset.copies: 15 nodes of 'mass' are not 16 equal blocks; give a divisor of 15",
        ),
        ("within = [0.2, 0.8]", "within = [0.8, 0.2]", "within: its first number is the lower one"),
        ("within = [0.2, 0.8]", "within = [0.2, 1.8]", "0.1 to 0.9 along axis 0, got 0.2 and 1.8; narrow it"),
        ("intervals = 2", "intervals = 0", "state.intervals"),
    ],
)
def test_mistakes_of_the_charges(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in refusal(SCENE, old, new, tmp_path)
