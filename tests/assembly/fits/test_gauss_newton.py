"""Gauss-Newton steps and standard errors against numpy's least squares."""

from typing import Any

import numpy as np
import pytest

from minusgrad.adjoint.standard_errors import standard_errors
from minusgrad.assembly.fits.estimates import combination, rounded
from minusgrad.errors import (
    CheckpointError,
)
from minusgrad.steppers.minimisers.gauss_newton import GaussNewton, solved
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.swing_fits import Squares, valley


def line(n: int = 30, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A design matrix of a cubic, badly scaled, and data."""
    rng, t = np.random.default_rng(seed), np.linspace(0.0, 3.0, n)
    A = np.stack([np.ones(n), 1e3 * t, t**2, 1e-2 * t**3], axis=1)
    return A, A @ [1.0, -2e-3, 0.5, 30.0] + 0.1 * rng.normal(size=n)


def linear(A: np.ndarray, b: np.ndarray, start: Any = (0.0, 0.0, 0.0, 0.0)) -> Squares:
    return Squares(lambda p: A @ p - b, lambda p: A, start)


def decay(scale: float = 1.0) -> Squares:
    """y = a exp(-b t), where b is sought in some unit."""
    t = np.linspace(0.0, 4.0, 20)
    y = 3.0 * np.exp(-0.7 * t) + 0.01 * np.cos(40.0 * t)

    def jacobian(p: np.ndarray) -> np.ndarray:
        e = np.exp(-p[1] / scale * t)
        return np.stack([e, -p[0] * t / scale * e], axis=1)

    return Squares(lambda p: p[0] * np.exp(-p[1] / scale * t) - y, jacobian, (1.0, 0.1 * scale))


# Gauss-Newton ---------------------------------------------------------------------------------------


def found(search: Minimiser) -> np.ndarray:
    return search.objective.fields["p"].values.copy()


def test_linear_least_squares_take_one_step_and_have_numpys_covariance() -> None:
    A, b = line()
    search = GaussNewton(linear(A, b).objective(), [Unknown("p", 0.3)], Tolerances(change=1e-9))
    search.advance(1)
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(found(search), best, rtol=1e-9)
    search.advance(5)
    assert (search.step, search.outcome) == (2, "settled")
    np.testing.assert_allclose(found(search), best, rtol=1e-10)
    curvature = search.objective.curvature(search.coordinates.directions())
    errors = standard_errors(curvature, np.ones(4, bool), np.dtype(float)).errors * search.coordinates.scale
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(A.T @ A))), rtol=1e-9)


def test_the_valley_in_a_few_steps() -> None:
    search = GaussNewton(valley().objective(), [Unknown("p")], Tolerances(gradient=1e-12))
    search.advance(60)
    assert search.outcome == "converged"
    assert search.step < 30
    np.testing.assert_allclose(found(search), [1.0, 1.0], rtol=1e-12)


def test_every_step_goes_down_and_damping_fades() -> None:
    search = GaussNewton(valley().objective(), [Unknown("p")])
    energies, dampings = [search.energy], [search.damping]
    while search.outcome is None and search.step < 60:
        search.advance(1)
        energies.append(search.energy)
        dampings.append(search.damping)
    assert (np.diff(energies) < 0.0).all()
    assert max(dampings) > 0.0 == dampings[-1]


def test_units_do_not_matter() -> None:
    """The same iterates for a parameter in other units, though its scale is not given."""
    paths = []
    for unit in (1.0, 1e6):
        search, path = GaussNewton(decay(unit).objective(), [Unknown("p")]), []
        for _ in range(4):
            search.advance(1)
            path.append(found(search) / [1.0, unit])
        paths.append(path)
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-6)
    np.testing.assert_allclose(paths[0][-1], [3.0, 0.7], rtol=0.02)


def test_gauss_newton_keeps_to_bounds() -> None:
    """Against scipy, and by the signs of the slopes: a minimum within the box."""
    optimize = pytest.importorskip("scipy.optimize")
    A, b = line()
    lower, upper = -0.1, 1.05
    search = GaussNewton(
        linear(A, b).objective(), [Unknown("p", lower=lower, upper=upper)], Tolerances(1e-10)
    )
    search.advance(100)
    assert search.outcome == "converged", search.verdict
    best = optimize.lsq_linear(A, b, (lower, upper), tol=1e-14)
    np.testing.assert_allclose(found(search), best.x, rtol=1e-6)
    assert ((found(search) == lower) | (found(search) == upper)).any()


def test_what_cannot_be_told_apart_goes_the_shortest_way() -> None:
    """p0 + p1 alone is seen: undamped there is no solution."""
    A = np.array([[1.0, 1.0], [2.0, 2.0]])
    search = GaussNewton(
        linear(A, np.array([2.0, 4.0]), [0.0, 0.0]).objective(), [Unknown("p")], Tolerances(1e-9)
    )
    search.advance(50)
    assert search.outcome == "converged"
    np.testing.assert_allclose(found(search), [1.0, 1.0], atol=1e-8)


def test_gauss_newton_turns_back_from_where_there_is_no_number() -> None:
    squares = Squares(lambda p: 1.0 + np.log(p), lambda p: np.diag(1.0 / p), [5.0])
    search = GaussNewton(squares.objective(), [Unknown("p")], Tolerances(1e-10))
    search.advance(100)
    assert search.outcome == "converged"
    np.testing.assert_allclose(found(search), np.exp(-1.0), rtol=1e-9)


def test_no_way_down_is_stuck() -> None:
    wrong = Squares(lambda p: p, lambda p: np.diag([-1.0]), [1.0])  # uphill, it says
    search = GaussNewton(wrong.objective(), [Unknown("p")])
    search.advance(5)
    assert (search.outcome, search.step, found(search)[0]) == ("stuck", 0, 1.0)


def test_a_search_that_is_cut_and_restored_takes_the_same_steps() -> None:
    def bits(search: Minimiser) -> dict[str, bytes]:
        return {n: a.tobytes() for n, a in search.state().items()} | {"p": found(search).tobytes()}

    whole = GaussNewton(valley().objective(), [Unknown("p")])
    whole.advance(9)
    for cut in (1, 4, 8):
        first = GaussNewton(valley().objective(), [Unknown("p")])
        first.advance(cut)
        second = GaussNewton(valley((3.0, 3.0)).objective(), [Unknown("p")])
        second.objective.fields["p"].set(found(first))
        second.restore(first.state())
        second.advance(9 - cut)
        assert bits(second) == bits(whole)
        state = first.state()
        del state["damping"]
        with pytest.raises(CheckpointError, match="'stepper/damping' is missing"):
            second.restore(state)


def test_the_solution_of_a_system() -> None:
    rng = np.random.default_rng(3)
    scale = np.array([1.0, 1e8, 1e-8, 1.0, 3.0, 1e4])
    B = rng.normal(size=(9, 6)) * scale
    np.testing.assert_allclose(solved(B.T @ B, B.T @ B @ (1.0 / scale)), 1.0 / scale, rtol=1e-9)
    assert np.isnan(solved(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))).all()
    assert np.isnan(solved(np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones(2))).all()


# Standard errors ------------------------------------------------------------------------------------


def test_directions_that_the_data_do_not_determine() -> None:
    """Of four numbers one is alone, two are seen by their sum (in scaled variables), and one not at all."""
    J = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 4.0, 0.0], [1.0, 2.0, 8.0, 0.0]])
    answer = standard_errors(J.T @ J, np.ones(4, bool), np.dtype(float))
    alone, together = answer.undetermined
    np.testing.assert_array_equal(alone, [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(together * np.sign(together[1]), [0.0, 1.0, -0.25, 0.0], atol=1e-9)
    np.testing.assert_allclose(answer.errors, [np.sqrt(5.0 / 21.0), np.nan, np.nan, np.nan])
    assert answer.determined == 2


def test_what_is_at_a_bound_has_no_error_and_is_known() -> None:
    A, _ = line()
    moving = np.array([True, False, True, True])
    answer = standard_errors(A.T @ A, moving, np.dtype(float))
    B = A[:, moving]
    np.testing.assert_allclose(answer.errors[moving], np.sqrt(np.diag(np.linalg.inv(B.T @ B))), rtol=1e-8)
    assert np.isnan(answer.errors[1])
    assert answer.determined == 3


def test_a_bad_scale_is_no_singular_matrix() -> None:
    scale = np.array([1.0, 1e5, 1e-5])
    B = np.random.default_rng(4).normal(size=(10, 3))
    answer = standard_errors((B.T @ B) * np.outer(scale, scale), np.ones(3, bool), np.dtype(float))
    assert answer.undetermined == []
    np.testing.assert_allclose(answer.errors, np.sqrt(np.diag(np.linalg.inv(B.T @ B))) / scale, rtol=1e-9)


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (2.858345e-4, 1.234e-8, ("0.000285835", "1.2e-08")),
        (0.09992, 0.0099, ("0.0999", "0.0099")),
        (0.09992, 0.01, ("0.100", "0.010")),
        (9.9996, 0.001, ("9.9996", "0.0010")),
        (9.99996, 0.001, ("10.0000", "0.0010")),
        (-1234.5678, 25.0, ("-1235", "25")),
        (0.0, 0.5, ("0.00", "0.50")),
        (3.0, 40.0, ("3", "40")),
        (1.0 / 3.0, np.nan, ("0.3333333333", "")),
        (2.0, 0.0, ("2", "0")),
        (8.0e-7, 1.0e-6, ("8e-07", "1.0e-06")),
    ],
)
def test_values_are_told_to_the_second_digit_of_their_error(value: float, error: float, shown: tuple) -> None:
    assert rounded(value, error) == shown


def test_combinations_in_words() -> None:
    labels = ["m[sun]", "G", "k"]
    assert combination(np.array([1.0, -0.5, 0.0]), labels) == "m[sun] - 0.5 G"
    assert combination(np.array([-0.25, 1.0, 0.0]), labels) == "- 0.25 m[sun] + G"
