"""Minimisers against paper: known optima, first steps and outcomes; and the same bits however cut."""

import ast
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind, ti
from minusgrad.energies.fields import Hold
from minusgrad.engine import storage
from minusgrad.errors import CheckpointError, EnergyError, NonFiniteError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.minimisers import lbfgs, line_search
from minusgrad.steppers.minimisers import minimiser as minimisers
from minusgrad.steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from minusgrad.steppers.minimisers.lbfgs import LBFGS, curved
from minusgrad.steppers.minimisers.line_search import Trial, _between, _beyond
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import ScaledVariables, Unknown
from minusgrad.steppers.systems.system import System
from tests.support.laws import assert_splits, bits, kept
from tests.support.optima import (
    Tally,
    barrier,
    bowl,
    ceiling,
    chain,
    clamped,
    cliff,
    cluster,
    edge,
    found,
    kink,
    pressed,
    q,
    ripples,
    single,
    steps_until,
    stretched,
    tide,
    tied,
    valley,
    walls,
)

METHODS = {"descent": GradientDescent, "Adam": Adam, "L-BFGS": LBFGS, "FIRE": FIRE, "Newton": Newton}
EACH = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
APPROACH = pytest.mark.parametrize("method", [m for m in METHODS.values() if m is not Newton])
"""Those that do not reach the minimum of a parabola in one step."""
SEARCHES = pytest.mark.parametrize("method", [GradientDescent, LBFGS, Newton])
"""Those that search along a line."""
SLIDES = pytest.mark.parametrize("method", [Adam, FIRE])
"""Those that leap."""


def solved(search: Minimiser, most: int = 5000) -> Minimiser:
    search.advance(most)
    assert search.outcome == "converged", search.verdict
    return search


# Optima on paper ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "gradient", "error"),
    [
        (LBFGS, 1e-12, 1e-10),
        (Newton, 1e-12, 1e-10),
        (GradientDescent, 1e-12, 1e-10),
        (FIRE, 1e-12, 1e-10),
        (Adam, 1e-6, 1e-4),
    ],
)
def test_a_chain_between_clamped_ends_is_straight(method, gradient, error):
    potential, free = chain(8)
    search = solved(
        method(potential, q(rate=100.0 if method is Adam else 1.0), Tolerances(gradient), free=free)
    )
    np.testing.assert_allclose(found(search), np.linspace(0.0, 1.0, 10), atol=error)
    assert search.residual <= gradient


@EACH
def test_the_gradient_is_that_of_all_components_where_the_fields_are(method):
    """Whoever holds the ends finds there what holding costs; also after a search that went back."""
    potential, free = chain(8)
    search = method(potential, q(), free=free)
    for _ in range(12):
        search.advance(1)
        np.testing.assert_array_equal(search.gradient["q"], potential.gradient("q"))
        assert search.energy == pytest.approx(potential.value(), rel=1e-15)  # of another kernel
    search = LBFGS(potential, q(), Tolerances(1e-13), free=free)
    search.advance(100)
    np.testing.assert_allclose(search.gradient["q"][[0, -1]], [-1.0 / 9.0, 1.0 / 9.0], rtol=1e-10)


@EACH
def test_a_ceiling(method):
    """Bounds that hold: the KKT point, and its forces on the ceiling."""
    potential, free, end = ceiling(n=9, m=4, b=0.3, k=2.0)
    rate = 100.0 if method is Adam else 1.0
    search = solved(method(potential, q(upper=end[-1], rate=rate), Tolerances(1e-12), free=free))
    np.testing.assert_allclose(found(search), end, atol=1e-10)
    assert (found(search)[4:] == end[-1]).all()
    np.testing.assert_allclose(-search.gradient["q"][4:], [0.15, 0.3, 0.3, 0.3, 0.3], rtol=1e-9)


@EACH
def test_a_box(method):
    """Independent bowls of different depth: each node ends at its middle, or at the bound next to it."""
    middles = np.array([-3.0, 0.5, 0.2, 7.0, 0.9])
    potential = single([bowl], [0.5, 0.1, 0.3, 0.7, 0.0], bowl={"c": middles, "k": [1.0, 3.0, 0.5, 1.0, 2.0]})
    rate = 20.0 if method is Adam else 1.0
    search = solved(method(potential, q(lower=0.0, upper=0.8, rate=rate), Tolerances(1e-11)))
    np.testing.assert_allclose(found(search), [0.0, 0.5, 0.2, 0.8, 0.8], atol=1e-10)


