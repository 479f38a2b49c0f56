"""The inverse problems that ship: what their scenes claim of `minusgrad fit`."""

from pathlib import Path

import numpy as np

import minusgrad
from tests.support import inverse_scenes

SCENES = Path(__file__).parents[2] / "scenes"
JUPITER, SATURN = 1, 2


def estimate(fit, name: str):
    return next(p for p in fit.estimates.parameters if p.name == name)


def test_weigh_a_planet(tmp_path) -> None:
    fit = minusgrad.fit(SCENES / "weigh_a_planet.toml", out=tmp_path / "fit")
    assert fit.outcome == "settled"
    assert fit.remarks == ()
    truth, mass = minusgrad.build(SCENES / "outer_solar_system.toml").fields, estimate(fit, "m")
    assert abs(mass.values[0] - truth["m"].values[SATURN]) <= mass.errors[0]
    assert 2.0e-5 < mass.errors[0] / mass.values[0] < 3.0e-5
    assert abs(fit.estimates.reduced - 1.0) < 3.0 * np.sqrt(2.0 / fit.estimates.observations)
    for name in ("x", "v"):
        found = estimate(fit, name)
        assert (np.abs(found.values - truth[name].values[JUPITER]) <= 4.0 * found.errors).all()


def test_spring_stiffness(tmp_path) -> None:
    fit = minusgrad.fit(SCENES / "spring_stiffness.toml", out=tmp_path / "fit")
    assert fit.outcome == "settled"
    assert fit.remarks == ()
    (found,) = fit.estimates.parameters
    assert len(found.values) == 50
    np.testing.assert_allclose(found.values, inverse_scenes.stiffnesses(), rtol=1e-6)


def test_walker(tmp_path) -> None:
    fit = minusgrad.fit(SCENES / "walker.toml", out=tmp_path / "fit")
    loss = fit.series("observables/loss").value
    assert len(loss) == 101
    assert fit.remarks == ()
    assert abs(loss[0] + 0.3) < 1e-9
    assert loss[-1] < -0.49
    phase, amplitude = estimate(fit, "muscle.phase").values, estimate(fit, "muscle.amplitude").values
    overrides = {"energy.0.phase": phase.tolist(), "energy.0.amplitude": amplitude.tolist()}
    run = minusgrad.run(SCENES / "walker.toml", overrides, out=tmp_path / "run")
    assert abs(run.simulation.fields["x"].values[:, 0].mean() + loss[-1]) < 1e-9
