"""CSV tables of numbers: columns by name, or a matrix; errors name the file, line and column.

Decisions 0240.
"""

import csv
import re
from collections import Counter
from copy import copy
from typing import Self

import numpy as np

from ..errors import UserError, unknown
from .bounded.atom_signs import refuse_atoms

_NO_UTF8 = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as Python's "surrogateescape" decodes them."""


class CsvTable:
    """The rows of a CSV file: named columns, or a matrix of numbers.

        table = CsvTable("bodies.csv", context.read("bodies.csv"))
        m = table.numbers("m")

    file: the name in messages. data: the bytes of the file, in UTF-8. Lines that begin with # are
    comments; empty lines, and spaces around values, are ignored. Raises `UserError` if there is no row, for
    atoms of another program, if rows differ in their number of values, or if a line is not CSV or not UTF-8.
    """

    def __init__(self, file: str, data: bytes):
        refuse_atoms(file, data, "a table (CSV)")
        text = data.decode("utf-8-sig", "surrogateescape").splitlines()
        numbered = [(k, line) for k, line in enumerate(text, 1) if line.strip() and line.lstrip()[0] != "#"]
        self.file = file
        self._rows = [(k, row) for k, line in numbered for row in self._split_line(k, line)]
        if not self._rows:
            raise UserError(f"{file}: has no rows; add at least one")
        for line, row in self._rows:
            if len(row) != (width := len(self.columns)):
                raise UserError(
                    f"{file}:{line}: needs as many values as the first row, {width}, got {len(row)}"
                )

    def __len__(self) -> int:
        """The number of rows below the column names."""
        return len(self._rows) - 1

    @property
    def columns(self) -> list[str]:
        """The values of the first row, as names of columns."""
        return self._rows[0][1]

    @property
    def places(self) -> list[str]:
        """`file:line` of each row below the column names, for messages."""
        return [f"{self.file}:{line}" for line, _ in self._rows[1:]]

    def parts(self, column: str) -> dict[int, Self]:
        """The rows of each whole number in a column, as tables of their own.

        Raises `UserError` as `numbers` does, and for a number that is not whole.
        """
        found: dict[int, Self] = {}
        for place, number, row in zip(self.places, self.numbers(column), self._rows[1:], strict=True):
            if number != int(number):
                raise UserError(
                    f"{place}: column '{column}': needs a whole number, got {number:g}; correct it"
                )
            if int(number) not in found:
                found[int(number)] = copy(self)
                found[int(number)]._rows = self._rows[:1]
            found[int(number)]._rows.append(row)
        return found

    def numbers(self, column: str) -> np.ndarray:
        """The numbers of a column, shape (rows,).

        Raises `UserError` as `texts` does, and for a value that is not a finite number.
        """
        pairs = zip(self.places, self.texts(column), strict=True)
        return np.array([self._parse_number(f"{place}: column '{column}'", text) for place, text in pairs])

    def texts(self, column: str) -> list[str]:
        """The values of a column as text.

        Raises `UserError` if the column is missing or named twice, or if there is no row below the names.
        """
        if not len(self):
            raise UserError(f"{self.file}: has no rows below the column names; add at least one")
        if column not in self.columns:
            raise UserError(f"{self.file}: {unknown('column', column, self.columns)}")
        if (count := Counter(self.columns)[column]) > 1:
            raise UserError(f"{self.file}: {count} columns are named '{column}'; give each its own name")
        k = self.columns.index(column)
        return [row[k] for _, row in self._rows[1:]]

    def matrix(self) -> np.ndarray:
        """All rows as numbers, the first included, shape (rows, columns).

        Raises `UserError` for a value that is not a finite number.
        """
        return np.array(
            [
                [self._parse_number(f"{self.file}:{line}: column {k}", text) for k, text in enumerate(row, 1)]
                for line, row in self._rows
            ]
        )

    def _split_line(self, line: int, text: str) -> list[list[str]]:
        if (foreign := _NO_UTF8.search(text)) is not None:
            byte = ord(foreign[0]) - 0xDC00
            raise UserError(f"{self.file}:{line}: must be UTF-8, got byte 0x{byte:02x}; save it as UTF-8")
        try:
            return [[value.strip() for value in row] for row in csv.reader([text])]
        except csv.Error as error:
            raise UserError(f"{self.file}:{line}: {error}") from error

    @staticmethod
    def _parse_number(place: str, text: str) -> float:
        try:  # Python's float also takes 1_0, and the digits of every script
            number = float(text) if text.isascii() and "_" not in text else np.nan
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise UserError(f"{place}: needs a finite number, got '{text}'")
        return number