def test_the_valley():
    search = solved(LBFGS(single([valley], [-1.2, 1.0]), q(), Tolerances(1e-10)))
    np.testing.assert_allclose(found(search), [1.0, 1.0], atol=1e-11)


@pytest.mark.parametrize("method", [LBFGS, FIRE, GradientDescent])
@pytest.mark.parametrize(("n", "energy"), [(3, -3.0), (13, -44.326801)])
def test_clusters(method, n, energy):
    search = solved(method(cluster(n, disorder=0.05), [Unknown("x")], Tolerances(1e-6)))
    assert search.energy == pytest.approx(energy, abs=1e-6)


def test_the_next_trial():
    """Between: the minimum of U = z^3 - 3 z, or the middle. Beyond: the zero of a line; or as far again."""
    marks = {z: Trial(z, z**3 - 3.0 * z, 3.0 * z * z - 3.0) for z in (0.0, 0.5, 1.5, 1.9, 9.0)}
    for long in (1.5, 1.9):
        assert _between(marks[0.5], marks[long]) == pytest.approx(1.0, rel=1e-12)
    assert _between(marks[0.5], marks[9.0]) == pytest.approx(0.5 + 0.1 * 8.5)
    assert _between(marks[0.5], Trial(2.5, np.nan, np.nan)) == 1.5
    start = Trial(0.0, 0.0, -1.0)
    assert _beyond(start, Trial(0.5, 0.0, -0.8)) == pytest.approx(2.5)
    assert _beyond(start, Trial(0.5, 0.0, -0.01)) == pytest.approx(1.1 * 0.5)
    assert _beyond(start, Trial(0.5, 0.0, -0.99)) == pytest.approx(10.0 * 0.5)
    assert _beyond(start, Trial(0.5, 0.0, -2.0)) == 1.0


def test_every_search_step_is_a_weak_wolfe_step():
    """With them s.y > 0; the unit step of L-BFGS is taken most of the time."""
    potential = single([valley], [-1.2, 1.0])
    search = LBFGS(potential, q(), Tolerances(1e-6))
    while search.outcome is None:
        z, u, g = found(search).copy(), search.energy, search.gradient["q"].copy()
        search.advance(1)
        s = found(search) - z
        assert search.energy <= u + 1e-4 * (g @ s)
        assert search.gradient["q"] @ s >= 0.9 * (g @ s)
    assert search.step > 20


# Where U drowns -----------------------------------------------------------------------------------------


@SEARCHES
def test_slopes_find_the_way_where_the_rounding_of_the_energy_hides_it(method):
    """On a base of 1e6 U has no digits below 1e-9, hence x none below 3e-5, if nothing but U is asked."""
    potential, free = chain(8, base=1e6)
    search = solved(method(potential, q(), Tolerances(1e-12), free=free))
    np.testing.assert_allclose(found(search), np.linspace(0.0, 1.0, 10), atol=1e-10)


@SEARCHES
def test_where_the_energy_has_digits_it_is_believed(method):
    """One wave further the slope is the same, as if U had fallen all the way; it has risen."""
    search = method(single([ripples], [0.5, 0.5]), q(), first=2.0 * np.pi)
    start = search.energy
    search.advance(1)
    assert search.energy < start


def test_scatter_is_rounding_and_nothing_else():
    """Next to none in a bowl, though it bends; in F - 1 - log F more than eps U; fields are put back."""
    potential, free, end = stretched(50, 1e-8)
    potential.fields["q"].set(end)
    searches = {1.0: LBFGS(single([bowl], [1.0, 2.0]), q()), 1e-6: LBFGS(potential, q(), free=free)}
    for size, search in searches.items():
        here = search._here()
        there = search.evaluate_at(here.z - size * np.cos(np.arange(len(here.z))))
        s, before = there.z - here.z, bits(search)
        seen = line_search.scatter(search, there, s, float((there.slope - here.slope) @ s))
        assert bits(search) == before
        assert max(seen) < 1e-14
    assert min(seen) > 100.0 * search.rounding()


