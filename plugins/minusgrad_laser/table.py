"""Numbers in text: values between commas, a row a line; a mistake names its line.

Lines that begin with # are comments; spaces around values do not count.
"""

import csv

import numpy as np

from minusgrad.errors import UserError


class Table:
    """The rows of a CSV file, all of one length: a matrix of numbers, or columns named in the first row."""

    def __init__(self, file: str, data: bytes):
        text = data.decode("utf-8-sig", "replace").splitlines()
        lines = [(k, line) for k, line in enumerate(text, 1) if line.strip() and line.lstrip()[0] != "#"]
        self.file = file
        self.rows = [(k, [value.strip() for value in row]) for k, line in lines for row in csv.reader([line])]
        if not self.rows:
            raise UserError(f"'{file}' has no rows")
        width = len(self.names)
        for line, row in self.rows:
            if len(row) != width:
                raise UserError(f"'{file}', line {line}: {len(row)} values, and {width} in the first row")

    @property
    def names(self) -> list[str]:
        """The values of the first row."""
        return self.rows[0][1]

    def matrix(self) -> np.ndarray:
        """All rows as numbers, (rows, columns)."""
        return np.array(
            [[self._number(line, f"value {k}", v) for k, v in enumerate(row, 1)] for line, row in self.rows]
        )

    def column(self, name: str) -> np.ndarray:
        """The numbers under a name, (rows - 1,). Raises `UserError` unless it stands there, and once."""
        if (count := self.names.count(name)) != 1:
            found = "no column" if count == 0 else f"{count} columns"
            raise UserError(f"'{self.file}' has {found} '{name}' (it has: {', '.join(self.names)})")
        k = self.names.index(name)
        return np.array([self._number(line, f"column '{name}'", row[k]) for line, row in self.rows[1:]])

    def _number(self, line: int, what: str, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise UserError(f"'{self.file}', line {line}, {what}: '{text}' is not a finite number")
        return number
