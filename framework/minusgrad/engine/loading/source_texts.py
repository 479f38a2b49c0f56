"""Source text for an engine without the searches of `inspect`, which take a third of its import.

Decisions 0220.
"""

import inspect
import linecache
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any


@contextmanager
def lines_of_frames() -> Iterator[None]:
    """Context manager: `inspect.getframeinfo` gives the source line alone, and searches no modules for it.

    The engines' decorators ask it for their callers, to see whether they are classes.
    """
    asked = inspect.getframeinfo

    def line(frame: Any, context: int = 1) -> inspect.Traceback:
        name, number = frame.f_code.co_filename, frame.f_lineno
        return inspect.Traceback(name, number, frame.f_code.co_name, [linecache.getline(name, number)], 0)

    inspect.getframeinfo = line
    try:
        yield
    finally:
        inspect.getframeinfo = asked


@contextmanager
def at_hand(read: ModuleType, fill: ModuleType) -> Iterator[None]:
    """Context manager: an engine reads texts that the framework wrote from `linecache`.

    read, fill: its modules with `getsourcefile` and `getsourcelines`, and with `textwrap`. It looks for a
    function's file among all modules, splits the file into tokens to find the function's end, and sets each
    line as a paragraph. A text of the framework is one function. Other functions are read as ever.
    """
    names = ("getsourcefile", "getsourcelines")
    if not (all(hasattr(read, name) for name in names) and hasattr(fill, "textwrap")):
        yield  # another release of the engine
        return
    file, lines, paragraphs = read.getsourcefile, read.getsourcelines, fill.textwrap

    def file_of(function: Any) -> str:
        return function.__code__.co_filename if is_framework_text(function) else file(function)

    def lines_of(function: Any) -> tuple[list[str], int]:
        if not is_framework_text(function):
            return lines(function)
        first = function.__code__.co_firstlineno
        return linecache.getlines(function.__code__.co_filename)[first - 1 :], first

    read.getsourcefile, read.getsourcelines, fill.textwrap = file_of, lines_of, _Lines  # type: ignore[attr-defined]
    try:
        yield
    finally:
        read.getsourcefile, read.getsourcelines, fill.textwrap = file, lines, paragraphs  # type: ignore[attr-defined]


def is_framework_text(function: Any) -> bool:
    """True for a function whose text the framework wrote."""
    return isinstance(function, FunctionType) and function.__code__.co_filename.startswith("<minusgrad ")


class _Lines:
    """What the engines use of `textwrap`, for lines that need no filling."""

    dedent = staticmethod(textwrap.dedent)

    @staticmethod
    def fill(line: str, tabsize: int, width: int) -> str:
        """The line; the engine gives a width that none reaches."""
        return line.expandtabs(tabsize).rstrip()