@SEARCHES
def test_a_rise_that_bends_is_no_rounding(method):
    """Far out the walls of q^8 bend otherwise than any parabola; U never rises for that."""
    search = method(single([walls], [0.4, -0.9]), q(), first=1.7)
    for _ in range(12):
        before = search.energy
        search.advance(1)
        assert search.energy <= before


def test_scatter_leaves_out_what_is_smooth():
    """Over a step across the walls the first estimate is of their size, the second is not."""
    search = LBFGS(single([walls], [0.4, -0.9]), q())
    here, there = search._here(), search.evaluate_at(np.array([-1.1, 1.3]))
    s = there.z - here.z
    rough, smooth = line_search.scatter(search, there, s, float((there.slope - here.slope) @ s))
    assert smooth < 1e-2 * abs(there.energy - here.energy)
    assert smooth < 0.1 * rough


@SEARCHES
def test_a_jump_is_no_rounding(method):
    """U scatters where it jumps; still the search stays on this side, on the best point that it has seen."""
    search = method(single([edge], [0.0, 0.3]), q(), Tolerances(1e-9))
    for _ in range(8):
        before = search.energy
        search.advance(1)
        assert search.energy <= before
        assert search.energy == search.potential.value()
        np.testing.assert_array_equal(search.gradient["q"], search.potential.gradient("q"))
    assert (found(search) < 1.0).all()
    assert found(search)[1] > 0.99


@pytest.mark.parametrize("most", range(4, 12))
def test_a_search_that_runs_out_of_trials_ends_at_the_best(most, monkeypatch):
    """Before a jump every trial is too short or too long; the last was either."""
    monkeypatch.setattr(line_search, "MOST", most)
    search = LBFGS(single([edge], [0.0, 0.3]), q())
    search.advance(1)
    assert search.energy == search.potential.value() < -0.3
    np.testing.assert_array_equal(search.gradient["q"], search.potential.gradient("q"))


@pytest.mark.parametrize("force", [1e-4, 1e-8])
def test_an_energy_whose_rounding_is_larger_than_itself(force):
    """eps U says nothing of the rounding of F - 1 - log F: it is seen."""
    potential, free, end = stretched(50, force)
    search = solved(LBFGS(potential, q(), Tolerances(3e-13), free=free))
    np.testing.assert_allclose(found(search), end, atol=1e-9)


@EACH
def test_single_precision(method):
    """The search sees what the fields hold; the chain is straight to a few units in the last place."""
    potential, free = chain(8, "f32")
    search = solved(method(potential, q(rate=100.0 if method is Adam else 1.0), Tolerances(1e-5), free=free))
    np.testing.assert_allclose(found(search), np.linspace(0.0, 1.0, 10), atol=2e-4)
    assert found(search).dtype == np.float32
    assert search.energy == potential.value()


# Scales and rates ---------------------------------------------------------------------------------------

END = {"near": 1.0, "far": 60.0}


def _tied(method: type[Minimiser], **far: float) -> Minimiser:
    fields = Fields({"near": [0.0, 3.0], "far": [0.0, 130.0]})
    return method(Potential(fields, [bind(tied, fields)]), [Unknown("near"), Unknown("far", **far)])


@pytest.mark.parametrize(
    ("method", "ratio"), [(GradientDescent, 40.0), (FIRE, 10.0), (partial(Adam, rate=0.1), 10.0)]
)
def test_a_scale_for_each_field_pays(method, ratio):
    """One goes to 1, one to 60, in steps of 20: with its scale it takes 20 iterations, and not 1261."""
    with_scale = steps_until(_tied(method, scale=20.0), END, 1e-2)
    assert steps_until(_tied(method), END, 1e-2) > ratio * with_scale


