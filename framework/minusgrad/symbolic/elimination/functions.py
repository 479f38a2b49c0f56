"""The least value of an energy over an unknown of one element: `from minusgrad import least_value`.

    u(a) = min over t > 0 of psi(t, a)

psi [J] or [J/m^3] an energy of the language, t > 0 an unknown of the element such as the stretch across a
sheet, a all other arguments, start the t at which the search begins. In energies u has exact derivatives of
the first three orders. Where psi has no minimum within a factor of 1,000 of the start, u is NaN.

Here it is a function of Python numbers, by Brent's method on values alone; energies use `newton`.

Decisions 0256.
"""

import math
from collections.abc import Callable
from typing import Any

FURTHEST = math.log(1000.0)
"""Of ln t from that of the start."""
PRECISE = 1e-9
"""Of ln t: psi is stationary there, so that its error is of second order."""


def least_value(density: Callable[..., Any], start: Any, *arguments: Any) -> Any:
    """The minimum of density(t, *arguments) over t > 0, in energies and plain Python.

    density: a `ti.func` of t and the arguments, without `if` on t, that returns one number; start > 0: where
    the search begins. Returns the least value; NaN where there is none within a factor of 1,000 of the start.
    """
    from scipy.optimize import minimize_scalar

    middle = math.log(start) if start > 0.0 else math.nan
    if not math.isfinite(middle):
        return math.nan

    def value(s: float) -> float:
        found = float(density(math.exp(s), *arguments))
        return found if math.isfinite(found) else math.inf

    ends = (middle - FURTHEST, middle + FURTHEST)
    found = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": PRECISE})
    inside = min(found.x - ends[0], ends[1] - found.x) > 1e-3
    least = min(found.fun, value(middle))  # exact, where the start is
    return least if inside and math.isfinite(least) else math.nan
