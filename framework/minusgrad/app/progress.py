"""Progress of a run: a bar on a terminal and in a notebook, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging import DEBUG, Handler, LogRecord, getLogger
from threading import Event, Thread
from typing import Any, TextIO

from ..engine import process_limits
from .results import notebook_progress
from .streams import LastWrite, SafeStream

SILENCE = 1.0
"""Seconds without output after which it is said what is being done."""


class Tell:
    """Called with each step reached; `saved` is called with the last step that is safe on disk."""

    def __init__(self, show: Callable[[int, int | None], None]):
        self._show = show
        self._saved: int | None = None

    def __call__(self, step: int) -> None:
        self._show(step, self._saved)

    def saved(self, step: int | None) -> None:
        self._saved = step


@contextmanager
def progress(
    first: int, last: int, stream: TextIO | None = None, counted: str = "step"
) -> Iterator[Callable[[int], None]]:
    """A function to call with each step reached; shows steps per second and the remaining time.

    On a terminal it is a bar, in a notebook one line with a bar, elsewhere a line every few seconds.
    counted: the word for what is counted.
    """
    if stream is None and notebook_progress.in_notebook():
        with notebook_progress.progress(first, last, counted) as show:
            yield Tell(show)
        return
    stream = stream or sys.stderr
    if stream is None:  # of a daemon
        yield lambda step: None
        return
    if isinstance(stream, SafeStream):
        safe = SafeStream(stream.stream, drawing=True, last=stream.last)
    else:
        safe = SafeStream(stream, drawing=True)
    with (_bar if stream.isatty() else _lines)(first, last, safe, counted) as tell:  # type: ignore[arg-type]
        yield tell


@contextmanager
def _bar(first: int, last: int, stream: TextIO, counted: str) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn(f"{{task.fields[rate]}} {counted}s/s"),
        TextColumn("{task.fields[saved]}"),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    with Progress(*columns, console=Console(file=stream)) as bar:
        task = bar.add_task("", total=last, completed=first, rate="", saved="")

        def show(step: int, saved: int | None) -> None:
            newest = "" if saved is None else f"saved {saved}"
            bar.update(task, completed=step, rate=_rate(step - first, began), saved=newest)

        yield Tell(show)


@contextmanager
def _lines(
    first: int, last: int, stream: TextIO, counted: str, seconds: float = 5.0
) -> Iterator[Callable[[int], None]]:
    began = time.monotonic()
    said = began - seconds + SILENCE  # the first line comes soon

    def show(step: int, saved: int | None) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= seconds:
            said = now
            left = (now - began) / max(step - first, 1) * (last - step)
            safe = "" if saved is None else f", saved at step {saved}"
            rate = f"{_rate(step - first, began)} {counted}s/s"
            print(
                f"{counted} {step} of {last}, {rate}, {left:.0f} s left{safe}",
                file=stream,
                flush=True,
            )

    yield Tell(show)


@contextmanager
def announcements(stream: Any = None, doing: str = "") -> Iterator[None]:
    """Say what is being done where nothing is seen for a second; and print estimates of long runs at once.

    doing: what it is at first. Messages of the logger "minusgrad" at level DEBUG say what it is from then on;
    an empty one, that it has ended. Where the address space is limited there is no watch: its thread alone
    reserves 136 MB.
    """
    stream = stream or sys.stderr
    announcer = Announcer(stream, getattr(stream, "last", None) or LastWrite(), doing)
    logger = getLogger("minusgrad")
    before = logger.level
    logger.addHandler(announcer)
    logger.setLevel(DEBUG)
    ended = Event()
    watch = Thread(target=announcer.watch, args=(ended,), daemon=True)
    if not process_limits.address_space_is_limited():
        watch.start()
    try:
        yield
    finally:
        ended.set()
        if watch.is_alive():
            watch.join()
        logger.removeHandler(announcer)
        logger.setLevel(before)


class Announcer(Handler):
    """Messages of the logger "minusgrad": those of level DEBUG once, after a second without output."""

    def __init__(self, stream: Any, last: LastWrite, doing: str = ""):
        super().__init__()
        self.stream, self.last, self.doing, self.said = stream, last, doing, ""

    def emit(self, record: LogRecord) -> None:
        if record.levelno > DEBUG:
            self._print(record.getMessage())
        else:
            self.doing = record.getMessage()

    def watch(self, ended: Event) -> None:
        """Look until the event is set."""
        while not ended.wait(SILENCE / 10):
            self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Say what is being done, if nothing was written for a second and it was not said before."""
        doing = self.doing
        if doing and doing != self.said and now - self.last.at >= SILENCE:
            self.said = doing
            self._print(doing)

    def _print(self, text: str) -> None:
        print(f"minusgrad: {text}", file=self.stream, flush=True)


def _rate(steps: int, began: float) -> str:
    rate = steps / max(time.monotonic() - began, 1e-9)
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