def test_a_rate_does_what_a_scale_does_to_first_order():
    """z = x / scale moves by rate dU/dz: x by rate scale^2 dU/dx."""
    scaled, rated = _tied(GradientDescent, scale=4.0), _tied(GradientDescent, rate=16.0)
    scaled.length = rated.length = 0.1
    for search in (scaled, rated):
        search.advance(1)
    np.testing.assert_allclose(found(scaled, "far"), found(rated, "far"), rtol=1e-15)
    np.testing.assert_allclose(found(scaled, "near"), found(rated, "near"), rtol=1e-15)
    scaled, rated = _tied(FIRE, scale=4.0, rate=1.0), _tied(FIRE, rate=16.0)
    scaled.pace = scaled.fastest = rated.pace = rated.fastest = 0.01
    for search in (scaled, rated):
        search.advance(30)
    np.testing.assert_allclose(found(scaled, "far"), found(rated, "far"), rtol=1e-12)


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
    assert_splits(lambda: _valleys(FALLING, precision), 60)
    whole, later = _resumed(partial(_valleys, FALLING, precision))
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


# Not finite ---------------------------------------------------------------------------------------------


@SEARCHES
@pytest.mark.parametrize("energy", [barrier, cliff])
def test_a_search_steps_back_from_what_is_not_finite(method, energy):
    search = method(single([energy], [3.0, 2.0, 0.1]), q(), Tolerances(1e-10), first=10.0)
    np.testing.assert_allclose(found(solved(search)), [1.0, 1.0, 1.0], atol=1e-9)


@SLIDES
@pytest.mark.parametrize(
    ("energy", "trouble"),
    [
        (barrier, "the energy of term 'barrier' is nan, though its forces are finite; "),
        (cliff, r"term 'cliff', node \d: its force on 'q' is not finite; "),
    ],
)
def test_what_leaps_is_stopped_where_it_stood(method, energy, trouble):
    """Also where the slope is finite beyond the barrier: it must not go on there."""
    far = {"rate": 1.5} if method is Adam else {"first": 2.1, "longest": 2.1}
    search = method(single([energy], [4.0, 2.5]), q(), **far)
    with pytest.raises(NonFiniteError, match=rf"^step 2: {trouble}a smaller (rate|`longest`) may cure it$"):
        search.advance(10)
    assert search.step == 1
    assert (found(search) > 0.0).all()
    np.testing.assert_array_equal(search.gradient["q"], search.potential.gradient("q"))
    before = bits(search)
    with pytest.raises(NonFiniteError):
        search.advance(1)
    assert bits(search) == before


@pytest.mark.parametrize(("method", "far"), [(Adam, {"rate": 9.0}), (FIRE, {"first": 9.0, "longest": 9.0})])
def test_a_first_leap_that_fails_leaves_no_trace(method, far):
    search = method(single([barrier], [4.0, 2.5]), q(), **far)
    before = bits(search)
    with pytest.raises(NonFiniteError, match=r"^step 1: the energy of term 'barrier' is nan"):
        search.advance(1)
    assert bits(search) == before


@EACH
def test_a_start_that_is_not_finite_is_named(method):
    with pytest.raises(
        NonFiniteError, match=r"^step 0: term 'cliff', node 1: its force on 'q' is not finite$"
    ):
        method(single([cliff], [1.0, -1.0]), q())
    with pytest.raises(NonFiniteError, match=r"^step 0: the energy of term 'barrier' is nan"):
        method(single([barrier], [1.0, -1.0]), q())
    with pytest.raises(NonFiniteError, match=r"^step 0: term 'cliff', node 1: its force"):  # where U is 0
        method(single([cliff], [1.0, 0.0]), q())


# Outcomes -----------------------------------------------------------------------------------------------


@EACH
def test_converged(method):
    search = method(single([bowl], [2.0**-4]), q(rate=10.0), Tolerances(2.0**-5))
    assert search.verdict == "not converged: gradient 0.0625, asked 0.03125 (step 0)"
    search.advance(100)
    assert search.outcome == "converged"
    assert search.verdict.startswith(f"converged: gradient {search.residual:.3g}, asked 0.03125 (step ")
    assert 0 < search.step < 100


@EACH
def test_an_optimum_takes_no_steps(method):
    for enough in (Tolerances(1e-9), Tolerances(), Tolerances(change=1e-9)):
        search = method(single([bowl], [0.0, 0.0]), q(), enough)
        before = bits(search)
        search.advance(10)
        assert (search.step, search.outcome, search.residual) == (0, "converged", 0.0)
        assert bits(search) == before


