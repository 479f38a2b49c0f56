"""Every minimiser, solved problems, searches that are cut and resumed."""

from collections.abc import Callable, Sequence

import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from tests.support.laws import bits
from tests.support.optima import (
    bowl,
    found,
    q,
    valley,
)

METHODS = {"descent": GradientDescent, "Adam": Adam, "L-BFGS": LBFGS, "FIRE": FIRE, "Newton": Newton}
EACH = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
APPROACH = pytest.mark.parametrize("method", [m for m in METHODS.values() if m is not Newton])
"""Those that do not reach the minimum of a parabola in one step."""
SEARCHES = pytest.mark.parametrize("method", [GradientDescent, LBFGS, Newton])
"""Those that search along a line."""


def solved(search: Minimiser, most: int = 5000) -> Minimiser:
    """The search after it has converged, within so many steps."""
    search.advance(most)
    assert search.outcome == "converged", search.verdict
    return search


def searched_valleys(
    method: type[Minimiser], precision: str = "f64", enough: Tolerances | None = None
) -> Minimiser:
    """Rosenbrock's valley with a bound in the way, and bowls that no step lowers at once."""
    fields = Fields({"q": [-1.2, 1.0, 0.4, 0.9]}, precision=precision)
    terms = [bind(valley, fields, tuples=[[0, 1], [2, 3]]), bind(bowl, fields)]
    return method(Potential(fields, terms), q(scale=3.0, upper=0.95), enough or Tolerances())


def resumed_states(build: Callable[[], Minimiser], names: Sequence[str] | None = None) -> tuple[dict, dict]:
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
