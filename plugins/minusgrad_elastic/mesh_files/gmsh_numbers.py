"""The numbers of a section, one after another, from text or bytes alike.

Text: between blanks. Bytes: packed little-endian int32, 8-byte size_t and float64. A count is compared with
the remaining bytes before anything is allocated.
"""

import re
import warnings
from itertools import islice
from typing import Any, Literal, NoReturn

import numpy as np

from .gmsh_sections import Section

Kind = Literal["int", "size", "real"]
BYTES: dict[Kind, np.dtype[Any]] = {"int": np.dtype("<i4"), "size": np.dtype("<i8"), "real": np.dtype("<f8")}

_NUMBER = re.compile(rb"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|nan|inf)", re.IGNORECASE)
_EXACT = 2**53
"""Whole numbers up to here are exact in float64, as which text is read."""


class Numbers:
    """The numbers of a section in order: `take` some, then be `done`."""

    def __init__(self, section: Section, end: int):
        self.section = section
        self._at, self._end = 0, end

    def take(self, kind: Kind, count: int = 1) -> np.ndarray:
        """The next numbers, shape (count,): `real` f64, `int` int64, `size` int64 and not negative.

        Raises `UserError` where fewer are left, or one is not of its kind.
        """
        width = self._number_width(kind)
        if count > (left := (self._end - self._at) // width):
            self.fail(f"numbers needed here: {count}, left: {left}; the file is cut off or damaged")
        values = self._read_values(kind, count)
        if kind != "real":
            lowest = 0 if kind == "size" else -_EXACT
            good = (values >= lowest) & (values <= _EXACT) & (values == np.floor(values))
            if not good.all():
                self._at += int(np.argmin(good)) * width
                self.fail(f"a {'count or tag' if kind == 'size' else 'whole number'} should stand here")
        self._at += count * width
        return values.astype(np.float64 if kind == "real" else np.int64)

    def one(self, kind: Kind) -> int:
        """The next number, whole."""
        return int(self.take(kind)[0])

    def done(self) -> None:
        """Raises `UserError` where numbers are left over."""
        if self._at < self._end and self.section.data[self._text_place() : self.section.stop].strip():
            self.fail("numbers are left over; a count in this section is too small")

    def fail(self, message: str) -> NoReturn:
        """Raise a `UserError` that names the place of the next number."""
        self.section.fail(message, self._text_place())

    def _number_width(self, kind: Kind) -> int:
        raise NotImplementedError

    def _read_values(self, kind: Kind, count: int) -> np.ndarray:
        raise NotImplementedError

    def _text_place(self) -> int:
        raise NotImplementedError


class TextNumbers(Numbers):
    """Numbers between blanks."""

    def __init__(self, section: Section):
        self._numbers = _parse_numbers(section)
        super().__init__(section, len(self._numbers))

    def _number_width(self, kind: Kind) -> int:
        return 1

    def _read_values(self, kind: Kind, count: int) -> np.ndarray:
        return self._numbers[self._at : self._at + count]

    def _text_place(self) -> int:
        words = re.compile(rb"\S+").finditer(self.section.data, self.section.start, self.section.stop)
        word = next(islice(words, self._at, None), None)
        return word.start() if word else self.section.stop


class ByteNumbers(Numbers):
    """Packed binary numbers."""

    def __init__(self, section: Section):
        super().__init__(section, section.stop - section.start)

    def _number_width(self, kind: Kind) -> int:
        return BYTES[kind].itemsize

    def _read_values(self, kind: Kind, count: int) -> np.ndarray:
        return np.frombuffer(self.section.data, BYTES[kind], count, self._text_place())

    def _text_place(self) -> int:
        return self.section.start + self._at


def numbers(section: Section) -> Numbers:
    """The numbers of a section, text or bytes."""
    return ByteNumbers(section) if section.binary else TextNumbers(section)


def _parse_numbers(section: Section) -> np.ndarray:
    """All numbers of a text section, f64. Raises `UserError` at the first word that is not a number."""
    text = section.data[section.start : section.stop].strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # of older NumPy, at a word that is no number
            return np.fromstring(text, sep=" ")
    except (ValueError, DeprecationWarning):
        words = re.compile(rb"\S+").finditer(section.data, section.start, section.stop)
        wrong = next((word for word in words if not _NUMBER.fullmatch(word[0])), None)
        shown = repr(wrong[0][:20])[1:] if wrong else "something here"
        section.fail(f"{shown} is not a number", wrong.start() if wrong else section.start)
