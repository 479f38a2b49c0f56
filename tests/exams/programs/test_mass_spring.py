"""The robot of springs: steps against NumPy, the gradient against a Tape's and differences, training."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape.mass_spring import MassSpring, Robot

import minusgrad
from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.assembly.fits.fit import ParameterFit

SCENE = Path(__file__).parents[3] / "scenes/mass_spring.toml"
HIDDEN, WAVES, STEPS = 32, 10, 682
LAYERS = ("of_waves.w", "of_offsets.w", "of_velocities.w", "of_goal.w")
NAMES = (*LAYERS, "hidden.b", "of_hidden.w", "muscles.b")


def joined(of: Callable[[str], np.ndarray] | Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights or gradients as the Tape has them: the first layer's inputs in one row, mass by mass."""
    given = {name: of(name) if callable(of) else of[name] for name in NAMES}
    waves, offsets, velocities, goal = (given[name] for name in LAYERS)
    masses = np.concatenate([offsets, velocities], axis=2).reshape(HIDDEN, -1)
    w1 = np.hstack([waves, masses, goal.reshape(HIDDEN, 2)])
    return {"w1": w1, "b1": given["hidden.b"], "w2": given["of_hidden.w"], "b2": given["muscles.b"]}


def robot(simulation: BuiltScene) -> Robot:
    of = simulation.state
    springs = of.data["springs"]
    head = int(of.bodies[0].nodes[0])
    return Robot(of.fields["x"], of.tuples["edges"], springs["rest"], springs["swing"], head)


@pytest.fixture(scope="module")
def fit() -> ParameterFit:
    return ParameterFit(RunOptions(SCENE, {"runtime.precision": "f64"}).validated())


def test_the_robot_and_its_controller(fit: ParameterFit) -> None:
    """68 inputs, 32 neurons, 31 springs, of which those of the legs that the body has not are muscles."""
    of, w = robot(fit.simulation), joined(fit.simulation.potential.parameter)
    assert (w["w1"].shape, w["w2"].shape) == ((32, 68), (31, 32))
    assert w["w1"].size + w["w2"].size == 2176 + 992
    assert (len(of.x), len(of.pairs)) == (14, 31)
    assert len({frozenset(pair) for pair in of.pairs.tolist()}) == 31
    ends = of.x[of.pairs]
    np.testing.assert_allclose(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1), of.rest, rtol=1e-15)
    np.testing.assert_array_equal(of.swing > 0.0, ends[:, :, 1].min(axis=1) < 0.12)
    assert w["w1"].std() == pytest.approx(2.0 * np.sqrt(2.0 / 100), rel=0.05)
    assert w["w2"].std() == pytest.approx(3.0 * np.sqrt(2.0 / 63), rel=0.05)
    assert not w["b1"].any()
    assert not w["b2"].any()


def in_numpy(of: Robot, w: Mapping[str, np.ndarray], steps: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Places, velocities and the number of landings, step by step."""
    x, v, landings, h = of.x.copy(), np.zeros_like(of.x), 0, 0.004
    a, b = of.pairs.T
    for k in range(steps):
        centre = x.mean(axis=0)
        waves = np.sin(10.0 * k * h + 2.0 * np.pi * np.arange(WAVES) / WAVES)
        masses = np.hstack([0.05 * (x - centre), 0.05 * v]).ravel()
        inputs = np.concatenate([waves, masses, [0.9, 0.2] - centre])
        act = np.tanh(w["w2"] @ np.tanh(w["w1"] @ inputs + w["b1"]) + w["b2"])
        d = x[a] - x[b]
        r = np.linalg.norm(d, axis=1)
        pull = (3e4 * (r - of.rest * (1.0 + of.swing * act)) / r)[:, None] * d
        force = np.zeros_like(x)
        np.add.at(force, a, -pull)
        np.add.at(force, b, pull)
        u = np.exp(-15.0 * h) * v + h * (force + np.array([0.0, -4.8]))
        lands = (u[:, 1] < -1e-4) & (x[:, 1] + h * u[:, 1] < 0.1)
        flight = np.where(lands, (0.1 - x[:, 1]) / np.where(lands, u[:, 1], 1.0), h)
        x, v = x + flight[:, None] * u, np.where(lands[:, None], 0.0, u)
        landings += lands.sum()
    return x, v, landings


def test_steps_are_those_in_numpy(fit: ParameterFit) -> None:
    """Until feet have landed many times."""
    simulation = minusgrad.build(SCENE, {"runtime.precision": "f64"})
    x, v, landings = in_numpy(robot(simulation), joined(simulation.potential.parameter), 120)
    simulation.step(120)
    assert landings > 50
    np.testing.assert_allclose(simulation.fields["x"].values, x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(simulation.fields["v"].values, v, rtol=0, atol=1e-10)


def test_the_gradient_of_the_run_is_that_of_a_tape(fit: ParameterFit) -> None:
    """Over 682 steps, by all weights and biases; and in one direction that of differences."""
    loss, found = fit.function.evaluate(NAMES)
    potential = fit.simulation.potential
    program = MassSpring(robot(fit.simulation), HIDDEN, STEPS)
    at, gradients = joined(potential.parameter), joined(found)
    expected, by_tape = program.evaluate(at)
    assert loss == pytest.approx(expected, rel=1e-12)
    for name, gradient in by_tape.items():
        assert np.abs(gradient).max() > 0.01
        np.testing.assert_allclose(
            gradients[name], gradient, rtol=0, atol=1e-9 * np.abs(gradient).max(), err_msg=name
        )
    rng = np.random.default_rng(0)
    along = {name: rng.normal(size=w.shape) for name, w in at.items()}

    def moved(h: float) -> float:
        return program.value({name: w + h * along[name] for name, w in at.items()})

    slope = sum(float((gradients[name] * along[name]).sum()) for name in at)
    h = 1e-7
    differences = (8.0 * (moved(h) - moved(-h)) - moved(2.0 * h) + moved(-2.0 * h)) / (12.0 * h)
    assert slope == pytest.approx(differences, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", ["robot_b", "robot_c", "robot_d"])
def test_gradients_of_the_robots_of_difftaichi_are_those_of_a_tape(name: str) -> None:
    """Of 100 steps, in which all feet land."""
    changes = {"state.file": f"data/{name}.toml", "run.steps": 100, "runtime.precision": "f64"}
    fit = ParameterFit(RunOptions(SCENE, changes).validated())
    loss, found = fit.function.evaluate(NAMES)
    expected, by_tape = MassSpring(robot(fit.simulation), HIDDEN, 100).evaluate(
        joined(fit.simulation.potential.parameter)
    )
    assert loss == pytest.approx(expected, rel=1e-12)
    for key, gradient in joined(found).items():
        size = np.abs(by_tape[key]).max()
        assert size > 0.0
        np.testing.assert_allclose(gradient, by_tape[key], rtol=0, atol=1e-9 * size, err_msg=key)


REFERENCE = Path(__file__).parent / "mass_spring_training.json"


@pytest.mark.long
def test_training_goes_as_far_as_the_reference(tmp_path: Path) -> None:
    """30 iterations from the weights of five seeds, in the median; the file says how they were made."""
    reference = json.loads(REFERENCE.read_text())
    ends = []
    for seed in range(5):
        fitted = minusgrad.fit(SCENE, {"runtime.seed": seed}, out=tmp_path / str(seed))
        losses = fitted.series("observables/loss").value
        assert losses[0] == pytest.approx(reference["losses"][str(seed)][0], rel=1e-9)
        ends.append(losses[-1])
    assert np.median(ends) <= np.median([losses[-1] for losses in reference["losses"].values()])
