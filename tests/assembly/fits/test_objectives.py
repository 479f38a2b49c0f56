"""The loss of a run as an objective: against paper, differences and numpy; the misfit."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.energies.misfit import misfit
from minusgrad.errors import (
    EnergyError,
)
from tests.support.oscillators import Swing, leapfrog
from tests.support.swing_fits import SIGMA, K, M, Squares, V, X, fitted, observed, valley


@pytest.mark.parametrize("shape", [(), (2,), (3,)])
def test_the_misfit_is_half_the_squared_distance_in_sigmas(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, target, sigma = rng.normal(size=(5, *shape)), rng.normal(size=(5, *shape)), 0.3
    fields = Fields({"q": x}, {"q": "m s^-1"})
    term = bind(
        misfit(fields["q"]), fields, renamed={"x": "q"}, data={"target": target}, parameters={"sigma": sigma}
    )
    potential = Potential(fields, [term])
    assert potential.value() == pytest.approx(0.5 * ((x - target) ** 2).sum() / sigma**2, rel=1e-14)
    np.testing.assert_allclose(potential.gradient("q"), (x - target) / sigma**2, rtol=1e-14)
    assert term.energy.roles["sigma"].unit == "m s^-1"


def test_a_misfit_of_matrices_is_refused() -> None:
    with pytest.raises(EnergyError, match=r"misfit: needs numbers or vectors, got 'F' of shape \[4, 2, 2\]"):
        misfit(Fields({"F": np.zeros((4, 2, 2))})["F"])


def test_the_oscillators_are_those_on_paper() -> None:
    path, w, h = leapfrog(X, V, M, K, 0.1, 40), np.sqrt(K / M)[:, None], 0.1
    phase = 40 * np.arccos(1.0 - 0.5 * (w * h) ** 2)
    amplitude = V / (w * np.sqrt(1.0 - 0.25 * (w * h) ** 2))
    np.testing.assert_allclose(path[40], X * np.cos(phase) + amplitude * np.sin(phase), rtol=1e-12)


def test_the_rollout_is_that_in_complex_numbers(here: Path) -> None:
    """Loss, gradients and the Gauss-Newton matrix, of all that may be sought together."""
    overrides = {"fit.parameters": {"tether.k": {}, "x": {}, "v": {}, "m": {"body": "right"}}}
    one = fitted(overrides | {"fit.iterations": 0}).parameter_fit
    rollout, coordinates = one.function, one.search.coordinates
    swing = Swing(one.simulation.stepper, one.observed.losses, 40)
    (loss, slopes), (expected, others) = (
        one.evaluate(["tether.k", "x", "v", "m"]) for one in (rollout, swing)
    )
    assert loss == pytest.approx(expected, rel=1e-13)
    for name, slope in slopes.items():
        np.testing.assert_allclose(slope, others[name], atol=1e-12 * np.abs(others[name]).max())
    matrix = one.objective.curvature(coordinates.directions())
    one.objective.rollout = swing
    best = one.objective.curvature(coordinates.directions())
    np.testing.assert_allclose(matrix, best, atol=1e-12 * np.abs(best).max())
    assert matrix.shape == (16, 16)


def test_an_objective_is_the_loss_of_the_run(here: Path) -> None:
    """Value and gradient where p is not what the scene has, against the formula and its differences."""
    objective = fitted({"fit.iterations": 0}).parameter_fit.objective
    k, v = K + 0.1, V[0] + 0.2

    def loss(k: np.ndarray, v: np.ndarray) -> float:
        path = leapfrog(X, np.array([v, *V[1:]]), M, k, 0.1, 40)
        return sum(0.5 * ((path[s] - x) ** 2).sum() for s, x in observed().items()) / SIGMA**2

    objective.fields["tether.k"].set(k)
    objective.fields["v"].set([v, *V[1:]])
    assert objective.value() == pytest.approx(loss(k, v), rel=1e-12)
    targets = {name: np.zeros(field.shape) for name, field in objective.fields.items()}
    assert objective.evaluate_into(targets) == pytest.approx(loss(k, v), rel=1e-12)
    h = 1e-6
    for i in range(3):
        e = h * np.eye(3)[i]
        assert targets["tether.k"][i] == pytest.approx((loss(k + e, v) - loss(k - e, v)) / (2 * h), rel=1e-6)
    for i in range(2):
        e = h * np.eye(2)[i]
        assert targets["v"][0, i] == pytest.approx((loss(k, v + e) - loss(k, v - e)) / (2 * h), rel=1e-6)


def test_an_objective_looks_once_at_one_place() -> None:
    squares = valley()
    objective = squares.objective()
    assert [objective.value(), objective.magnitude(), objective.by_term()["loss"]] == [squares.value()] * 3
    assert squares.looks == 2
    objective.fields["p"].set([1.0, 2.0])
    assert objective.value() == pytest.approx(100.0)
    assert squares.looks == 3


def test_a_run_that_explodes_is_nan_and_says_why() -> None:
    squares = Squares(lambda p: np.log(p), lambda p: np.diag(1.0 / p), [2.0])
    objective = squares.objective()
    objective.fields["p"].set([-1.0])
    assert np.isnan(objective.value())
    assert np.isnan(objective.evaluate_into({"p": np.zeros(1)}))
    assert (
        objective.first_nonfinite(0.0, ["p"])
        == "the run of the loss: step 3: field 'x', node 0 is not finite"
    )
    objective.fields["p"].set([1.0])
    assert objective.value() == 0.0
    assert objective.first_nonfinite(0.0, ["p"]) is None