@APPROACH
def test_settled(method):
    potential = single([bowl], [1.0, 1.0, 1.0], bowl={"k": [0.1, 0.3, 1.0]})
    search = method(potential, q(rate=10.0), Tolerances(1e-30, change=1e-3))
    assert search.verdict == "not converged: gradient 1, asked 1e-30; last change inf, asked 0.001 (step 0)"
    search.advance(5000)
    assert search.outcome == "settled"
    assert search.change <= 1e-3
    assert search.verdict.startswith("settled: gradient ")
    assert f"; last change {search.change:.3g}, asked 0.001 (step {search.step})" in search.verdict
    search.evaluate()
    assert search.outcome is None


@EACH
def test_a_slope_that_is_next_to_nothing(method):
    """Nothing is divided by it: the search goes on, or says that it cannot."""
    search = method(single([bowl], [1.0, 1.0], bowl={"k": [1e-300, 1e-312]}), q())
    search.advance(20)
    at_rest = search.residual == 0.0  # a stiffness below the normal numbers is none, and left out
    assert search.outcome in (("converged",) if at_rest else (None, "stuck"))
    assert np.isfinite(found(search)).all()


@SEARCHES
def test_stuck_at_a_kink(method):
    search = method(single([kink], [3.0]), q(), Tolerances(1e-9))
    search.advance(200)
    assert search.outcome == "stuck"
    assert found(search)[0] == pytest.approx(1.0, abs=1e-12)
    assert search.verdict.startswith("stuck: gradient ")
    assert "; no step lowers U = " in search.verdict
    assert search.verdict.endswith("if it has a kink or a jump here, smooth the energy")


@SEARCHES
def test_stuck_search_leaves_all_as_it_was(method):
    search = method(single([kink], [3.0]), q(), Tolerances(1e-9))
    search.advance(200)
    np.testing.assert_array_equal(search.gradient["q"], search.potential.gradient("q"))
    assert search.energy == search.potential.value()
    before = bits(search)
    search.advance(5)
    assert bits(search) == before
    search.evaluate()
    assert search.outcome is None


@EACH
@pytest.mark.parametrize(
    ("enough", "verdict"),
    [
        (
            Tolerances(),
            "stuck: gradient 0 (step 0); every free component is at a bound and pushed beyond it; if it",
        ),
        (Tolerances(gradient=0.0), "converged: gradient 0, asked 0 (step 0)"),
        (Tolerances(change=1e-3), "settled: gradient 0; last change inf, asked 0.001 (step 0)"),
    ],
)
def test_all_at_their_bounds(method, enough, verdict):
    search = method(single([bowl], [0.5, 2.0], bowl={"c": 7.0}), q(upper=0.5), enough)
    search.advance(3)
    assert search.verdict.startswith(verdict)
    assert (found(search) == 0.5).all()


@EACH
def test_another_time_is_another_search(method):
    """A bowl whose middle is at 2 t: evaluate(t) opens the question again."""
    search = method(single([tide], [1.0]), q(rate=10.0), Tolerances(1e-5), t=0.25)
    search.advance(2000)
    assert (search.outcome, search.time) == ("converged", 0.25)
    assert found(search)[0] == pytest.approx(0.5, abs=1e-5)
    search.evaluate(0.5)
    assert (search.outcome, search.time) == (None, 0.5)
    search.advance(2000)
    assert found(search)[0] == pytest.approx(1.0, abs=1e-5)
    assert (search.dt, search.motions, search.balance) == (0.0, (), {})
    assert [field.name for field in search.moving] == ["q"]


def test_what_is_held_goes_where_it_is_at_that_time():
    """The chain's right end is drawn from 1 to 2 within a second, and is half way at half time."""
    potential, _ = chain(8)
    holds = [Hold("wall", "q", np.array([0])), Hold("hand", "q", np.array([9]), None, (1.0,), 1.0)]
    search = LBFGS(System(potential, holds=Holds(potential.fields, holds)), q(), Tolerances(1e-12))
    for t, end in ((0.0, 1.0), (0.5, 1.5), (2.0, 2.0)):
        search.evaluate(t)
        np.testing.assert_allclose(found(solved(search)), np.linspace(0.0, end, 10), atol=1e-10)


