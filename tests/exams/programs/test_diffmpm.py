"""A soft crawler: DiffTaichi's own program diffmpm.py, whose numbers are stored, and a Tape's."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape import diffmpm as tape

import minusgrad
from minusgrad import Loss, Potential, Rollout, bind, build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad_elastic.loads import body_force
from tests.support.command import SCENES

SCENE = SCENES / "diffmpm.toml"
REFERENCE = np.load(Path(__file__).parent / "references" / "diffmpm.npz")
"""How it was made: `difftaichi_diffmpm.py`."""
NAMES = ["dense.w", "neuron.b"]


def rollout(simulation: BuiltScene, steps: int) -> Rollout:
    """Minus the mean of x after so many steps."""
    fields = simulation.fields
    ahead = [1.0 / len(fields["x"]), 0.0]
    loss = Potential(fields, [bind(body_force, fields, parameters={"acceleration": ahead})])
    return Rollout(simulation.stepper, [Loss(loss, (steps,))], steps)


def test_diffmpm() -> None:
    """Loss and gradient at 100 steps are the original's."""
    simulation = build(SCENE)
    assert len(simulation.fields["x"]) == 2976
    loss, found = rollout(simulation, 100).evaluate(NAMES)
    assert abs(loss - REFERENCE["loss_100"]) < 1e-9 * 1e-4, "of the way that the muscles move it"
    for name, expected in (("dense.w", REFERENCE["dw_100"]), ("neuron.b", REFERENCE["db_100"])):
        assert found[name].shape == expected.shape
        assert np.abs(found[name] - expected).max() < 1e-9 * np.abs(expected).max()


def test_the_tape_program_has_the_same_gradient() -> None:
    """From another start, with muscles that pull harder, over some steps."""
    simulation, steps = build(SCENE), 24
    rng = np.random.default_rng(1)
    w, b = rng.normal(size=(4, 4)), rng.normal(size=4)
    muscles = np.full(2976, -1)
    muscles[simulation.state.tuples["muscles"][:, 0]] = simulation.state.tuples["muscles"][:, 1]
    expected = tape.program(simulation.fields["x"].values, muscles, steps)(w, b)
    simulation.potential.set_parameter("dense.w", w)
    simulation.potential.set_parameter("neuron.b", b)
    loss, found = rollout(simulation, steps).evaluate(NAMES)
    assert abs(loss - expected[0]) < 1e-12
    for name, of_tape in zip(NAMES, expected[1:], strict=True):
        assert np.abs(of_tape).max() > 1e-9
        assert np.abs(found[name] - of_tape).max() < 1e-9 * np.abs(of_tape).max()


@pytest.mark.long
def test_a_whole_run_is_the_original_within_its_own_spread() -> None:
    """1,023 steps; the spread is that of the original between runs with other numbers of threads."""
    loss, found = rollout(build(SCENE), 1023).evaluate(NAMES)
    assert abs(loss - REFERENCE["loss_1023"]) < 10.0 * REFERENCE["spread_loss"]
    for name, of in (("dense.w", "dw"), ("neuron.b", "db")):
        away = np.abs(found[name] - REFERENCE[f"{of}_1023"]).max()
        assert away < 10.0 * REFERENCE[f"spread_{of}"], name


@pytest.mark.long
def test_it_learns_to_walk_farther_than_the_original(tmp_path: Path) -> None:
    """After 100 iterations; the original's descent from the same weights is at 0.502 then."""
    fit = minusgrad.fit(SCENE, out=tmp_path / "fit")
    loss = fit.series("observables/loss").value
    assert len(loss) == 101
    assert abs(loss[0] - REFERENCE["losses"][0]) < 1e-12
    assert loss[-1] < REFERENCE["losses"][-1]
