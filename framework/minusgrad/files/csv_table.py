"""A table of numbers as text: a row of column names, then rows; mistakes name their line."""

import csv
from collections import Counter

import numpy as np

from ..errors import UserError


class CsvTable:
    """The rows of a CSV file. Lines that begin with # are comments; spaces around values do not count."""

    def __init__(self, file: str, data: bytes):
        text = data.decode("utf-8-sig", "replace").splitlines()
        numbered = [(k, line) for k, line in enumerate(text, 1) if line.strip() and line.lstrip()[0] != "#"]
        rows = [
            (k, [value.strip() for value in row]) for k, line in numbered for row in _split(file, k, line)
        ]
        if len(rows) < 2:
            raise UserError(f"'{file}' has no rows; it needs a line of column names, then rows of numbers")
        self.file, self.columns, self._rows = file, rows[0][1], rows[1:]
        name, count = Counter(self.columns).most_common(1)[0]
        if count > 1:
            raise UserError(f"'{file}': {count} columns are called '{name}'; give each its own name")
        for line, row in self._rows:
            if len(row) != len(self.columns):
                raise UserError(f"'{file}', line {line}: {len(row)} values for {len(self.columns)} columns")

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def places(self) -> list[str]:
        """What a message calls each row."""
        return [f"'{self.file}', line {line}" for line, _ in self._rows]

    def numbers(self, column: str) -> np.ndarray:
        """One column, shape (rows,)."""
        pairs = zip(self.places, self.texts(column), strict=True)
        return np.array([self._number(f"{place}, column '{column}'", text) for place, text in pairs])

    def texts(self, column: str) -> list[str]:
        """One column as it is written."""
        if column not in self.columns:
            raise UserError(f"'{self.file}' has no column '{column}' (it has: {', '.join(self.columns)})")
        k = self.columns.index(column)
        return [row[k] for _, row in self._rows]

    @staticmethod
    def _number(place: str, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise UserError(f"{place}: '{text}' is not a finite number")
        return number


def _split(file: str, k: int, line: str) -> list[list[str]]:
    try:
        return list(csv.reader([line]))
    except csv.Error as error:
        raise UserError(f"'{file}', line {k}: {error}") from error
