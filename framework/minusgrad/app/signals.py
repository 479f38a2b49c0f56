"""Ctrl-C, termination, the end of its time as a request: the run ends its batch, saves, says how to go on."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import current_thread, main_thread
from time import monotonic


@contextmanager
def stop_requests(hours: float | None = None) -> Iterator[Callable[[], bool]]:
    """While open, SIGINT and SIGTERM only set what the yielded function returns; a second SIGINT raises.

    After so many hours it is set, too.
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
