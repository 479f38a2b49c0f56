"""Minimisers end at optima known on paper, also where the rounding of U hides the way."""

from functools import partial

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.steppers.minimisers import line_search
from minusgrad.steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.line_search import Trial, _between, _beyond
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.laws import bits
from tests.support.optima import (
    bowl,
    ceiling,
    chain,
    cluster,
    edge,
    found,
    q,
    ripples,
    single,
    steps_until,
    stretched,
    tied,
    valley,
    walls,
)
from tests.support.searches import EACH, SEARCHES, solved

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
