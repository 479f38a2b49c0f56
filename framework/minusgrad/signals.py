"""Ctrl-C and termination as a request: the run ends its batch, saves, and says how to go on."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """While open, SIGINT and SIGTERM only set what the yielded function returns; a second SIGINT raises."""
    asked = False

    def note(number, frame) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = True

    if current_thread() is not main_thread():
        yield lambda: False
        return
    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
