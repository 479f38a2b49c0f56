"""Whole fits find what made the data, with the errors of theory."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Parameter
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.standard_errors import standard_errors
from minusgrad.app.runs import build
from minusgrad.assembly.fits.parameters import FitParameters
from minusgrad.errors import (
    EnergyError,
)
from minusgrad.steppers.minimisers.gauss_newton import GaussNewton
from minusgrad.steppers.minimisers.unknowns import Unknown, within_role
from tests.support import oscillators
from tests.support.oscillators import Swing, leapfrog
from tests.support.swing_fits import PLUGIN, SEEN, SIGMA, K, M, V, X, fitted, numbers, observed
from tests.support.tiers import counts


def exact(k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(n, 5): the derivatives of all that is seen by k and by v of the left one, in complex steps."""
    columns = []
    for i in range(5):
        dk, dv = np.zeros(3, complex), np.zeros((3, 2), complex)
        (dk if i < 3 else dv[0])[i if i < 3 else i - 3] = 1e-30j
        path = leapfrog(X.astype(complex), np.array([v, *V[1:]]) + dv, M, k + dk, 0.1, 40)
        columns.append(np.concatenate([path[s].imag.ravel() / 1e-30 for s in SEEN]))
    return np.stack(columns, axis=1)


def test_a_fit_finds_what_made_the_data_with_the_errors_of_theory(here: Path) -> None:
    done = fitted()
    values, errors = numbers(done)
    assert done.outcome == "settled"
    assert (np.abs(values - [*K, *V[0]]) < 4.0 * errors).all()
    J = exact(values[:3], values[3:])
    np.testing.assert_allclose(errors, SIGMA * np.sqrt(np.diag(np.linalg.inv(J.T @ J))), rtol=1e-9)
    path = leapfrog(X, np.array([values[3:], *V[1:]]), M, values[:3], 0.1, 40)
    r = np.concatenate([(path[s] - x).ravel() for s, x in observed().items()])
    assert np.abs(J.T @ r).max() < 1e-8 * np.abs(J).sum()
    assert done.estimates.loss == pytest.approx(0.5 * r @ r / SIGMA**2, rel=1e-10)


@pytest.mark.parametrize("number", counts(14, 40))
def test_errors_are_those_of_many_data(number: int, here: Path) -> None:
    """Pulls of many fits have the mean 0 and the width 1: within four standard errors of each."""
    one, pulls = fitted({"fit.iterations": 0}).parameter_fit, []
    (loss,), objective = one.observed.losses, one.objective
    objective.rollout = Swing(one.simulation.stepper, [loss], 40)
    for seed in range(number):
        loss.data["misfit.target"][...] = list(observed(seed).values())
        search = GaussNewton(objective, one.parameters.unknowns, free=one.parameters.free)
        search.advance(8)
        z = search.coordinates
        errors = standard_errors(
            objective.curvature(z.directions()), np.ones(5, bool), np.dtype(float)
        ).errors
        pulls.append((z.read() - [*K, *V[0]]) / (z.scale * errors))
    pulls = np.array(pulls)
    assert (np.abs(pulls.mean(axis=0)) < 4.0 / np.sqrt(number)).all()
    assert (np.abs(pulls.std(axis=0) - 1.0) < 4.0 / np.sqrt(2.0 * number)).all()


def test_without_sigma_it_is_what_is_left_over(here: Path) -> None:
    given, sought = (
        fitted(),
        fitted({"fit.loss.0": {"kind": "misfit", "field": "x", "data": "x.csv"}}, "other"),
    )
    (values, errors), (others, more) = numbers(given), numbers(sought)
    np.testing.assert_allclose(values, others, rtol=1e-9)
    sigma = SIGMA * np.sqrt(2.0 * given.estimates.loss / (54 - 5))
    assert sought.estimates.sigma == pytest.approx(sigma, rel=1e-9)
    assert abs(sigma - SIGMA) < 4.0 * SIGMA / np.sqrt(2.0 * 49.0)
    np.testing.assert_allclose(more, errors * sigma / SIGMA, rtol=1e-9)
    assert given.estimates.sigma is None


@pytest.mark.parametrize(
    "overrides",
    [
        {"fit.method": "lbfgs", "fit.gradient": 1e-4, "fit.iterations": 200, "fit.pairs": 6},
        {"fit.method": "adam", "fit.rate": 0.02, "fit.gradient": 1e-1, "fit.iterations": 5000},
    ],
)
def test_other_methods_find_the_same(overrides: dict, here: Path) -> None:
    best, done = fitted(), fitted(overrides, "other")
    assert done.outcome == "converged", done.parameter_fit.stepper.verdict
    np.testing.assert_allclose(numbers(done)[0], numbers(best)[0], rtol=1e-5)
    np.testing.assert_allclose(numbers(done)[1], numbers(best)[1], rtol=1e-4)


def test_a_loss_of_ones_own_goes_down_and_has_no_errors(here: Path) -> None:
    """Minus how far the left one gets: its speed grows to the bound."""
    done = fitted(
        {
            "fit.method": "adam",
            "fit.rate": 0.1,
            "fit.iterations": 60,
            "fit.parameters": {"v": {"body": "left", "lower": -2.0, "upper": 2.0, "scale": 1.0}},
            "fit.loss": [{"kind": "reach", "body": "left", "steps": [15]}],
        }
    )
    loss = done.series("observables/loss").value
    assert loss[-1] < loss[0] - 1.5
    np.testing.assert_array_equal(done.estimates.parameters[0].values, [2.0, 0.5])
    assert np.isnan(done.estimates.parameters[0].errors).all()
    assert done.estimates.errors_from == "none, because the loss is not only misfits"
    assert done.estimates.as_dict()["parameters"]["v"]["at_bounds"] == ["v[left].x"]


