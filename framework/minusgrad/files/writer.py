"""A thread that writes while the run goes on: one job at a time, in order; who brings the next one waits.

So at most one moment of a run is held twice, and what went wrong is heard at the next `wait`.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self


class Writer:
    """Use it in a `with`, which ends when the last job has."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="minusgrad-writer")
        self._job: Future[None] | None = None

    def begin(self, job: Callable[[], None]) -> None:
        """Do this beside the run, once the job before has ended. Raises what that one raised."""
        self.wait()
        self._job = self._thread.submit(job)

    def wait(self) -> None:
        """Return when all is written. Raises what went wrong, once."""
        job, self._job = self._job, None
        if job is not None:
            job.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True)
