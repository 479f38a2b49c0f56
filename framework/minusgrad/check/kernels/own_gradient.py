"""Check of a gradient that a file computes itself: the kernels it reverses, their order, their adjoints.

seeded     the adjoint of the loss is 1 when the first kernel is reversed
cleared    all others are 0 then
whole      every kernel that ran forward is reversed
in order   the last one first
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...interpreter.recorded_launches import Recording, around_kernels, line_in
from ...lint.kernel_remarks import begin_of
from ..kernel_subject import NO_REASON, Cause, at_line
from .reverses_by_hand import ReversesByHand, function_of

MARK = 0.8125
"""Value of all adjoints before the call, to find those that are not cleared."""


@dataclass
class Reversals:
    """One call of a file's own gradient: kernels that ran forward and back, and the lines that ran them.

    `seed`, `left`: the adjoint of the loss, and what was not cleared, when the first kernel was reversed.
    """

    forward: list[tuple[Callable, str]] = field(default_factory=list)
    back: list[tuple[Callable, str]] = field(default_factory=list)
    seed: float = 0.0
    left: list[str] = field(default_factory=list)


def of_own_gradient(launches: Recording) -> Cause:
    """Why a file's own gradient is wrong, if its calls of kernels show it; else the line of its function."""
    if launches.own_gradient is None:
        return NO_REASON
    if isinstance(launches.own_gradient, ReversesByHand):
        return _of_reverses_by_hand(launches.own_gradient)
    begin = begin_of(inspect.unwrap(launches.own_gradient))
    unknown = Cause(begin, f"'{launches.table.gradient}' leaves this gradient in .grad")
    did = _watch_call(launches, launches.own_gradient)
    ran = [launch.function for launch in launches.recorded_run()[0]]
    by_hand = not {function for function, _ in did.forward} <= set(ran)  # it may replace a reverse
    if not did.back:
        return unknown if by_hand else Cause(begin, f"'{launches.table.gradient}' reverses no kernel")
    first = did.back[0][1] or begin
    if did.seed == 0.0:
        message = f"the reverse starts with {launches.loss.name}.grad = 0; set it to 1 before"
        return at_line(first, message)
    if did.left:
        message = f"the reverse starts with old values in {did.left[0]}.grad; clear it before"
        return at_line(first, message)
    return unknown if by_hand else _by_order(ran, did) or unknown


def _of_reverses_by_hand(own: ReversesByHand) -> Cause:
    """A kernel that is not reversed, or too early; no reason if all are.

    Of checkpoints: the reverses.
    """
    if own.known is not None:
        return at_line(own.places[0], "the reverses from here on, after checkpoints, give this gradient")
    ran, back = ([function_of(launch) for launch in launches] for launches in (own.forward, own.back))
    return _by_order(ran, Reversals(back=[*zip(back, own.places, strict=True)])) or NO_REASON


def _by_order(ran: Sequence[Callable], did: Reversals) -> Cause | None:
    """The first kernel that is not reversed, or reversed too early."""
    back = [function for function, _ in did.back]
    for function in reversed(ran):
        if function not in back:
            where = dict(did.forward).get(function) or begin_of(function)
            return at_line(where, f"'{function.__name__}' runs forward, but is not reversed")
    for (function, where), other in zip(did.back, reversed(ran), strict=False):
        if function is not other:
            message = f"reverses '{function.__name__}' before '{other.__name__}', which ran after it"
            return at_line(where, message)
    return None


def _watch_call(launches: Recording, own: Callable) -> Reversals:
    """One call of the gradient, from adjoints set to `MARK`; restores the adjoints."""
    found = Reversals()
    kept = [(h, h.gradient) for h in launches.handles if h.adjoint is not None]
    others = [h for h, _ in kept if h is not launches.loss]

    def intercepted(kernel: Any, run: Callable[[], Any], _: tuple[Any, ...]) -> Any:
        act = inspect.unwrap(kernel.func), line_in(inspect.unwrap(own))
        if kernel.autodiff_mode.name == "NONE":
            found.forward.append(act)
            return run()
        if not found.back:
            seed = launches.loss.gradient
            found.seed = 0.0 if seed is None else float(seed.ravel()[0])
            found.left = [h.name for h in others if h.name and np.all(h.gradient == MARK)]
        found.back.append(act)
        return run()

    try:
        for handle in others:
            handle.seed(MARK)
        launches.begin()
        with around_kernels(intercepted):
            own()
    finally:
        for handle, values in kept:
            handle.seed(values)
    return found
