"""Steps of minimisers by hand: first order, L-BFGS beside SciPy's."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from minusgrad import Potential
from minusgrad.steppers.minimisers import lbfgs
from minusgrad.steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from minusgrad.steppers.minimisers.lbfgs import LBFGS, curved
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.laws import assert_splits
from tests.support.optima import (
    Tally,
    barrier,
    bowl,
    ceiling,
    chain,
    cluster,
    edge,
    found,
    pressed,
    q,
    single,
    valley,
)
from tests.support.searches import resumed_states, searched_valleys, solved

# Steps by hand ------------------------------------------------------------------------------------------


def test_gradient_descent_by_hand():
    """U = q^2: from 1 to -2 it would be 4, half as far at -0.5 it is 0.25; the next may be 1.25 as long."""
    potential = single([bowl], [1.0], bowl={"k": 2.0})
    tally = Tally(potential)
    search = GradientDescent(potential, q(), first=3.0)
    search.advance(1)
    assert found(search)[0] == -0.5
    assert tally.count == 3  # the start, and two trials
    assert search.length == 0.75 * 1.25
    assert search.change == 1.5
    search.advance(1)
    assert found(search)[0] == -0.5 + 0.75 * 1.25


def test_armijo_wants_a_part_of_what_the_slope_promises():
    """U = q^2 from 1 to a hair above -1: lower, but by less than 1e-4 of the slope times the step."""
    potential = single([bowl], [1.0], bowl={"k": 2.0})
    search = GradientDescent(potential, q(), first=2.0 - 1e-4)
    search.advance(1)
    assert found(search)[0] == pytest.approx(5e-5, abs=1e-12)


def test_adam_begins_with_steps_of_its_rate():
    """Whatever the slopes, 1e12 times one another: rate times the field's rate, downhill."""
    potential = single([bowl], [1.0, -1.0, 1.0], bowl={"k": [1e-6, 1.0, 1.0]})
    search = Adam(potential, q(rate=2.0, scale=10.0), rate=0.01)
    search.advance(1)
    np.testing.assert_allclose(found(search), [0.8, -0.8, 0.8], rtol=0.01)
    np.testing.assert_allclose(found(search)[1:], [-0.8, 0.8], rtol=1e-8)


@pytest.mark.parametrize("clip", [None, 3.0])
def test_adam_by_hand(clip: float | None):
    """The first slopes are clipped: their norm is 8.1."""
    k, start = np.array([1.0, 4.0]), np.array([1.0, -2.0])
    search = Adam(single([bowl], start, bowl={"k": k}), q(), rate=0.1, clip=clip)
    z, m, v = start.copy(), np.zeros(2), np.zeros(2)
    for n in range(1, 31):
        g = k * z
        g *= min(1.0, clip / np.linalg.norm(g)) if clip else 1.0
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        root = np.sqrt(v / (1.0 - 0.999**n))
        z -= 0.1 * (m / (1.0 - 0.9**n)) / (root + 1e-8 * root.max())
    search.advance(30)
    np.testing.assert_allclose(found(search), z, rtol=1e-12)


FALLING = partial(Adam, rate=0.05, final_rate=0.002, decay_steps=30)
"""Its rate goes on falling beyond the middle of the tests of bits, and is constant at their ends."""


def test_the_rate_of_adam_falls_along_half_a_cosine():
    """On a slope of constant size every step is the rate: 0.05 at first, halfway the mean, then 0.002."""
    search = FALLING(single([edge], [-9.0]), q())
    path = [found(search)[0]]
    for _ in range(40):
        search.advance(1)
        path.append(found(search)[0])
    expected = [0.002 + 0.048 * np.cos(0.5 * np.pi * min(k / 30.0, 1.0)) ** 2 for k in range(40)]
    np.testing.assert_allclose(np.diff(path), expected, rtol=1e-6)
    assert expected[15] == pytest.approx(0.026)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_of_a_falling_rate_do_not_depend_on_the_cuts(precision):
    assert_splits(lambda: searched_valleys(FALLING, precision), 60)
    whole, later = resumed_states(partial(searched_valleys, FALLING, precision))
    assert whole == later


def test_adam_does_not_see_the_unit_of_energy():
    """2^-80 of U, about what joules are to molecules: the same path, bit for bit."""
    start, unit = [1.0, -2.0], 2.0**-80
    one, other = (Adam(single([bowl], start, bowl={"k": k}), q()) for k in (1.0, unit))
    for search in (one, other):
        search.advance(50)
    np.testing.assert_array_equal(found(one), found(other))
    assert found(one)[0] < 0.96


