"""The loop. It knows steps and nothing of physics.

    while steps are left, and the stepper has something to do:
        advance to the nearest step at which an observer is due, in batches of under a tenth of a second
        between batches: tell the progress, save by the clock, take numbers from a page, stop if asked to
        at that step, in this order: every observer that is due, then the checkpoint
    the last step is due for everybody

An observer reads and never writes. The run ends with a named result.

Decisions 0215.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

Outcome = str
"""The stepper's own ("converged", "settled", "stuck"), or "finished" at the last step, or "interrupted"."""


@dataclass(frozen=True)
class Every:
    """Due at every multiple of `n` steps; never, if n is 0."""

    n: int

    def due(self, step: int) -> bool:
        """Whether this step is one of them."""
        return self.n > 0 and step % self.n == 0

    def after(self, step: int) -> int | None:
        """The first due step after `step`, None if there is none."""
        return (step // self.n + 1) * self.n if self.n > 0 else None


class ScheduledStepper(Protocol):
    """Moves the fields: an integrator or a minimiser."""

    step: int

    @property
    def outcome(self) -> str | None: ...

    def advance(self, n: int) -> None: ...


class ScheduledObserver(Protocol):
    """Looks at the fields at its steps."""

    trigger: Every

    def observe(self) -> None: ...


def run(
    stepper: ScheduledStepper,
    last: int,
    observers: Sequence[ScheduledObserver],
    save: ScheduledObserver,
    asked_to_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda step: None,
    long: Callable[[], AbstractContextManager[None]] = nullcontext,
    between: Callable[[], None] = lambda: None,
    pauses: Callable[[int], int | None] = lambda step: None,
) -> Outcome:
    """Advance to step `last`; `save` is the checkpoint. What is due at the present step is done.

    long: gives a context manager around steps that may take long, which it can abandon by an exception.
    between: called between batches, when every observer that is due has observed. pauses: the first step
    after a step at which a batch ends in any case, None if there is none.
    """
    everybody = [*observers, save]
    pace = Pace()
    pace.seconds *= getattr(stepper, "patience", 1.0)
    while stepper.step < last and stepper.outcome is None:
        begun = stepper.step
        stops = [pauses(begun), *(one.trigger.after(begun) for one in everybody)]
        due = min([last, *(n for n in stops if n is not None)])
        while stepper.step < due and stepper.outcome is None:
            if asked_to_stop():
                return "interrupted"
            between()
            with long() if pace.slow else nullcontext():
                pace.take(stepper, due - stepper.step)
            progress(stepper.step)
        over = stepper.step == last or stepper.outcome is not None
        for one in everybody:
            due = one.trigger.due(stepper.step)
            seen = stepper.step == begun and (due or begun == 0)
            if (due or over) and not seen:
                one.observe()
    return stepper.outcome or "finished"


class Pace:
    """Steps for each batch, chosen so that a batch lasts about `seconds`; the bits do not depend on it."""

    def __init__(self, seconds: float = 0.05):
        self.seconds, self.steps = seconds, 1
        self.slow = True
        """Whether the next batch may take more than a second."""

    def take(self, stepper: ScheduledStepper, most: int) -> None:
        n = min(self.steps, most)
        began = time.perf_counter()
        stepper.advance(n)
        took = time.perf_counter() - began
        self.slow = took > 0.5
        if took < self.seconds / 2 and n == self.steps:
            self.steps *= 2
        elif took > self.seconds * 1.5:
            self.steps = max(1, self.steps // 2)
