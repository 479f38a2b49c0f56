"""A watch over the gradient of a fit: its norm jumps between iterations where the run is chaotic.

    |p_k| >= 100 |p_(k-1)|,    |p_k| >= 0.1 of the largest norm so far         p the projected gradient in z

After many contacts the derivative of a run grows exponentially with its steps. It is then exact and says
little about the loss at the distance of a step. The second condition leaves out gradients that vanish by
rounding near a minimum and return.

Decisions 0354.
"""

from collections.abc import Callable

from ..scheduler import Every
from .minimiser import Minimiser

JUMP, MATTERS = 100.0, 0.1
"""How many times the last norm is a jump; and the share of the largest norm from which it matters."""
MOST = 3
"""Warnings of one fit."""


class GradientWatch:
    """Looks at the gradient's norm at every iteration; an observer that records nothing.

    say: called with a warning at each of the first jumps. begin: `largest`, the largest norm of an earlier
    part of the fit, and how many warnings it `said`.
    """

    def __init__(self, search: Minimiser, say: Callable[[str], None], largest: float = 0.0, said: int = 0):
        self.search, self.trigger, self._say, self._said = search, Every(1), say, said
        self.last = search.gradient_norm
        self.largest = max(largest, self.last)

    def observe(self) -> None:
        last, now = self.last, self.search.gradient_norm
        jumps = now >= JUMP * last and now >= MATTERS * self.largest
        self.last, self.largest = now, max(now, self.largest)
        if jumps and last > 0.0 and self._said < MOST:
            self._said += 1
            more = "; further jumps are not reported" if self._said == MOST else ""
            self._say(
                f"iteration {self.search.step}: the norm of the gradient jumped from {last:.3g} to {now:.3g},"
                " as it does where a run is chaotic, such as by contacts; a shorter run, a smaller step, or a"
                f" normalised descent (adam) may cure it{more}"
            )
