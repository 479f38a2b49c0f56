"""Requests to stop a run: Ctrl-C, SIGTERM or a time limit. The run finishes its batch, saves and exits."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import current_thread, main_thread
from time import monotonic


@contextmanager
def stop_requests(hours: float | None = None) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True once SIGINT or SIGTERM has arrived, or `hours` have passed.

    A second SIGINT raises KeyboardInterrupt.
    """
    asked = False
    end = inf if hours is None else monotonic() + 3600.0 * hours

    def note(number, frame) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = True

    if current_thread() is not main_thread():
        yield lambda: monotonic() >= end
        return
    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked or monotonic() >= end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
