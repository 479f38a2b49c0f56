"""Requests to stop a run: a signal or a time limit. The run finishes its batch, saves and exits.

Signals are Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed. A step that takes long is abandoned:
the run goes back to the state before it.

Decisions 0215.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import current_thread, main_thread
from time import monotonic

_CLOSED = [getattr(signal, name) for name in ("SIGHUP", "SIGBREAK") if hasattr(signal, name)]
SIGNALS = [signal.SIGINT, signal.SIGTERM, *_CLOSED]
"""Of Ctrl-C, of a queue that ends a job, and of a terminal that is closed. `nohup` ignores the last.

Windows has SIGBREAK for a console that is closed and for Ctrl-Break; there a SIGTERM of another process
ends this one at once.
"""


class StepAbandonedError(KeyboardInterrupt):
    """A signal has arrived inside a step that may take long; the fields are those of no step."""


class StopRequests:
    """Call it: True once one of `SIGNALS` has arrived, or `hours` have passed."""

    def __init__(self, hours: float | None = None):
        self._end = inf if hours is None else monotonic() + 3600.0 * hours
        self._asked = self._abandons = False

    def __call__(self) -> bool:
        return self._asked or monotonic() >= self._end

    @contextmanager
    def abandoning(self) -> Iterator[None]:
        """Context manager: a signal inside raises `StepAbandonedError` as soon as Python runs."""
        self._abandons = True
        try:
            if self._asked:
                raise StepAbandonedError
            yield
        finally:
            self._abandons = False

    def note(self, number: int, frame: object) -> None:
        """The handler of all signals. A second SIGINT raises KeyboardInterrupt."""
        if self._asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._asked = True
        if self._abandons:
            raise StepAbandonedError


@contextmanager
def stop_requests(hours: float | None = None) -> Iterator[StopRequests]:
    """Yield the requests to stop of this process; signals reach the main thread only."""
    requests = StopRequests(hours)
    if current_thread() is not main_thread():
        yield requests
        return
    # None: a handler of a program that embeds Python, which cannot be put back
    ignored = {s for s in SIGNALS if signal.getsignal(s) is None}
    ignored |= {s for s in SIGNALS if s is not signal.SIGINT and signal.getsignal(s) is signal.SIG_IGN}
    before = {s: signal.signal(s, requests.note) for s in SIGNALS if s not in ignored}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
