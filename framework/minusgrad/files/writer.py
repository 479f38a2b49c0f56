"""A background thread that saves while the run continues: one job at a time, in order.

A new job waits for the previous one, so at most one copy of the state exists. Errors are raised by the next
`wait`.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self


class Writer:
    """A context manager, which exits when the last job has finished."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="minusgrad-writer")
        self._job: Future[None] | None = None

    def begin(self, job: Callable[[], None]) -> None:
        """Start a job in the thread, after the previous one has ended. Raises the previous job's error."""
        self.wait()
        self._job = self._thread.submit(job)

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._job is not None and not self._job.done()

    def wait(self) -> None:
        """Return when the last job has ended. Raises its error, once."""
        job, self._job = self._job, None
        if job is not None:
            job.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True)
