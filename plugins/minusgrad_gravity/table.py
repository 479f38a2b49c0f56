"""A table of bodies as text: a row of column names, then a row for each body; mistakes name their line."""

import csv
from collections import Counter
from collections.abc import Sequence

import numpy as np

from minusgrad.errors import UserError


class Table:
    """The rows of a CSV file. Lines that begin with # are comments; spaces around values do not count."""

    def __init__(self, file: str, data: bytes):
        text = data.decode("utf-8-sig", "replace").splitlines()
        numbered = [(k, line) for k, line in enumerate(text, 1) if line.strip() and line.lstrip()[0] != "#"]
        rows = [(k, [value.strip() for value in row]) for k, line in numbered for row in csv.reader([line])]
        if len(rows) < 2:
            raise UserError(f"'{file}' has no rows; it needs a line of column names, then one for each body")
        self.file, self.columns, self._rows = file, rows[0][1], rows[1:]
        self._refuse_twins("columns", self.columns)
        for line, row in self._rows:
            if len(row) != len(self.columns):
                raise UserError(f"'{file}', line {line}: {len(row)} values for {len(self.columns)} columns")

    def numbers(self, column: str) -> np.ndarray:
        """One column, shape (rows,)."""
        k = self._column(column)
        return np.array([self._number(line, column, row[k]) for line, row in self._rows])

    def names(self) -> tuple[str, ...]:
        """The column `name`, or the rows' numbers from 0 where there is none."""
        if "name" not in self.columns:
            return tuple(map(str, range(len(self._rows))))
        k = self._column("name")
        names = tuple(row[k] for _, row in self._rows)
        self._refuse_twins("bodies", names)
        return names

    def _column(self, name: str) -> int:
        if name not in self.columns:
            raise UserError(f"'{self.file}' has no column '{name}' (it has: {', '.join(self.columns)})")
        return self.columns.index(name)

    def _number(self, line: int, column: str, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise UserError(f"'{self.file}', line {line}, column '{column}': '{text}' is not a finite number")
        return number

    def _refuse_twins(self, what: str, names: Sequence[str]) -> None:
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise UserError(f"'{self.file}': {count} {what} are called '{name}'; give each its own name")
