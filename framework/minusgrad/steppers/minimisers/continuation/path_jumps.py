"""Jumps of equilibria along a load: whether the path between two of them is continuous.

    |x(b) - x(a)|,  b - a halved again and again towards the larger difference

Along a continuous path the difference falls with the interval, as the square root of it before a limit point,
beyond which there is no equilibrium near: there it stays as large as the snap-through. (Crisfield 1991,
Non-linear Finite Element Analysis of Solids and Structures, vol. 1, chapter 9.)

Decisions 0072.
"""

from collections.abc import Callable

import numpy as np

Values = dict[str, np.ndarray]
Equilibrium = tuple[Values, float]
"""The unknown fields, and the load."""
FAR = 0.5
"""An equilibrium farther from the end of the tangent than this part of it may be beyond a jump."""
HALVINGS = 10
"""The interval of the load is halved so often where there is a jump: by which its load is known."""
FALLS, SMALL = 0.5, 0.1
"""The difference of a continuous path falls to FALLS in three halvings, and below SMALL of the first one."""


def jump_between(
    before: Equilibrium,
    after: Equilibrium,
    between: Callable[[Values, float, float], Values | None],
    scaled: Callable[[Values], np.ndarray],
) -> float | None:
    """The load at which equilibria jump; None where the path is continuous.

    between(values, here, there): the equilibrium at the load `there`, followed from that at `here`; None
    where none is found. scaled: values as one vector.
    """
    (low, begin), (high, end) = before, after
    apart = [_apart(low, high, scaled)]
    for _ in range(HALVINGS):
        load = 0.5 * (begin + end)
        if (middle := between(low, begin, load)) is None:
            end = load  # the path ends before; what follows is the equilibrium beyond
            continue
        if _apart(low, middle, scaled) > _apart(middle, high, scaled):
            high, end = middle, load
        else:
            low, begin = middle, load
        apart.append(_apart(low, high, scaled))
        if apart[-1] <= SMALL * apart[0] and apart[-1] <= FALLS * apart[-4:][0]:
            return None
    return end


def _apart(a: Values, b: Values, scaled: Callable[[Values], np.ndarray]) -> float:
    return float(np.abs(scaled(b) - scaled(a)).max(initial=0.0))
