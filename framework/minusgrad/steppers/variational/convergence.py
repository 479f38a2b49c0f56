"""The end of Newton's iterations of a variational step: corrections at the rounding of the unknowns.

    |change| <= ROUNDED eps |unknown|                              or, once it is below FLOOR eps |extent|,
    |change| >= |last change| / 2                                  noise of the slopes

Both the sparse solver and the kernel over nodes end by it, in a fixed order, so that a resumed run has the
same bits.
"""

from typing import ClassVar

import numpy as np

ROUNDED = 4.0
"""Corrections of so many roundings of the unknowns end the iterations."""
FLOOR = 1e4
"""Corrections of so many roundings of the coordinates may be noise of the slopes."""


class Convergence:
    """The test of one step. `MOST`: the most iterations."""

    MOST: ClassVar[int] = 40

    def __init__(self, dtype: np.dtype):
        self._eps, self._last = float(np.finfo(dtype).eps), np.inf

    def reached(self, change: np.ndarray, unknown: np.ndarray, extent: np.ndarray) -> bool:
        """True if this was the last correction; `extent`: the numbers whose rounding makes noise."""
        size, most = float(np.abs(change).max(initial=0.0)), float(np.abs(unknown).max(initial=0.0))
        far = most + float(np.abs(extent).max(initial=0.0))
        done = size <= ROUNDED * self._eps * most or (
            size <= FLOOR * self._eps * far and size >= 0.5 * self._last
        )
        self._last = size
        return bool(done)
