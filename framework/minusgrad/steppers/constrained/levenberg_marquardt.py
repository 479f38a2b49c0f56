"""Levenberg-Marquardt method: onto constraints g(x) = 0 from far off, where Newton's steps lead nowhere.

    x <- x - W G^T l,   (A + mu diag A) l = g,   A = G W G^T       a step that makes sum g_e^2 / A_ee smaller

mu falls after a step that does, and grows after one that does not, which is not taken: between Newton's step
(mu = 0) and a short one along the steepest descent. Ends at g = 0, or where g^2 has a minimum that is not
zero. (Marquardt 1963, J. Soc. Indust. Appl. Math. 11, 431, with his scaling by the diagonal.)

Decisions 0382.
"""

from typing import Protocol

import numpy as np

from ...errors import SingularSystemError

FIRST, DOWN, UP = 1e-3, 5.0, 3.0
"""mu at the start; how it changes after a step that is taken, and after one that is not."""
LEAST, LARGEST = 1e-14, 1e12
"""mu below which it is zero, and above which no step helps."""
MOST = 20_000
"""The most steps that are tried; a chain of 200 rods that is to shrink by an eighth takes 3,000."""
REACHED = 1000.0
"""Violations of so many eps are left to Newton's method."""


class Linearised(Protocol):
    """Constraints at the present place, and damped steps from there."""

    def take(self) -> tuple[np.ndarray, np.ndarray, float]:
        """g (E,), sqrt(A_ee) (E,) and the largest violation at the present place, where steps begin."""

    def step(self, damping: float) -> np.ndarray:
        """Move from the place that was taken by the step of a damping mu; g (E,) there.

        Raises `SingularSystemError` where the step has no solution.
        """


def approached(place: Linearised, eps: float) -> bool:
    """Move until g is zero but for some rounding; False where that is not reached."""
    g, sizes, worst = place.take()
    damping, size = FIRST, float(np.linalg.norm(g / sizes))
    for _ in range(MOST):
        if worst <= REACHED * eps:
            return True
        if not (damping <= LARGEST and np.isfinite(size)):
            return False
        try:
            tried = float(np.linalg.norm(place.step(damping) / sizes))
        except SingularSystemError:
            tried = np.inf
        if tried < size:
            g, sizes, worst = place.take()
            size = float(np.linalg.norm(g / sizes))
            damping = damping / DOWN if damping > DOWN * LEAST else 0.0
        else:
            damping = max(damping, LEAST) * UP
    return False
