"""Lines of a job file as a controller splits them: words, each a letter and a number, such as X12.5.

Comments, `%`, numbers of lines (N) and the mark of a file's encoding are left out. Blanks separate words
where the firmware says so; for others they are nothing, also within a number (RS-274).

Decisions 0171.
"""

import re
from functools import reduce
from typing import NamedTuple

from minusgrad.plugin import UserError

from ..machine.dialects import Dialect

MOST = 1e9
"""No number of a job file is as large."""
WORD = re.compile(r"([A-Za-z])\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*")
COMMENT = re.compile(r"\([^)]*\)|;.*")
"""A comment in parentheses ends at the first one that closes."""
CHECKSUM = re.compile(r"\*\s*(\d+)\s*$")
MESSAGE = re.compile(r"(?:N\d+\s*)?M\s*(117|118)\b", re.IGNORECASE)
PROGRAM_NUMBER = re.compile(r"O\d+", re.IGNORECASE)
REFUSED = (
    (re.compile(r"O", re.IGNORECASE), "subroutines and loops (O) are not replayed; write their lines out"),
    (re.compile(r".*[#\[=]"), "parameters and expressions are not replayed; write numbers"),
)
"""What a line may be instead of words."""


class WordError(Exception):
    """What is wrong in a line, without its place."""


class Line(NamedTuple):
    """A line of the file: its words, or a setting ($).

    `remarks` are on what stands in it beside words, `faults` on what a controller refuses, yet is clear. A
    bare letter (the I of Marlin's M3 I) has the value None.
    """

    number: int
    words: list[tuple[str, float | None]]
    setting: str = ""
    remarks: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def lines(text: str, rules: Dialect, name: str = "job") -> list[Line]:
    """The lines of a G-code file that a controller acts on.

    Raises `UserError` with its place for whatever is no word, and for a line behind a slash where a switch of
    the controller decides.
    """
    found = []
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        try:
            line = _read_line(number, raw, rules)
        except WordError as error:
            raise UserError(f"{name}:{number}: {error}") from None
        if line.words or line.setting or line.remarks or line.faults:
            found.append(line)
    return found


def _read_line(number: int, raw: str, rules: Dialect) -> Line:
    rest, remarks, faults = COMMENT.sub("", raw).strip(), list[str](), list[str]()
    if "(" in rest and rules.ignored_slash:  # GRBL and FluidNC: a comment ends with its line at the latest
        rest = rest[: rest.index("(")].rstrip()
    if rest in ("", "%"):
        return Line(number, [])
    if rest.startswith("$"):
        return Line(number, [], setting=rest.replace(" ", "").upper())
    if PROGRAM_NUMBER.fullmatch(rest):
        return Line(number, [], remarks=("a program number (O) is no command",))
    if rules.separate_words and MESSAGE.match(rest):
        return Line(number, [], remarks=("messages (M117, M118) move nothing",))
    if rest.startswith("/"):
        rest = rest[1:].lstrip()
        remarks.append(_skipped_line_remark(rules))
    if match := CHECKSUM.search(rest):
        rest = rest[: match.start()]
        faults += _checksum_faults(rest, int(match[1]))
        if not rules.checksums:
            remarks.append(f"{rules.firmware} knows no checksums (*); a sender takes them out")
    words = _split_words(rest if rules.separate_words else re.sub(r"\s+", "", rest))
    return Line(number, words, remarks=tuple(remarks), faults=tuple(faults))


def _skipped_line_remark(rules: Dialect) -> str:
    if rules.ignored_slash:
        return f"{rules.firmware} executes lines behind a slash (/)"
    raise WordError("whether a line behind / is skipped, the controller's switch says; take it, or /, out")


def _checksum_faults(text: str, given: int) -> list[str]:
    """What is wrong with a checksum, which is the exclusive or of the characters before it."""
    right = reduce(lambda found, one: found ^ one, text.encode(), 0)
    if given == right:
        return []
    return [f"the checksum of the line is {right}, got {given}; a controller does not execute it"]


def _split_words(rest: str) -> list[tuple[str, float | None]]:
    words: list[tuple[str, float | None]] = []
    whole = rest
    while rest:
        match = WORD.match(rest)
        if match:
            letter, value = match[1].upper(), float(match[2])
            if not abs(value) < MOST:
                raise WordError(f"a number is below {MOST:g}, got '{match[2][:20]}'; correct it")
            if letter != "N":
                words.append((letter, value))
            rest = rest[match.end() :]
        elif re.match(r"[Ii](?![A-Za-z])", rest) and words and words[0] in (("M", 3), ("M", 4), ("M", 5)):
            words.append(("I", None))
            rest = rest[1:].lstrip()
        else:
            for pattern, text in REFUSED:
                if pattern.match(whole):
                    raise WordError(text)
            raise WordError(f"a word is a letter and a number, got '{rest[:20]}'; correct the line")
    return words
