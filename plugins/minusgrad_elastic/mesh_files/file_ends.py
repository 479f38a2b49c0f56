"""Files that end: a reader that looks for one more line behind the end of a file is told so.

meshlane reads lines until one is as it should be. In a file that was cut that line never comes: at its end
`readline` returns an empty one, for ever. Files that are opened here raise `EOFError` after `LOOKS` of them.

Decisions 0104.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from types import ModuleType
from typing import Any

LOOKS = 1000
"""Looks beyond the end of a file: readers of sound files take a few."""
ENDED = "the file ends where more is needed"


class _Bytes(io.BufferedReader):
    looks = 0

    def read(self, size: int | None = -1, /) -> bytes:
        return _check_more(self, super().read(size), size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return _check_more(self, super().readline(size), size)


class _Text(io.TextIOWrapper):
    looks = 0

    def read(self, size: int | None = -1, /) -> str:
        return _check_more(self, super().read(size), size)

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        return _check_more(self, super().readline(size), size)


def _check_more(file: Any, found: Any, size: int | None) -> Any:
    """What was found; an empty one is a look beyond the end."""
    if not found and size != 0:
        file.looks += 1
        if file.looks > LOOKS:
            raise EOFError(ENDED)
    return found


def open_within(path: str | PathLike[str], mode: str = "r") -> _Bytes | _Text:
    """As `open(path, mode)` of Python, `r` or `rb`; reads of the file raise `EOFError` when it has ended."""
    if mode not in ("r", "rb"):
        raise ValueError(f"opened: mode must be 'r' or 'rb', got {mode!r}; write with open")
    raw = _Bytes(io.FileIO(path))
    return raw if mode == "rb" else _Text(raw)


@contextmanager
def opening_ends(*modules: ModuleType) -> Iterator[None]:
    """Inside, `open` in these modules is `open_within`."""
    for one in modules:
        one.open = open_within  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for one in modules:
            del one.open