# What may move ------------------------------------------------------------------------------------------


def test_what_is_held_stays_also_beyond_the_bounds():
    potential = single([bowl], [5.0, 5.0, -5.0, 0.5])
    search = LBFGS(potential, q(lower=-1.0, upper=1.0), free=clamped(4, 0))
    np.testing.assert_array_equal(found(search), [5.0, 1.0, -1.0, 0.5])
    search.advance(20)
    assert found(search)[0] == 5.0
    assert search.residual == 0.0
    assert search.gradient["q"][0] == 5.0


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("scale", [3.0, 5.05, 1e-7])  # 0.7 / 5.05 * 5.05 < 0.7
def test_a_bound_is_reached_to_the_bit(scale, precision):
    """z = x / scale is rounded, and in single precision the bound too; a bound reached is a bound held."""
    potential = single([bowl], [0.1, 0.1, 0.1], precision)
    z = ScaledVariables(potential, q(lower=-0.3, upper=0.7, scale=scale), clamped(3))
    for beyond in (z.upper, 2.0 * z.upper, np.full(3, np.inf)):
        x = z.write(beyond)
        assert (potential.fields["q"].values == potential.fields["q"].dtype.type(0.7)).all()
        assert z.pinned(x / z.scale, np.full(3, -1.0)).all()
        assert not z.pinned(x / z.scale, np.full(3, 1.0)).any()
    assert z.pinned(z.write(z.lower - 1.0) / z.scale, np.full(3, 1.0)).all()
    inside = z.write(np.array([0.01, 0.02, 0.03]) / scale)
    z.put(inside)
    np.testing.assert_array_equal(z.read(), inside)


def test_equal_bounds_hold():
    fields = Fields({"near": [0.0], "far": [0.0]})
    unknowns = [Unknown("near"), Unknown("far", lower=40.0, upper=40.0)]
    search = solved(LBFGS(Potential(fields, [bind(tied, fields)]), unknowns, Tolerances(1e-12)))
    assert found(search, "far")[0] == 40.0
    assert found(search, "near")[0] == pytest.approx(1.5)


# Refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unknowns", "free", "message"),
    [
        ([], {}, "unknowns: none is given; name at least one field"),
        ([Unknown("p")], {}, "'p': no energy depends on it, so it has no minimum (they depend on: q)"),
        ([Unknown("r")], {}, "no field named 'r' (there are: q, p)"),
        ([Unknown("q", scale=0.0)], {}, "'q': scale must be positive and finite, got 0"),
        ([Unknown("q", scale=np.nan)], {}, "'q': scale must be positive and finite, got nan"),
        ([Unknown("q", rate=-1.0)], {}, "'q': rate must be positive and finite, got -1"),
        (
            [Unknown("q", lower=2.0, upper=1.0)],
            {},
            "'q': its lower bound 2 is above its upper 1",
        ),
        ([Unknown("q"), Unknown("q")], {}, "unknowns: 'q' is given twice; give it once"),
        (
            [Unknown("q")],
            {"q": np.zeros(2, bool)},
            "unknowns: no component is free to move, all are held or fixed by their bounds",
        ),
        ([Unknown("q", lower=1.0, upper=1.0)], None, "unknowns: no component is free to move, all are held"),
        ([Unknown("q")], {"p": np.ones(2, bool)}, "free: 'p' is not among the unknowns; leave its mask out"),
        (
            [Unknown("q")],
            {},
            "free: no mask for 'q'; give one for each unknown, or leave `free` out",
        ),
        (
            [Unknown("q")],
            {"q": np.ones(3, bool)},
            "free['q']: needs booleans of shape [2], got bool of shape [3]",
        ),
        (
            [Unknown("q")],
            {"q": np.ones(2)},
            "free['q']: needs booleans of shape [2], got float64 of shape [2]",
        ),
    ],
)
def test_refused(unknowns, free, message):
    fields = Fields({"q": [1.0, 2.0], "p": [1.0, 2.0]})
    with pytest.raises(EnergyError) as refusal:
        LBFGS(Potential(fields, [bind(bowl, fields)]), unknowns, free=free)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: LBFGS(p, q(), memory=0), "memory: L-BFGS needs at least 1 pair, got 0"),
        (lambda p: LBFGS(p, q(), first=0.0), "first must be positive and finite, got 0"),
        (lambda p: GradientDescent(p, q(), first=-1.0), "first must be positive and finite, got -1"),
        (lambda p: Adam(p, q(), rate=0.0), "rate must be positive and finite, got 0"),
        (lambda p: Adam(p, q(), clip=0.0), "clip must be positive and finite, got 0"),
        (
            lambda p: Adam(p, q(), final_rate=0.1),
            "final_rate: needs `decay_steps` beside it, got none; give both, or leave both out",
        ),
        (
            lambda p: Adam(p, q(), decay_steps=9),
            "decay_steps: needs `final_rate` beside it, got none; give both, or leave both out",
        ),
        (
            lambda p: Adam(p, q(), final_rate=-1.0, decay_steps=9),
            "final_rate must be 0 or more and finite, got -1",
        ),
        (
            lambda p: Adam(p, q(), final_rate=0.0, decay_steps=0),
            "decay_steps must be 1 or more, got 0",
        ),
        (lambda p: FIRE(p, q(), longest=np.inf), "longest must be positive and finite, got inf"),
        (
            lambda p: Tolerances(gradient=-1.0),
            "tolerance `gradient` must be >= 0, got -1",
        ),
        (lambda p: Tolerances(change=np.nan), "tolerance `change` must be >= 0, got nan"),
    ],
)
def test_refused_numbers(make, message):
    with pytest.raises(EnergyError) as refusal:
        make(single([bowl], [1.0]))
    assert str(refusal.value) == message