def test_what_is_not_determined_is_told(here: Path, invoke) -> None:
    """Only k / m is seen of a mass on a tether."""
    overrides = ["fit.parameters={m={body='left'}, \"tether.k\"={}}", "fit.loss.0.sigma=0.01"]
    code, out, err = invoke("fit", "swing.toml", *overrides, "--out", "run", "--plugin", PLUGIN)
    assert (code, err) == (0, "")
    assert re.search(r"not determined by the data: (m\[left\] \+ \S+ tether|.*tether.k\[0\])", out)
    found = json.loads((here / "run/fit.json").read_text())
    assert found["parameters"]["m"]["standard_errors"] == [None]
    assert found["parameters"]["tether.k"]["standard_errors"][0] is None
    assert found["parameters"]["tether.k"]["standard_errors"][1] > 0.0
    assert len(found["undetermined"]) == 1


def test_where_a_search_starts_and_what_it_leaves_alone(here: Path) -> None:
    at_start = fitted({"fit.iterations": 0, "fit.parameters.v.start": [0.7, 0.8]})
    objective, fields = at_start.parameter_fit.objective, at_start.simulation.fields
    np.testing.assert_array_equal(objective.fields["v"].values, [[0.7, 0.8], [0.3, 0.0], [0.1, 0.0]])
    np.testing.assert_array_equal(fields["v"].values, objective.fields["v"].values)
    right = parameters({}, {"v": {"body": "right", "start": [[0.7, 0.8]]}}).listed[0]
    np.testing.assert_array_equal(right.start, [[0.0, 0.5], [0.7, 0.8], [0.1, 0.0]])
    done = fitted({"fit.parameters.v.start": [0.7, 0.8]}, "other")
    np.testing.assert_array_equal(
        done.parameter_fit.objective.fields["v"].values[1:], [[0.3, 0.0], [0.1, 0.0]]
    )


def test_parameters_keep_to_the_bounds_of_their_roles(here: Path) -> None:
    one = fitted({"fit.iterations": 0}).parameter_fit
    np.testing.assert_array_equal(one.search.coordinates.lower, [0.0, 0.0, 0.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(one.search.coordinates.scale, [1.0, 1.0, 1.0, 0.5, 0.5])


def test_a_table_for_some_bodies_in_any_order(here: Path) -> None:
    """The right one's rows are the right one's, though the body is named first."""
    some = "\n".join(line for line in (here / "x.csv").read_text().splitlines() if ", 2, " not in line)
    (here / "two.csv").write_text(some)
    done = fitted({"fit.loss.0.data": "two.csv", "fit.loss.0.body": ["right", "left"]})
    values, errors = numbers(done)
    assert (np.abs(values - [*K, *V[0]]) < 4.0 * errors)[[0, 1, 3, 4]].all()
    assert np.isnan(errors[2])


def parameters(overrides: dict, tables: dict[str, dict]) -> FitParameters:
    plain = {"plugins": ["elastic"], "fit": {"method": "lbfgs", "iterations": 1, "parameters": tables}}
    plain["fit"]["loss"] = [{"kind": "reach"}]
    simulation = build("swing.toml", plain | overrides, [oscillators])
    of_run = Rollout(simulation.stepper, [], 0)
    return FitParameters(simulation, simulation.scene.fit.parameters, of_run)


def test_what_is_held_is_not_sought(here: Path) -> None:
    found = parameters({"hold": [{"body": "left", "axes": "y"}]}, {"x": {}, "v": {"body": ["right"]}})
    np.testing.assert_array_equal(found.free["x"], [[True, False], [True, True], [True, True]])
    np.testing.assert_array_equal(found.free["v"], [[False] * 2, [True] * 2, [False] * 2])


def test_friction_has_parameters_too(here: Path) -> None:
    friction = {"dissipation": [{"kind": "mass_damping", "rate": 2.0}]}
    found = parameters(friction, {"mass_damping.rate": {"start": 3.0, "upper": 4.0, "rate": 7.0}})
    (sought,), (unknown,) = found.listed, found.unknowns
    assert unknown == Unknown("mass_damping.rate", scale=3.0, lower=0.0, upper=4.0, rate=7.0)
    assert found.simulation.dissipation.parameter("mass_damping.rate") == 2.0
    sought.put(np.array(3.5))
    assert found.simulation.dissipation.parameter("mass_damping.rate") == 3.5
    assert found.label("mass_damping.rate", []) == "mass_damping.rate"


def test_an_open_bound_wants_a_closed_one_inside(here: Path) -> None:
    with pytest.raises(EnergyError, match=r"'k' could reach 0, and u.k is only defined within \(0, inf\)"):
        within_role(Unknown("k"), "u.k", Parameter(bounds=(0.0, np.inf), open=True))
    bounded = within_role(Unknown("k", lower=-1.0, upper=9.0), "u.k", Parameter(bounds=(0.0, 5.0)))
    assert (bounded.lower, bounded.upper) == (0.0, 5.0)
