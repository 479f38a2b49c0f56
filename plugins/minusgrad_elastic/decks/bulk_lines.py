"""Cards of Nastran's bulk data: a name and its fields, from free, small and large formats.

    GRID,1,,0.,1.,2.            free: between commas
    GRID    1               0.  small: ten columns of 8
    GRID*   1                   large: columns of 8, 16, 16, 16, 16, 8; the rest of the card in the next line

`$` begins a comment. A line that begins with `+`, `*`, a comma or blanks goes on with the card before it.
Source: MSC Nastran Quick Reference Guide, "Format of bulk data entries".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from minusgrad.plugin import UserError, printable

_EXPONENT = re.compile(r"(?<=[0-9.])(?=[+-])")


@dataclass
class Card:
    """A name without `*` in capitals; fields: those after the name, eight for each line of the card."""

    file: str
    name: str
    line: int
    fields: list[str] = field(default_factory=list)
    mark: str = ""

    def fail(self, what: str) -> NoReturn:
        """Raise a `UserError` with file, line and card."""
        raise UserError(f"'{self.file}', line {self.line}: {printable(self.name, 20)}: {what}")

    def text(self, number: int) -> str:
        """A field by its number, the first after the name is 0; empty where the card is shorter."""
        return self.fields[number] if number < len(self.fields) else ""

    def whole(self, number: int, default: int | None = None) -> int:
        """A field as a whole number. Raises `UserError`."""
        word = self.text(number)
        if not word and default is not None:
            return default
        try:
            return int(word)
        except ValueError:
            self.fail(
                f"field {number + 2} must be a whole number, got '{printable(word, 20)}'; save it again"
            )

    def real(self, number: int) -> float:
        """A field as a number; empty: 0. Exponents may have no letter: 1.5-3. Raises `UserError`."""
        word = self.text(number)
        plain = word.upper().replace("D", "E")
        try:
            return float(plain if "E" in plain else _EXPONENT.sub("E", plain, count=1)) if word else 0.0
        except ValueError:
            self.fail(f"field {number + 2} must be a number, got '{printable(word, 20)}'; save it again")

    def listed(self, start: int) -> Iterator[tuple[int, int, int]]:
        """Ranges (first, last, step) in the fields from this one on: numbers, n THRU m, n THRU m BY k."""
        words = [word.upper() for word in self.fields[start:] if word]
        yield from ranges_of(words, self)


def ranges_of(words: list[str], card: Card) -> Iterator[tuple[int, int, int]]:
    """Ranges (first, last, step) of words; one that EXCEPT leaves out of the range before has the step -1.

    A number beyond that range ends EXCEPT. Raises `UserError`.
    """
    at, last, is_without = 0, 0, False
    while at < len(words):
        if words[at] == "EXCEPT":
            is_without, at = True, at + 1
            continue
        if is_without and words[at].isdecimal() and int(words[at]) <= last:
            yield int(words[at]), int(words[at]), -1
            at += 1
            continue
        is_without = False
        if not words[at].isdecimal():
            card.fail(f"must be whole numbers, got '{printable(words[at], 20)}'; list the numbers")
        first = last = int(words[at])
        step, at = 1, at + 1
        if words[at : at + 1] == ["THRU"] and len(words) > at + 1 and words[at + 1].isdecimal():
            last, at = int(words[at + 1]), at + 2
            if words[at : at + 1] == ["BY"] and len(words) > at + 1 and words[at + 1].isdecimal():
                step, at = int(words[at + 1]), at + 2
        yield first, last, max(step, 1)


def bulk_cards(file: str, lines: list[tuple[int, str]]) -> Iterator[Card]:
    """The cards of numbered lines, up to ENDDATA. Raises `UserError`."""
    card: Card | None = None
    for number, line in lines:
        bare = line.split("$", 1)[0].expandtabs(8).rstrip()
        if not bare.strip():
            continue
        name, fields, mark = _fields_of(file, number, bare)
        if bare[0] not in "+*, ":
            if card is not None:
                yield card
            if name.upper().startswith("ENDDATA"):
                return
            card = Card(file, name.rstrip("*").upper(), number, fields, mark)
            continue
        if card is None:
            raise UserError(
                f"'{file}', line {number}: goes on with a card, but none is before it; save it again"
            )
        if card.mark and name.strip("+* ") and card.mark.strip("+* ") != name.strip("+* "):
            card.fail(f"goes on at '{card.mark}', but line {number} is '{name}'; sort the lines of the deck")
        card.fields += fields
        card.mark = mark
    if card is not None:
        yield card


def _fields_of(file: str, number: int, line: str) -> tuple[str, list[str], str]:
    """The name, or the mark of a continuation; 8 fields, of a large line 4; the mark of the next line."""
    if "," in line:
        name, *words = [word.strip() for word in line.split(",")]
        most = 4 if "*" in name else 8
        if len(words) > most + 1:
            raise UserError(
                f"'{file}', line {number}: must have {most + 2} fields at most, got {len(words) + 1}"
            )
        return name, _padded(words[:most], most), "".join(words[most:])
    name = line[:8].strip()
    width, most = (16, 4) if "*" in name else (8, 8)
    words = [line[at : at + width].strip() for at in range(8, 8 + width * most, width)]
    return name, _padded(words, most), line[72:80].strip()


def _padded(words: list[str], most: int) -> list[str]:
    return words + [""] * (most - len(words))
