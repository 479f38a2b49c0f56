"""Check of a Gauss-Radau step: gradient against values along its substeps, adjoint against tangent."""

import math
from collections.abc import Iterator

import numpy as np

from ...check.questions import Finding
from ...errors import NonFiniteError, UnsolvedStepError
from ...steppers.timed.gauss_radau.gauss_radau import GaussRadau
from .first_step import FirstStep, of_step


def of_gauss_radau(stepper: GaussRadau, seed: int = 0) -> Iterator[Finding]:
    """Check the first step from the present fields. Restores fields, parameters and data."""
    rng = np.random.default_rng(seed)
    yield from of_step(FirstSubsteps(stepper, rng), rng)


class FirstSubsteps(FirstStep):
    """The first step, whose value elsewhere is that along the substeps from the present start."""

    stepper: GaussRadau

    def __init__(self, stepper: GaussRadau, rng: np.random.Generator):
        super().__init__(stepper, rng)
        self._lengths: list[float] = []
        self._after()

    def _after(self) -> dict[str, np.ndarray]:
        one = self.stepper
        before = one.memory()
        try:
            one.count_from_here()
            one.evaluate()
            self._lengths = [substep.h for substep in one.advance_recorded(self._lengths)]
            return {n: self._fields[n].values.copy() for n in self._weights}
        except (NonFiniteError, UnsolvedStepError):
            return {n: np.full(self._fields[n].shape, math.nan) for n in self._weights}
        finally:
            one.recall(before)
