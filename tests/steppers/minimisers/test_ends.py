"""How a search ends: converged, settled, stuck, not finite; held components and the time of holds."""

import numpy as np
import pytest

from minusgrad.energies.fields import Hold
from minusgrad.errors import NonFiniteError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.minimisers.first_order import FIRE, Adam
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.systems.system import System
from tests.support.laws import bits
from tests.support.optima import (
    barrier,
    bowl,
    chain,
    cliff,
    found,
    kink,
    q,
    single,
    tide,
)
from tests.support.searches import APPROACH, EACH, SEARCHES, solved

SLIDES = pytest.mark.parametrize("method", [Adam, FIRE])
"""Those that leap."""


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