# Bits ---------------------------------------------------------------------------------------------------


def _valleys(method: type[Minimiser], precision: str = "f64", enough: Tolerances = Tolerances()) -> Minimiser:  # noqa: B008
    """Rosenbrock's valley with a bound in the way, and bowls that no step lowers at once."""
    fields = Fields({"q": [-1.2, 1.0, 0.4, 0.9]}, precision=precision)
    terms = [bind(valley, fields, tuples=[[0, 1], [2, 3]]), bind(bowl, fields)]
    return method(Potential(fields, terms), q(scale=3.0, upper=0.95), enough)


@EACH
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_do_not_depend_on_the_cuts(method, precision):
    assert_splits(lambda: _valleys(method, precision), 120)


@EACH
def test_arrays_of_the_engine_give_the_same_bits(method, monkeypatch):
    """Fields and gradients in `ti.ndarray`s, as on a device."""

    def on_device(values: np.ndarray):
        array = ti.ndarray(getattr(ti, storage.ENGINE_DTYPES[values.dtype.name]), values.shape)
        array.from_numpy(np.ascontiguousarray(values))
        return array

    numpy = kept(_valleys(method), [30])
    monkeypatch.setattr(storage, "allocate", on_device)
    assert kept(_valleys(method), [30]) == numpy


@EACH
def test_the_end_does_not_depend_on_the_cuts(method):
    """An outcome within a batch ends it."""
    assert_splits(lambda: _valleys(method, enough=Tolerances(0.3, change=1e-9)), 60)


def _resumed(build: Callable[[], Minimiser], names: Sequence[str] | None = None) -> tuple[dict, dict]:
    """The bits of a search that goes on, and of a new one that took up its state in the middle."""
    whole, later = build(), build()
    whole.advance(16)
    later.potential.fields["q"].set(found(whole))
    if names is not None:
        later.kept = tuple(names)
    later.restore(whole.state())
    later.kept = whole.kept
    assert (whole.outcome, whole.verdict) == (later.outcome, later.verdict)
    for search in (whole, later):
        search.advance(24)
    return bits(whole), bits(later)


def _far() -> Minimiser:
    """So far from the minimum that FIRE gets as fast as it may."""
    return FIRE(single([bowl], [1e9]), q(), first=1e-3, longest=1e6)


@EACH
def test_resumed_goes_on_bit_for_bit(method):
    whole, later = _resumed(partial(_valleys, method))
    assert whole == later


