"""Saving of a run while it goes on: at scheduled steps, by the clock, and at an interruption.

Decisions 0215, 0244.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

import numpy as np

from ...assembly.job import HELD, Job
from ...errors import MinusgradError
from ...files import checkpoint
from ...files.checkpoint import Snapshot
from ...files.run_folder import RunDir
from ...files.trajectory import Recorder
from ...files.wall_clock import Alarm
from ...files.writer import Writer
from ...steppers.scheduler import Every
from ..signals import StopRequests

UNOBSERVED = "unobserved"
"""The entry in a checkpoint's meta that its step has not been observed, because an observer failed there."""


REMARKED = "remarked"
"""The event of a stepper that is a remark for the user, with its `text`."""


class Saver:
    """The scheduler's checkpoint: copies the state, and writes it in a background thread.

    `saved` is the step of the last one that is safe on disk.
    """

    def __init__(self, job: Job, folder: RunDir, writer: Writer, saved: int | None = None):
        self.job, self.folder, self.writer = job, folder, writer
        self.trigger = Every(job.between_saves)
        self.saved = saved
        self.remarks: list[str] = []
        self._before: Snapshot | None = None
        self._begun = saved  # the step of the last save, which may still be written
        self.alarm = Alarm(job.scene.checkpoint.seconds)

    def observe(self) -> None:
        """Save this state, after the previous one is written. Raises the error of that write."""
        self._begin(seal=True)

    def look(self) -> None:
        """Save this state if the clock asks for it, or if the recorded rows need much memory.

        For moments at which all observers that are due have observed. If the previous state is still being
        written, the clock has to wait. Raises the error of that write.
        """
        if not self.job.scene.checkpoint.seconds or self.job.stepper.step == self._begun:
            return
        if self.job.recorder.held > HELD or (self.alarm.due() and not self.writer.busy):
            self._begin(seal=False)

    @contextmanager
    def before_a_long_step(self, asked: StopRequests) -> Iterator[None]:
        """Keep the state before a step, so that a signal inside it can be obeyed at once."""
        self._before = self.job.snapshot()
        with asked.abandoning():
            yield
        self._before = None

    def interrupt(self) -> None:
        """Save an unscheduled state at once; inside a step that was abandoned, the one before it."""
        self.writer.wait()
        self._interrupted(self._before or self.job.snapshot())

    def keep_unobserved(self) -> None:
        """Save a state that an observer failed at, if it is finite, so that a resumed run observes it."""
        snapshot = self.job.snapshot()
        reals = (a for a in snapshot.arrays_under("fields").values() if a.dtype.kind == "f")
        if all(np.isfinite(a).all() for a in reals):
            with suppress(MinusgradError):
                self._interrupted(replace(snapshot, meta=snapshot.meta | {UNOBSERVED: True}))

    def write_events(self) -> None:
        """Write the stepper's events into the journal."""
        for facts in self.job.stepper.events():
            self.folder.journal(**facts)
            if facts["event"] == REMARKED and facts["text"] not in self.remarks:
                self.remarks.append(facts["text"])

    def finish(self) -> None:
        """Wait until everything is written, the master file too. Raises the error of a write."""
        self.writer.wait()
        self.write_events()
        self.remarks += self.folder.finish()

    def _begin(self, seal: bool) -> None:
        self.writer.wait()  # before the copy: two states at once would need too much memory
        if self._begun is not None:  # the first save by the clock comes soon after the start
            self.alarm.wind()
        snapshot, recorded = self.job.snapshot(), self.job.recorder.take()
        self._begun = snapshot.step
        self.writer.begin(partial(self._save, snapshot, recorded, seal, checkpoint.INTERIM))

    def _interrupted(self, snapshot: Snapshot) -> None:
        self._save(snapshot, self.job.recorder, seal=False, kind=checkpoint.INTERRUPTED)

    def _save(self, snapshot: Snapshot, recorded: Recorder, seal: bool, kind: str) -> None:
        kept = self.job.scene.checkpoint
        self.remarks += self.folder.save(snapshot, recorded, kept.keep, seal, kept.keep_every, kind)
        self.saved = snapshot.step


def telling(tell: Callable[[int], None], saver: Saver) -> Callable[[int], None]:
    """The scheduler's progress: `tell`, which gets the last saved step, too, if it asks; and the journal."""
    note = getattr(tell, "saved", None)

    def show(step: int) -> None:
        saver.write_events()
        if note is not None:
            note(saver.saved)
        tell(step)

    return show
