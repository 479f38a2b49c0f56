"""The scenes that Lagrangians move, beside SciPy and closed forms."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from tests.support.lagrangians import double_pendulum_rate, reference

SCENES = Path(__file__).parents[2] / "scenes"


def test_double_pendulum(tmp_path):
    run = minusgrad.run(SCENES / "double_pendulum.toml", out=tmp_path / "run")
    assert run.simulation.stepper.step == 2000
    assert np.abs(run.series("observables/drift").value).max() < 1e-6
    assert run.series("observables/total").value[0] == pytest.approx(17.41, abs=0.01)
    angles = run.series("particles/all/q")
    expected = reference(double_pendulum_rate, [2.0, 2.8, 0.0, 0.0], 2.0)[:2]
    at = int(np.flatnonzero(np.isclose(angles.time, 2.0))[0])
    assert np.abs(angles.value[at, 0] - expected).max() < 1e-6


@pytest.mark.long
def test_foucault(tmp_path):
    run = minusgrad.run(SCENES / "foucault.toml", out=tmp_path / "run")
    east, north, _ = run.simulation.fields["x"].values[1]
    vertical = 2.0 * np.pi / 86164.0905 * np.sin(np.deg2rad(48.8462))
    assert np.arctan2(north, east) / run.simulation.stepper.time == pytest.approx(-vertical, rel=1e-6)
    assert np.hypot(east, north) == pytest.approx(3.0, abs=1e-7)
    assert run.series("observables/violation").value.max() < 1e-15
    assert np.abs(run.series("observables/drift").value).max() < 1e-8
    pull = run.series("observables/reaction/hook").value  # at the ends of a swing m g cos(angle)
    assert np.linalg.norm(pull[0]) == pytest.approx(28.0 * 9.81 * np.sqrt(1.0 - (3.0 / 67.0) ** 2), rel=1e-4)


@pytest.mark.long
def test_swing_up(tmp_path):
    """The whole fit: upright, at rest, above the start."""
    found = minusgrad.fit(SCENES / "swing_up.toml", out=tmp_path / "fit")
    assert found.simulation.stepper.step <= 80
    run = minusgrad.run(SCENES / "swing_up.toml", fitted=tmp_path / "fit", out=tmp_path / "run")
    fields = run.simulation.fields
    turns = (fields["a"].values[0] / np.pi + 1.0) / 2.0
    assert 2.0 * np.pi * abs(turns - round(turns)) < 1e-6
    assert abs(fields["s"].values[0]) < 1e-6
    assert abs(fields["v_s"].values[0]) < 3e-5
    assert abs(fields["v_a"].values[0]) < 6e-5
    assert (tmp_path / "run").is_dir()


def test_the_first_iterations_of_the_swing_up_lower_its_loss(tmp_path):
    """A sample of the fit: the first guess ends worse than a pole that hangs at rest, whose loss is 2."""
    found = minusgrad.fit(SCENES / "swing_up.toml", {"fit.iterations": 12}, tmp_path / "fit")
    loss = found.series("observables/loss").value
    assert loss[0] > 10.0
    assert loss[-1] < 1.0
