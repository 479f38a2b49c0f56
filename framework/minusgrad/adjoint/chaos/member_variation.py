"""The variations of all members of an ensemble, by one kernel: each lane carries a member and its tangent.

As `Variation`, for many runs at once: the steps since the last stop are taken once more, together with
their tangent, and the members' state is restored.
"""

from collections.abc import Mapping
from math import log, nan

import numpy as np

from ...steppers.members.integrator_lanes import IntegratorLanes
from ..tangents import Sensitivity
from .variation import Variation

State = dict[str, np.ndarray]


class MemberVariation:
    """The tangents of `count` members from their states at the last `stop`.

    first: the variation of the template, whose tangent is the first of all. tangent: by field, of shape
    (count, N, ...), each member's of norm 1 in the run's units after a stop. saved: the members' state at the
    last stop, at the step `since`. Raises `NotWideError` where the tangents of a step have no lanes.
    """

    def __init__(self, lanes: IntegratorLanes, first: Variation):
        self.lanes = lanes
        self.tangent: State = {n: np.stack([w] * lanes.count) for n, w in first.tangent.items()}
        beside = Sensitivity(lanes.integrator, list(self.tangent))
        self._along = {n: beside.tangents[n] for n in self.tangent}
        self._product = beside.product
        self._kernel = lanes.kernel(beside.steps)
        self.saved, self.since = lanes.state(), self._step

    @property
    def _step(self) -> int:
        """The number of steps since dt was set."""
        return self.lanes.integrator.step - self.lanes.integrator.since

    def growth(self) -> np.ndarray:
        """The logarithm of each tangent's norm at the present states, (count,); NaN of one that is lost."""
        return _logarithms(norms(self._carried()))

    def stop(self) -> np.ndarray:
        """`growth`; then the present states are the last stop, and the tangents have norm 1 again."""
        tangent = self._carried()
        sizes = norms(tangent)
        self.saved, self.since = self.lanes.state(), self._step
        with np.errstate(invalid="ignore"):
            self.tangent = {n: w / sizes.reshape(-1, *[1] * (w.ndim - 1)) for n, w in tangent.items()}
        return _logarithms(sizes)

    def _carried(self) -> State:
        """The tangents at the present states."""
        lanes, one = self.lanes, self.lanes.integrator
        before = lanes.state()
        lanes.restore(self.saved)
        for name, array in self._along.items():
            lanes.arrays.write_members(array, self.tangent[name])
        for array in self._product.values():
            lanes.arrays.of(array)[...] = 0.0
        # a step of no length, for the changes of forces along the tangents
        self._kernel(1, 0.0, one.t0 + self.since * one.dt, 0.0)
        self._kernel(self._step - self.since, float(self.since), one.t0, one.dt)
        lanes.restore(before)
        return {n: lanes.arrays.rows(a).astype(np.float64) for n, a in self._along.items()}


def norms(tangent: Mapping[str, np.ndarray]) -> np.ndarray:
    """The Euclidean norms (count,) of tangents (count, ...), each summed in one order for any count."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.zeros(len(next(iter(tangent.values()))))
        for w in tangent.values():
            for component in w.reshape(len(w), -1).T:
                total = total + component * component
        return np.sqrt(total)


def _logarithms(sizes: np.ndarray) -> np.ndarray:
    """One by one, because bits of vectorised logarithms may depend on the place in the array."""
    return np.array([log(size) if np.isfinite(size) else nan for size in sizes])
