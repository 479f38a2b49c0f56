"""Projections onto constraints in one kernel each, for groups of equations of any size.

The kernel of a projection of positions evaluates g, solves and moves nodes until g is zero to rounding,
without a return to the host. Where an iteration leaves so much that the factors no longer fit, the host goes
on from there, as `Projections` does.

Decisions 0379.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...engine import storage
from ...engine.kernels import MOST_ARRAYS, BoundKernel, Code
from ...errors import UnsolvedStepError
from ...potential.constraints.constraints import Constraints
from ..holds import Holds
from .constraint_loops import ConstraintLoops
from .projections import Projections

ONCE = "ti.loop_config(serialize=True)\nfor once in range(1):"
"""The header of loops that one thread executes in order."""


class KernelProjections(Projections):
    """`Projections` whose `begin`, `positions` and `velocities` launch a kernel each.

    `failed`: an array of one number (`ConstraintLoops`). `fits`: kernels have room for the arrays of all
    constraints; otherwise there are none.
    """

    def __init__(
        self,
        constraints: Constraints,
        motions: Sequence[Motion],
        inertia: Mapping[str, Any],
        holds: Holds,
    ):
        super().__init__(constraints, motions, inertia, holds)
        made = {n: storage.allocate(np.zeros(self.count)) for n in self._vectors}
        self.failed = storage.allocate(np.full(1, -1, np.int32))
        made |= {"rows": self.rows, "weights": self.weights, "failed": self.failed, "iterations": self._turns}
        masks = {n: holds.mask(n) for n in self.names if holds.mask(n) is not None}
        parts = self.equations, self._entries, self.gram, self._kernels
        self._arrays = made
        self.loops = loops = ConstraintLoops(*parts, made, self._velocities, masks)
        rows, onto, tangent = loops.rows(), loops.onto(), loops.tangent()
        self.fits = all(len(code.arrays) <= MOST_ARRAYS for code in (rows, onto, tangent))
        self._compared = dict.fromkeys(("begin", "steps"), False)
        if self.fits:
            self._begin = _once(rows, "t")
            self._onto, self._tangent = _once(onto, "h", "t"), _once(tangent)

    @property
    def _vectors(self) -> list[str]:
        """The names of arrays with a number for each equation."""
        timed = ["rates"] * self.constraints.uses_time
        return ["scale", "impulses", *timed, *["driven"] * self.drives]

    def begin(self, t: float, loaded: bool = False) -> None:
        self.time = t
        self.failed.fill(-1)
        self._begin(t)
        self._compare("begin", t)
        if storage.host(self.failed)[0] >= 0:
            super().begin(t)  # which names the equation
        self.driven = storage.host(self._arrays["driven"]) if self.drives else None

    def launched(self, steps: Callable[[], None], t: float, h: float) -> None:
        self.failed.fill(-1)
        steps()
        self.time = t
        if h == 0.0:
            self._compare("steps", t)
        if storage.host(self.failed)[0] < 0:
            return
        if h != 0.0:
            raise UnsolvedStepError("the constraints are not reached by the factors of one place")
        super().begin(t)  # which names the equation

    def _compare(self, kernel: str, t: float) -> None:
        """Compare the rows of a kernel with others after its first launch."""
        if not self._compared[kernel]:
            self._compared[kernel] = True
            self.compare_rows(t)

    def positions(self, h: float, t: float, guess: np.ndarray) -> np.ndarray:
        storage.store(self.gram.factors.x, guess * h)
        self.failed.fill(-1)
        self._onto(h, t)
        self.impulses = storage.host(self._arrays["impulses"]).copy()
        if storage.host(self.failed)[0] >= 0:
            self.sizes = 1.0 / storage.host(self._arrays["scale"])
            self._solve(h, t, exact=True)
        return self.impulses / h

    def velocities(self) -> np.ndarray:
        self._tangent()
        self.impulses = storage.host(self.gram.factors.x).copy()
        return self.impulses


def _once(code: Code, *scalars: str) -> BoundKernel:
    return BoundKernel(code.inside(ONCE), *scalars)
