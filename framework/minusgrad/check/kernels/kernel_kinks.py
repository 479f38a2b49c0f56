"""Kernels at special states: roots and norms of zero, and inputs that the loss does not depend on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...errors import TraceError
from ...interpreter.program_arrays import ProgramArray
from ...interpreter.recorded_launches import RecordedLaunch
from ...interpreter.replay import replay
from ..kernel_subject import Announce, Cause, KernelSubject, put_state
from ..questions import Finding

FAR = (1.0, 8.0, 64.0)
"""Lengths of steps; an input that changes nothing over them counts as idle."""


def kinks(asked: KernelSubject, announce: Announce, start: dict[str, np.ndarray]) -> Iterator[Finding]:
    """The gradient at zero, and where two entries are equal."""
    launches = asked.launches
    for handle in launches.inputs:
        for words, special in _special(start[handle.name]):
            if not asked.admits(handle.name, special):
                continue
            put_state(launches, start | {handle.name: special})
            if not asked.stays_within_bounds():
                continue
            announce(f"{handle.name} {words}")
            if not np.isfinite(launches.value()):
                continue
            found = launches.gradients()[handle.name]
            if found is None or np.isfinite(found).all():
                continue
            ran, _ = launches.recorded_run()
            asked.where = f"with {handle.name} {words}"
            yield _kink_finding(asked, handle, ran)
            break


def idle(
    asked: KernelSubject, start: dict[str, np.ndarray], steps: dict[str, float], rng: np.random.Generator
) -> Iterator[Finding]:
    """Idle inputs: the loss does not change over any step of theirs."""
    launches = asked.launches
    put_state(launches, start)
    here, gradients = launches.value(), launches.gradients()
    for handle in launches.inputs:
        found = gradients[handle.name]
        moved = [abs(_moved_by(asked, handle, start, k * steps[handle.name], rng) - here) for k in FAR]
        if found is None or found.any() or moved[0] != 0.0:
            continue
        never = max(moved) == 0.0
        asked.where = f"over steps of up to {FAR[-1] if never else FAR[0]:g} times {steps[handle.name]:.3g}"
        text = f"the loss does not change with {handle.name}"
        why = Cause("", "it is clamped, cut off, overwritten, or never read")
        wrong = never and handle.name in launches.table.inputs
        yield replace(asked.finding(handle.name, "path", not wrong, None, text, why), warning=not wrong)


def _moved_by(
    asked: KernelSubject,
    handle: ProgramArray,
    start: dict[str, np.ndarray],
    step: float,
    rng: np.random.Generator,
) -> float:
    """The loss after a random step of one input; infinite where kernels would leave array bounds."""
    launches = asked.launches
    low, high = asked.limits.get(handle.name, (-np.inf, np.inf))
    moved = start[handle.name] + step * rng.normal(size=handle.start.shape)
    launches.set(handle, np.clip(moved, low, high))
    found = launches.value() if asked.stays_within_bounds() else np.inf
    launches.set(handle, start[handle.name])
    return found if np.isfinite(found) else np.inf


def _kink_finding(asked: KernelSubject, handle: ProgramArray, ran: Sequence[RecordedLaunch]) -> Finding:
    """A non-finite gradient, of the function itself or of the branch that a select does not take."""
    text = "the loss is finite and its gradient is not"
    try:
        followed = replay(asked.launches, ran, asked.launches.inputs)
    except TraceError:
        return replace(asked.finding(handle.name, "kink", True, None, text), warning=True)
    if np.isfinite(followed.gradient(handle.name, asked.launches.loss)).all():
        lines = followed.interpreter.selects()
        cure = "Taichi reverses both branches of a select; make both finite, or write `if`"
        why = Cause(lines[0] if lines else "", cure)
        return asked.finding(handle.name, "kink", False, None, text, why)
    roots = [r for r in followed.interpreter.infinite() if r.kind == "root"]
    why = (
        Cause(roots[0].where, roots[0].text) if roots else Cause("", "a root or norm of zero without a guard")
    )
    return replace(asked.finding(handle.name, "kink", True, None, text, why), warning=True)


def _special(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "zero", np.zeros_like(values)
    if len(values.shape) and len(values) > 1:
        equal = values.copy()
        equal[1] = equal[0]
        yield "equal in its first two entries", equal
        some = values.copy()
        some[0] = 0.0
        yield "zero in its first entry", some
