"""Standard streams that cannot end a run: closed, full, or read by a process that has gone.

A closed stream becomes the null device. An error of a write is kept in `failure`, and later writes are
dropped, so that a verb computes, saves and returns the exit code that it has with a reader.

Decisions 0091, 0101, 0339.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import contextmanager, nullcontext

TYPE_CHECKING = False  # `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import FrameType
    from typing import Any


_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""Control characters and those that change the direction of text, but for tabs and line breaks.

The two joiners of letters (U+200C, U+200D) are no such characters: Persian, Hindi and emoji are written with
them.
"""
_OURS = "minusgrad"
verbs_of_others: set[str] = set()
"""Packages with verbs of other distributions that are run."""


def escaped(text: str) -> str:
    """Text as a terminal can show it: a control character, such as the start of a sequence, as `\\x1b`."""
    return _HIDDEN.sub(lambda found: repr(found[0])[1:-1], text)


def _plugin_writes(frame: FrameType | None) -> bool:
    """True if the innermost code that is ours or a plugin's is that of a plugin of another distribution.

    So the progress bar of a plugin is its own, whichever library draws it; what our code prints of a file is
    not, whoever asked for it.
    """
    registry = sys.modules.get("minusgrad.assembly.registry")
    others = verbs_of_others | (registry.packages_of_others if registry else set())
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == _OURS:
            return False
        if package in others or package.startswith("minusgrad_"):  # others may have such names, too
            return package in others
        frame = frame.f_back
    return False


class LastWrite:
    """When something was last written to one of the streams that share this."""

    def __init__(self) -> None:
        self.at = time.monotonic()


class SafeStream:
    """A text stream whose writes raise no `OSError`, and send a terminal no sequence from a stranger's file.

    `stream` is the original one, `failure` the first error of a write. Characters that the stream's encoding
    lacks, and control characters, are written as escapes; with `drawing`, and where a plugin of another
    distribution prints on its own, only the former.
    """

    def __init__(self, stream: Any, drawing: bool = False, last: LastWrite | None = None):
        self.stream = stream
        self.last = last or LastWrite()
        self.failure: OSError | None = None
        self._shown: Callable[[str], str] = str if drawing else escaped
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        self.last.at = time.monotonic()
        if self.failure is None:
            hidden = self._shown is escaped and _HIDDEN.search(text) is not None
            own = hidden and _plugin_writes(sys._getframe(1))
            self._tried(self.stream.write, text if own else self._shown(text))
        return len(text)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Let our own control sequences through; text from files is escaped before it is drawn."""
        before, self._shown = self._shown, str
        try:
            yield
        finally:
            self._shown = before

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
    last = LastWrite()
    out, err = SafeStream(sys.stdout, last=last), SafeStream(sys.stderr, last=last)
    _assign(out, err, out if before[0] is before[2] else before[2])
    try:
        yield out
    finally:
        out.flush()
        err.flush()
        _assign(*before)


def _assign(*streams: Any) -> None:
    sys.stdout, sys.stderr, sys.__stdout__ = streams  # type: ignore[misc]


def drawing(stream: Any) -> AbstractContextManager[None]:
    """Context manager: our own control sequences reach this stream, such as `sys.stdout`."""
    return stream.drawing() if isinstance(stream, SafeStream) else nullcontext()


@contextmanager
def without_remarks(quiet: bool) -> Iterator[None]:
    """Context manager: nothing that is written to `sys.stderr` inside is shown, if `quiet`.

    Errors are raised, and told outside.
    """
    if not quiet:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as null:
        before, sys.stderr = sys.stderr, SafeStream(null)
        try:
            yield
        finally:
            sys.stderr = before


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
