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
    assert np.abs(run.series("observables/drift").value).max() < 1e-8
    assert run.series("observables/total").value[0] == pytest.approx(7.47, abs=0.01)
    angles = run.series("particles/all/q")
    expected = reference(double_pendulum_rate, [2.0, 1.5, 0.0, 0.0], 2.0)[:2]
    at = int(np.flatnonzero(np.isclose(angles.time, 2.0))[0])
    assert np.abs(angles.value[at, 0] - expected).max() < 1e-7
