"""Standard streams that cannot end a run: closed, full, or read by a process that has gone.

A closed stream becomes the null device. An error of a write is kept in `failure`, and later writes are
dropped, so that a verb computes, saves and returns the exit code that it has with a reader.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

TYPE_CHECKING = False  # `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class SafeStream:
    """A text stream whose writes raise no `OSError`.

    `stream` is the original one, `failure` the first error of a write. Characters that the stream's encoding
    lacks are written as escapes.
    """

    def __init__(self, stream: Any):
        self.stream = stream
        self.failure: OSError | None = None
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        if self.failure is None:
            self._tried(self.stream.write, text)
        return len(text)

    def flush(self) -> None:
        if self.failure is None:
            self._tried(self.stream.flush)

    def _tried(self, call: Any, *arguments: str) -> None:
        try:
            call(*arguments)
        except OSError as error:
            self.failure = error
            drain(self.stream)


@contextmanager
def safe_streams() -> Iterator[SafeStream]:
    """Context manager: `sys.stdout` and `sys.stderr` are safe inside; its value is the first.

    `sys.__stdout__` follows `sys.stdout`: where the two differ, the engines believe to be in a notebook.
    """
    before = sys.stdout, sys.stderr, sys.__stdout__
    out, err = SafeStream(sys.stdout), SafeStream(sys.stderr)
    _assign(out, err, out if before[0] is before[2] else before[2])
    try:
        yield out
    finally:
        out.flush()
        err.flush()
        _assign(*before)


def _assign(*streams: Any) -> None:
    sys.stdout, sys.stderr, sys.__stdout__ = streams  # type: ignore[misc]


class OutputLostError(Exception):
    """The output of a verb cannot be written any more, and is all that the verb would do."""


class EndingStream:
    """A `SafeStream` for long outputs: raises `OutputLostError` as soon as they cannot be written."""

    def __init__(self, stream: Any):
        self.stream = stream

    def write(self, text: str) -> int:
        written = self.stream.write(text)
        if self.stream.failure is not None:
            raise OutputLostError
        return written


def drain(stream: Any) -> None:
    """Connect a broken stream with the null device, where Python flushes the rest of its buffer at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):  # a stream of a test or a notebook, which has no file descriptor
        pass


def open_closed_streams() -> None:
    """Open the null device in place of closed standard streams.

    The next file that is opened would otherwise get the number of a standard stream, and what a library
    prints would be written into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
