"""Lines of a potential file, in the child process of `bounded_read`: text, numbers, and the words of
messages.

The first line of a file of LAMMPS says its units, `UNITS: metal` (eV, angstrom) or `UNITS: real` (kcal/mol,
angstrom); without it they are those of `metal`.
"""

import re
from typing import NoReturn

import numpy as np

from minusgrad.plugin import UserError, printable

UNITS = ("metal", "real")
SAVE = "save or download the file again"


class FileLines:
    """The lines of a file, which are read one after another; blank ones are skipped by `words`."""

    def __init__(self, file: str, data: bytes):
        self.file, self.lines = file, data.decode("latin-1").splitlines()
        self.at = 0

    def fail(self, wrong: str, line: int | None = None) -> NoReturn:
        """Raise `UserError` that begins with the file and the number of the line last read."""
        raise UserError(f"'{printable(self.file)}', line {line or self.at or 1}: {wrong}")

    def units(self) -> str:
        """The units that the first line names, those of `metal` if it names none."""
        found = re.search(r"UNITS:\s*(\w+)", self.lines[0] if self.lines else "")
        if found is None:
            return UNITS[0]
        if found[1] not in UNITS:
            known = " or ".join(UNITS)
            self.fail(f"units must be {known}, got UNITS: {found[1]}; convert the file to metal", 1)
        return found[1]

    def words(self, what: str) -> list[str]:
        """The words of the next line that has some. Raises `UserError` where the file ends."""
        while self.at < len(self.lines):
            self.at += 1
            if found := self.lines[self.at - 1].split():
                return found
        self.fail(f"needs {what}, got the end of the file; {SAVE}")

    def number(self, word: str, what: str, least: float = -np.inf) -> float:
        """The number that a word is. Raises `UserError` unless it is finite, and not below `least`."""
        try:
            found = float(word)
        except ValueError:
            found = np.nan
        if not np.isfinite(found) or found < least:
            limit = "" if least == -np.inf else f" of at least {least:g}"
            self.fail(f"{what} must be a finite number{limit}, got '{printable(word, 40)}'; correct it")
        return found

    def whole(self, word: str, what: str, least: int = 0) -> int:
        """The whole number that a word is. Raises `UserError` for another word, and below `least`."""
        if not word.isascii() or not word.isdigit() or int(word) < least:
            self.fail(
                f"{what} must be a whole number, {least} or more, got '{printable(word, 40)}'; correct it"
            )
        return int(word)

    def table(self, count: int, what: str) -> np.ndarray:
        """The next `count` numbers, which end with a line. Raises `UserError` for more or fewer."""
        begin, found = self.at, list[str]()
        while len(found) < count:
            if self.at == len(self.lines):
                self.fail(
                    f"needs {count} numbers of {what}, got {len(found)} and the end of the file; {SAVE}"
                )
            found += self.lines[self.at].split()
            self.at += 1
        if len(found) > count:
            self.fail(
                f"{what} must end with a line after {count} numbers, got {len(found)}; correct the counts"
            )
        try:
            values = np.array(found, float)
        except ValueError:
            values = np.array([np.nan])
        if not np.isfinite(values).all():
            self._refuse_words(begin, what)
        return values

    def _refuse_words(self, begin: int, what: str) -> None:
        """Raise `UserError` for the first word since a line that is no finite number."""
        for number in range(begin, self.at):
            self.at = number + 1
            for word in self.lines[number].split():
                self.number(word, f"a number of {what}")

    def refuse_more(self, after: str) -> None:
        """Raise `UserError` where lines with words follow."""
        for number in range(self.at, len(self.lines)):
            if more := self.lines[number].split():
                wrong = f"must be the end of the file, after {after}, got '{printable(more[0], 40)}'"
                self.fail(f"{wrong}; correct the counts", number + 1)
