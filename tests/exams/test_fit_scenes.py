"""The inverse problems that ship: what their scenes claim of `minusgrad fit`."""

import json
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from tests.support import hanging_gel, inverse_scenes, pendulum_of_rods
from tests.support.mbb_beam import Beam
from tests.support.tiers import sampled

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


def test_calibration(tmp_path) -> None:
    """One stiffness from 64 experiments; and 64 stiffnesses, one from each, which scatter as they say."""
    scene = SCENES / "calibration.toml"
    whole = estimate(minusgrad.fit(scene, out=tmp_path / "one"), "spring.stiffness")
    each = minusgrad.fit(scene, {"fit.members": "starts"}, tmp_path / "each").parameter_fit.results.as_list()
    values, errors = (
        np.array([one[key]["spring.stiffness"][0] for one in each]) for key in ("values", "standard_errors")
    )
    assert len(values) == 64
    assert ((errors / 2.5 > 7.5e-4) & (errors / 2.5 < 9.5e-4)).all()
    assert whole.errors[0] * np.sqrt(64) == pytest.approx(errors.mean(), rel=0.01)
    assert values.std(ddof=1) == pytest.approx(errors.mean(), rel=0.25)  # 3 times the scatter of a deviation
    assert whole.values[0] == pytest.approx(values.mean(), abs=0.3 * whole.errors[0])
    assert abs(whole.values[0] - 2.5) < 3.0 * whole.errors[0]


@pytest.mark.long
def test_weigh_a_planet_along_substeps(tmp_path) -> None:
    """Gauss-Radau steps from one look to the next: the fit of the splitting, in parts of its error bars."""
    steps = {"stepper.kind": "gauss_radau", "stepper.dt": "90 day", "run.steps": 406, "observe.0.every": 1}
    fit = minusgrad.fit(SCENES / "weigh_a_planet.toml", steps, out=tmp_path / "fit")
    assert fit.outcome == "settled"
    truth, mass = minusgrad.build(SCENES / "outer_solar_system.toml").fields, estimate(fit, "m")
    assert abs(mass.values[0] - truth["m"].values[SATURN]) <= mass.errors[0]
    assert 2.0e-5 < mass.errors[0] / mass.values[0] < 3.0e-5


def test_spring_stiffness(tmp_path) -> None:
    fit = minusgrad.fit(SCENES / "spring_stiffness.toml", out=tmp_path / "fit")
    assert fit.outcome == "settled"
    assert fit.remarks == ()
    (found,) = fit.estimates.parameters
    assert len(found.values) == 50
    np.testing.assert_allclose(found.values, inverse_scenes.stiffnesses(), rtol=1e-6)


@pytest.mark.long
def test_rods_from_path(tmp_path) -> None:
    """The data are those of equations in angles; the rods of the scene itself keep their lengths."""
    assert (SCENES / "data" / "rod_pendulum.csv").read_text() == pendulum_of_rods.table()
    fit = minusgrad.fit(SCENES / "rods_from_path.toml", out=tmp_path / "fit")
    assert fit.outcome == "settled"
    assert fit.remarks == ()
    found = estimate(fit, "rod.length")
    assert (np.abs(found.values - pendulum_of_rods.LENGTHS) < 1.5 * found.errors).all()
    assert 5e-4 < found.errors.max() < 2.1e-3
    assert abs(fit.estimates.reduced - 1.0) < 3.0 * np.sqrt(2.0 / fit.estimates.observations)
    run = minusgrad.run(SCENES / "rods_from_path.toml", out=tmp_path / "run")
    assert 1e-6 < np.abs(run.series("observables/drift").value).max() < 1e-3
    x = run.simulation.fields["x"].values
    lengths = run.simulation.constraints.terms["rod"].data["length"]
    np.testing.assert_allclose(np.linalg.norm(np.diff(x, axis=0), axis=1), lengths, rtol=1e-12)


def test_stiffness_from_shape(tmp_path) -> None:
    """The data are those of a program that shares no code with the framework."""
    assert (SCENES / "data" / "hanging_gel.csv").read_text() == hanging_gel.table()
    assert (hanging_gel.shape() - hanging_gel.rest())[0, 1] == pytest.approx(-5e-3, rel=0.03)
    fit = minusgrad.fit(SCENES / "stiffness_from_shape.toml", out=tmp_path / "fit")
    assert fit.outcome == "settled"
    assert fit.remarks == ()
    assert abs(fit.estimates.reduced - 1.0) < 3.0 * np.sqrt(2.0 / fit.estimates.observations)
    events = (fit.folder / "journal.jsonl").read_text().splitlines()
    assert json.loads(events[-1])["solver"].startswith("SuperLU: 220 unknowns, at most 1,500; ")
    truth = {"youngs_modulus": hanging_gel.YOUNG, "poissons_ratio": hanging_gel.POISSON}
    for name, value in truth.items():
        found = estimate(fit, f"neo_hookean.{name}")
        assert abs(found.values[0] / value - 1.0) < 0.01
        assert abs(found.values[0] - value) < 2.0 * found.errors[0] < 0.02 * value


@pytest.mark.parametrize("cells", sampled([(30, 10), (60, 20)], [(30, 10)]))
def test_topology(cells: tuple[int, int], tmp_path) -> None:
    """Beside the same optimisation by SciPy; the scene's own beam is the second one."""
    few = {"state.cells": list(cells), "run.allow_dead": True}
    fit = minusgrad.fit(SCENES / "topology.toml", few, tmp_path / "fit")
    assert fit.outcome == "settled"
    density, history = Beam(*cells).optimised()
    loss = fit.series("observables/loss").value
    assert loss[0] == pytest.approx(history[0], rel=1e-9)
    assert abs(loss[-1] / history[-1] - 1.0) < 0.01
    found = fit.simulation.fields["density"].values
    assert found.mean() == pytest.approx(0.5, rel=1e-9)
    assert np.abs(found - density).mean() < 0.01
    if cells == (60, 20):
        assert loss[0] == pytest.approx(1007.022, abs=1e-3)
        assert loss[-1] == pytest.approx(218.8, abs=0.5)


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
