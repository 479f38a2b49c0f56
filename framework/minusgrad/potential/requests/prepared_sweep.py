"""Derivative requests that are repeated: each is planned once, and then only its kernels are launched.

PreparedSweep     a plan, and the kernels that answer it
LentTargets       U and gradients, into the caller's arrays, which may be others at every call

Decisions 0209.
"""

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest, Derivatives
from ...energies.fields import Fields
from ...engine import storage
from ..term_kernels import TermKernels
from .request_plan import RequestPlan
from .term_request import add_answer


class PreparedSweep:
    """A plan without tangents, or one that is run at once; a call returns the sums of a sweep at time t."""

    def __init__(self, plan: RequestPlan, owners: Mapping[str, Any], kernels: Mapping[str, Any]):
        self.plan = plan
        self._answers = [(owners[n], _part_sweep(kernels[n], part)) for n, part in plan.requests.items()]

    def __call__(self, t: float) -> Derivatives:
        for array in self.plan.zeroed:
            array.fill(0)
        for into, seed in self.plan.seeded:
            storage.store(into, seed)
        total = Derivatives()
        for part, answer in self._answers:
            add_answer(total, part, answer(t))
        for into, array in self.plan.copied:
            storage.store(into, array)
        return total


def _part_sweep(kernels: Any, part: DerivativeRequest) -> Any:
    """The sweep of a term's, map's or slope's kernels for its part of a request, as a function of time."""
    return kernels.prepare_sweep(part) if isinstance(kernels, TermKernels) else partial(kernels.sweep, part)


class LentTargets:
    """U (if `value`) and gradients into NumPy arrays of a caller, for the fields `names`.

    The arrays are lent to slots while kernels run. So all calls share kernels, whatever the arrays are,
    and no array of a caller is kept.
    """

    def __init__(self, fields: Fields, value: bool, names: tuple[str, ...]):
        self._slots = {n: storage.vacant(fields[n].shape, fields[n].dtype) for n in names}
        self.request = DerivativeRequest(value=value, gradient=self._slots)
        self.key = self.request.key(names)
        self._given: Mapping[str, Any] = {}

    def suit(self, targets: Mapping[str, Any]) -> bool:
        """True if each target is memory of the caller that kernels can write, and no two are the same."""
        for name, slot in self._slots.items():
            array = targets[name]
            if type(array) is not np.ndarray or array.shape != slot.shape or array.dtype != slot.dtype:
                return False
            if not array.flags.c_contiguous:
                return False
        return len(targets) == 1 or len({id(array) for array in targets.values()}) == len(targets)

    def lending(self, targets: Mapping[str, Any]) -> "LentTargets":
        """Context manager: the slots are at these arrays."""
        self._given = targets
        return self

    def __enter__(self) -> None:
        for name, slot in self._slots.items():
            slot.lend(self._given[name])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for slot in self._slots.values():
            slot.leave()
        self._given = {}