def test_fire_by_hand():
    """Kick, mix, drift; faster after five steps downhill; half a halved step back after one too far."""
    k, start = np.array([1.0, 9.0]), np.array([1.0, -2.0])
    search = FIRE(single([bowl], start, bowl={"k": k}), q(), first=0.05, longest=0.4)
    z, v, a, downhill, turns, capped = start.copy(), np.zeros(2), 0.25, 0, 0, 0
    h = first = np.sqrt(0.05 / 18.0)
    for _ in range(60):
        f = -k * z
        if f @ v < 0.0:
            h, a, downhill, turns = h / 2, 0.25, 0, turns + 1
            z, v = z - 0.5 * h * v, np.zeros(2)
            continue
        downhill += bool(f @ v > 0.0)
        if downhill > 5:
            h, a = min(1.1 * h, 10.0 * first), 0.99 * a
        v = v + h * f
        v = (1.0 - a) * v + a * f * np.sqrt(v @ v) / np.sqrt(f @ f)
        if np.abs(h * v).max() > 0.4:
            v, capped = v * 0.4 / np.abs(h * v).max(), capped + 1
        z = z + h * v
    search.advance(60)
    assert turns > 1
    assert capped > 0
    np.testing.assert_allclose(found(search), z, rtol=1e-10, atol=1e-12)
    assert search.pace == pytest.approx(h, rel=1e-12)


def test_fire_is_no_faster_than_ten_times_its_start():
    search = FIRE(single([bowl], [1e9]), q(), first=1e-3, longest=1e6)
    search.advance(40)
    assert search.pace == pytest.approx(10.0 * np.sqrt(1e-3 / 1e9), rel=1e-12)


def test_what_slides_into_a_bound_stops_there():
    search = FIRE(single([bowl], [1.0, 1.0], bowl={"c": [-5.0, -0.5]}), q(lower=0.0))
    while found(search)[0] > 0.0:
        search.advance(1)
    assert search.velocity[0] == 0.0


# L-BFGS -------------------------------------------------------------------------------------------------


def _dense(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """H by the update of BFGS, from the scaled identity."""
    s, y = pairs[-1]
    H = np.eye(len(s)) * (s @ y) / (y @ y)
    for s, y in pairs:
        V = np.eye(len(s)) - np.outer(s, y) / (s @ y)
        H = V @ H @ V.T + np.outer(s, s) / (s @ y)
    return H


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 9])
def test_two_loops_are_the_dense_update(steps):
    """The direction is -H g, with H from the last three pairs."""
    potential, free = chain(8)
    search = LBFGS(potential, q(), free=free, memory=3)
    points = []
    for _ in range(steps):
        points.append((found(search)[1:-1].copy(), search.gradient["q"][1:-1].copy()))
        search.advance(1)
    points.append((found(search)[1:-1].copy(), search.gradient["q"][1:-1].copy()))
    pairs = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)][-3:]
    expected = -_dense(pairs) @ points[-1][1]
    np.testing.assert_allclose(search._direction(search._here()), expected, rtol=1e-9)


def test_pinned_components_are_no_part_of_the_metric():
    """At the ceiling the direction of the others is that of their own pairs; its own is its slope's."""
    potential, free, end = ceiling(n=9, m=4, b=0.3, k=2.0)
    search = LBFGS(potential, q(upper=end[-1]), free=free)
    search.advance(6)
    here = search._here()
    pinned = (here.z == end[-1]) & (here.slope < 0.0)
    assert pinned.sum() in range(1, 8)
    rows = [k % search.memory for k in range(search.pairs)]
    pairs = [(search.s[k][~pinned], search.y[k][~pinned]) for k in rows]
    pairs = [(s, y) for s, y in pairs if s @ y > 1e-16 * np.sqrt((s @ s) * (y @ y))]
    direction = search._direction(here)
    np.testing.assert_allclose(direction[~pinned], -_dense(pairs) @ here.slope[~pinned], rtol=1e-9)
    assert (direction[pinned] * here.slope[pinned] < 0.0).all()


def test_a_pair_that_bends_the_wrong_way_is_not_remembered():
    """U falls ever more steeply up to the bound that ends the step."""
    search = LBFGS(single([bowl], [0.1], bowl={"k": -1.0}), q(upper=1.0), Tolerances(1e-9))
    search.advance(5)
    assert (search.step, search.outcome, found(search)[0]) == (1, "converged", 1.0)
    assert search.pairs == 0


