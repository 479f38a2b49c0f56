"""A round of observations at one step, which is undone if one of the observers fails.

The state of the run is good then, because an observer never writes a field: it can be saved without the rows
of this step, and the round is repeated when the run is resumed.

Decisions 0244.
"""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from .job import Job
from .observers import Observer


class ObservationRound:
    """The observers of a job for the scheduler. `undone`: one failed, and the round was taken back."""

    def __init__(self, job: Job):
        self._job, self._step = job, -1
        self._states: list[dict[str, np.ndarray]] = []
        self.observers: Sequence[InRound] = [InRound(self, one) for one in job.observers]
        self.undone = False

    def observe(self, observer: Observer) -> None:
        """Let one observer look. If it fails, restore all of them, and drop the rows of this step."""
        step = self._job.stepper.step
        if step != self._step:
            self._step, self._states = step, [one.state() for one in self._job.observers]
        try:
            with self._job.stepper.observed():
                observer.observe()
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
                for one, state in zip(self._job.observers, self._states, strict=True):
                    one.restore(state)
                self._job.recorder.drop(step)
                self.undone = True
            raise


class InRound:
    """One observer of a round."""

    def __init__(self, of: ObservationRound, observer: Observer):
        self._round, self._observer = of, observer
        self.trigger = observer.trigger

    def observe(self) -> None:
        """`Observer.observe`, within the round."""
        self._round.observe(self._observer)
