"""Words of G-code: a letter and a number, such as X12.5; comments and numbers of lines left out."""

import re
from typing import NamedTuple

from minusgrad.plugin import UserError

_WORD = re.compile(r"([A-Za-z])\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*")
MOST = 1e9
"""No number of a job file is as large."""
_COMMENT = re.compile(r"\([^()]*\)|;.*")


class Line(NamedTuple):
    """A line of the file with its words; a bare letter (the I of Marlin's M3 I) has the value None."""

    number: int
    words: list[tuple[str, float | None]]


def lines(text: str, name: str = "job") -> list[Line]:
    """The lines of a G-code file that a controller acts on.

    Comments in parentheses and behind a semicolon, `%`, and numbers of lines (N) are left out. Raises
    `UserError` for settings ($), and with its place for whatever is no word.
    """
    found = []
    for number, raw in enumerate(text.splitlines(), 1):
        place = f"{name}:{number}"
        rest = _COMMENT.sub("", raw).strip()
        if rest in ("", "%"):
            continue
        if rest.startswith("$"):
            raise UserError(
                f"{place}: settings of the controller are no part of a job, got '{rest}'; take the line out"
            )
        words = _split_words(rest, place)
        if words:
            found.append(Line(number, words))
    return found


def _split_words(rest: str, place: str) -> list[tuple[str, float | None]]:
    words: list[tuple[str, float | None]] = []
    while rest:
        match = _WORD.match(rest)
        if match:
            letter, value = match[1].upper(), float(match[2])
            if not abs(value) < MOST:
                raise UserError(f"{place}: a number is below {MOST:g}, got '{match[2][:20]}'; correct it")
            if letter != "N":
                words.append((letter, value))
            rest = rest[match.end() :]
        elif re.match(r"[Ii](?![A-Za-z])", rest) and words and words[0] in (("M", 3), ("M", 4), ("M", 5)):
            words.append(("I", None))
            rest = rest[1:].lstrip()
        else:
            raise UserError(f"{place}: a word is a letter and a number, got '{rest[:20]}'; correct the line")
    return words
