"""A scene that is not particles: a scalar lattice with its own momentum, entering by the door of plugins."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.files import trajectory
from tests.support import phi4
from tests.support.laws import assert_order

SCENE = Path(__file__).parents[1] / "scenes" / "phi4.toml"
SIDES, MODE, AMPLITUDE = (12, 8), (3, 1), 1e-4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return minusgrad.run(SCENE, out=tmp_path_factory.mktemp("phi4") / "run", plugins=[phi4])


def test_what_is_recorded(run):
    assert trajectory.names(run.folder) == [
        "observables/drift",
        "observables/kinetic",
        "observables/momentum",
        "observables/potential/link",
        "observables/potential/site",
        "observables/total",
        "particles/all/phi",
        "particles/all/pi",
    ]
    assert run.series("particles/all/phi").value.shape == (21, 96)
    assert run.series("observables/momentum").value.shape == (21,)


def test_dispersion(run):
    frames = run.series("particles/all/phi")
    omega = phi4.frequency(SIDES, MODE, m2=0.5, step=0.1)
    exact = AMPLITUDE * np.cos(omega * frames.time)[:, None] * phi4.shape(SIDES, MODE)
    assert np.abs(frames.value - exact).max() < 1e-6 * AMPLITUDE
    assert frames.time[-1] == pytest.approx(20.0)


def test_a_wave_of_no_mean_keeps_no_momentum(run):
    assert np.abs(run.series("observables/momentum").value).max() < 1e-13 * AMPLITUDE * 96


def test_drift_is_of_second_order(tmp_path):
    def largest_drift(steps: int) -> float:
        overrides = {"state.amplitude": 1.0, "stepper.dt": 5.0 / steps, "run.steps": steps}
        run = minusgrad.run(SCENE, overrides, tmp_path / str(steps), [phi4])
        return float(np.abs(run.series("observables/drift").value).max())

    assert_order(largest_drift, 2, (40, 80, 160))


def test_the_field_feels_its_quartic_term(tmp_path):
    """Without it the large wave would be the linear one: the law above is not that of a harmonic lattice."""
    run = minusgrad.run(SCENE, {"state.amplitude": 1.0}, tmp_path / "large", [phi4])
    frames = run.series("particles/all/phi")
    omega = phi4.frequency(SIDES, MODE, m2=0.5, step=0.1)
    linear = np.cos(omega * frames.time)[:, None] * phi4.shape(SIDES, MODE)
    assert np.abs(frames.value - linear).max() > 0.1