OF_ROUNDING = ("last", "rounded")
"""These decide where a search ends, not where it goes: `assembly/test_newton_scenes.py` resumes there."""
KEPT = {
    f"{label}: {name}": (method, name)
    for label, method in METHODS.items()
    for name in method.kept
    if name not in OF_ROUNDING
}


@pytest.mark.parametrize(("method", "name"), KEPT.values(), ids=KEPT)
def test_all_that_is_kept_matters(method, name):
    """Without it the search goes elsewhere, or nowhere at all."""
    build = _far if name == "fastest" else partial(_valleys, method)
    try:
        whole, later = _resumed(build, [n for n in method.kept if n != name])
    except ZeroDivisionError:
        return
    assert whole["q"] != later["q"]


@APPROACH
def test_an_outcome_is_restored(method):
    """Also one that fields and gradient alone do not tell."""
    enough = Tolerances(change=1e-2)
    search, later = (method(single([bowl], [1.0]), q(rate=10.0), enough) for _ in range(2))
    search.advance(5000)
    assert search.outcome == "settled"
    later.potential.fields["q"].set(found(search))
    later.restore(search.state())
    assert later.verdict == search.verdict
    later.advance(5)
    assert bits(later) == bits(search)


def test_being_stuck_is_restored():
    search, later = (LBFGS(single([kink], [3.0]), q()) for _ in range(2))
    search.advance(200)
    later.potential.fields["q"].set(found(search))
    later.restore(search.state())
    assert later.outcome == search.outcome == "stuck"


@EACH
def test_a_state_that_does_not_fit_is_refused(method):
    search = _valleys(method)
    state = search.state()
    for name in state:
        with pytest.raises(CheckpointError, match=f"'stepper/{name}' is missing or does not fit"):
            search.restore({n: a for n, a in state.items() if n != name})
        with pytest.raises(CheckpointError, match=f"'stepper/{name}' is missing or does not fit"):
            search.restore({**state, name: np.zeros((7, 7))})


@EACH
def test_state_is_a_copy(method):
    search = _valleys(method)
    state = search.state()
    before = {n: a.tobytes() for n, a in state.items()}
    search.advance(8)
    assert {n: a.tobytes() for n, a in state.items()} == before
    search.restore(state)
    search.advance(8)
    assert {n: a.tobytes() for n, a in state.items()} == before


def test_no_sum_is_left_to_blas():
    """Its order depends on the number of threads."""
    for room in ("unknowns", "outcomes", "minimiser", "line_search", "first_order", "lbfgs", "newton"):
        tree = ast.parse((Path(minimisers.__file__).parent / f"{room}.py").read_text())
        for node in ast.walk(tree):
            assert not isinstance(node, ast.MatMult), room
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called.rpartition(".")[2] not in ("vdot", "inner", "einsum", "tensordot", "norm", "sum"), (
                room
            )
            assert called != "np.dot", room


def test_the_search_is_the_shared_one():
    assert lbfgs.search is line_search.search


# A start outside the bounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_start_outside_the_bounds_is_reported(precision):
    search = LBFGS(single([bowl], [3.0, -2.0, 0.5, 9.0], precision), q(lower=-1.0, upper=4.0))
    assert found(search).tolist() == [3.0, -1.0, 0.5, 4.0]
    (outside,) = search.outside
    assert outside.text("um") == (
        "field 'q': 2 of 4 nodes began outside its bounds, -1 to 4 um, and were moved onto them, by up to"
        " 5 um; widen the bounds, or move the start"
    )
    assert "by up to 5; widen" in outside.text("1")
    assert not LBFGS(single([bowl], [3.0, 4.0]), q(lower=-1.0, upper=4.0)).outside


def test_held_components_are_not_outside():
    potential = single([bowl], [9.0, 0.5])
    search = LBFGS(potential, q(upper=4.0), free={"q": np.array([False, True])})
    assert (search.outside, found(search)[0]) == ([], 9.0)


def test_a_write_outside_the_bounds_warns():
    potential = single([bowl], [3.0, 2.0])
    search = LBFGS(potential, q(upper=4.0))
    potential.fields["q"].set([3.0, 7.0])
    with pytest.warns(UserWarning, match="^field 'q': 1 of 2 nodes began outside its bounds"):
        search.advance(1)