def test_a_pair_whose_square_underflows_is_not_remembered():
    """Slopes of 1e-200 have digits, their squares have none."""
    search = solved(LBFGS(single([bowl], [0.0, 0.5], bowl={"k": 1e-200, "c": 1.0}), q()))
    np.testing.assert_array_equal(found(search), [1.0, 1.0])
    np.testing.assert_array_equal(
        curved(np.array([1.0, 1e-202]), np.ones(2), np.array([1.0, 0.0])), [True, False]
    )


def test_a_memory_that_leads_nowhere_is_forgotten():
    """Pairs of a bowl 1e30 times as stiff propose steps below the rounding of z."""
    potential = single([bowl], [3.0, 2.0], bowl={"k": [1e30, 3e30]})
    search = LBFGS(potential, q(), Tolerances(1e-9))
    search.advance(2)
    assert search.pairs == 2
    potential.set_parameter("bowl.k", [1.0, 3.0])
    potential.set_parameter("bowl.c", 5.0)
    search.evaluate()
    np.testing.assert_allclose(found(solved(search)), 5.0, rtol=1e-9)
    assert search.step < 20


@pytest.mark.parametrize("memory", [1, 20])
def test_with_exact_steps_a_quadratic_takes_as_many_as_it_has_dimensions(memory, monkeypatch):
    """Then it is the method of conjugate gradients (Nazareth 1979, SIAM J. Numer. Anal. 16, 794)."""
    n = 12
    matrix = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)

    def exact(minimiser, here, d, length):
        return minimiser.evaluate_at(here.z - (here.slope @ d) / (d @ matrix @ d) * d)

    monkeypatch.setattr(lbfgs, "search", exact)
    potential, free = chain(n)
    search = LBFGS(potential, q(), Tolerances(1e-9), free=free, memory=memory)
    search.advance(n - 2)
    assert search.outcome is None
    search.advance(2)
    assert search.outcome == "converged", search.verdict


def test_a_quadratic_takes_few_steps_more():
    """Weak Wolfe steps in their stead, and all pairs remembered: measured 26 for 12 dimensions to 1e-10."""
    potential, free = chain(12)
    search = solved(LBFGS(potential, q(), Tolerances(1e-10), free=free, memory=30))
    assert search.step <= 30


def _scipy(potential: Potential, names: list[str], gradient: float, bounds=None) -> tuple[np.ndarray, int]:
    """Where scipy's L-BFGS-B ends (10 pairs), and how often it evaluates."""
    optimize = pytest.importorskip("scipy.optimize")
    fields = [potential.fields[n] for n in names]
    ends = np.cumsum([f.values.size for f in fields])

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        for field, part in zip(fields, np.split(x, ends[:-1]), strict=True):
            field.set(part.reshape(field.shape))
        return potential.value(), np.concatenate([potential.gradient(n).ravel() for n in names])

    options = {"gtol": gradient, "ftol": 0.0, "maxiter": 10_000, "maxfun": 10_000}
    start = np.concatenate([f.values.ravel() for f in fields])
    done = optimize.minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return done.x, done.nfev


PROBLEMS: dict[str, tuple[Callable[[], Potential], str, float, float]] = {
    "valley": (lambda: single([valley], [-1.2, 1.0]), "q", -np.inf, np.inf),
    "barrier": (lambda: single([barrier], [3.0, 1e-3, 40.0]), "q", 1e-9, np.inf),
    "pressed": (lambda: pressed(40), "q", -0.5, 0.5),
    "thirteen": (lambda: cluster(13, disorder=0.1), "x", -np.inf, np.inf),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_scipy_ends_at_the_same_place_and_needs_no_less(name):
    """At most 1.5 times scipy's evaluations (measured: 0.9 to 1.1)."""
    make, field, lower, upper = PROBLEMS[name]
    potential = make()
    bounds = [(lower, upper)] * potential.fields[field].values.size
    theirs, evaluations = _scipy(potential, [field], 1e-6, bounds)
    potential = make()
    tally = Tally(potential)
    search = solved(LBFGS(potential, [Unknown(field, lower=lower, upper=upper)], Tolerances(1e-6)))
    assert tally.count <= 1.5 * evaluations
    if name != "thirteen":  # it may turn round
        np.testing.assert_allclose(found(search, field).ravel(), theirs, atol=1e-4)
    potential.fields[field].set(theirs.reshape(potential.fields[field].shape))
    assert search.energy == pytest.approx(potential.value(), abs=1e-9)
