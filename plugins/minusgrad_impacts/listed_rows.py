"""Rows of a robot's lists: written in the scene or in a TOML file, or read from a CSV file beside the scene.

A mistake in a row is led back to it: to its line in the CSV file, else to its key.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import ByForm, CsvTable, Quantity, StateContext, UserError, at_key, choices

Place = Annotated[float | str, Quantity("m")]
Length = Annotated[float | str, Quantity("m", "positive")]
Stiffness = Annotated[float | str, Quantity("N/m", "positive")]
Number = Annotated[int, Field(ge=0)]

Row = dict[str, Any]


def rows_or_file(value: Any) -> str:
    """The form of a value for `ByForm`: "file" for the name of a CSV file, else "rows"."""
    return "file" if isinstance(value, str) else "rows"


FILE_OR_ROWS = ByForm(rows_or_file, ("rows", "file"))


@dataclass(frozen=True)
class ListedRows:
    """The rows under a key of a robot; `table`: the file that they were read from, if there is one."""

    key: str
    rows: Sequence[Row]
    table: CsvTable | None = None

    @classmethod
    def of_file(
        cls,
        key: str,
        file: str,
        context: StateContext,
        needed: Sequence[str],
        optional: Sequence[str] = (),
        above: Sequence[str] = (),
    ) -> "ListedRows":
        """The rows of a CSV file, each with the numbers of its columns by name.

        above: the columns whose numbers are above 0. Raises `UserError` for others, for columns that are
        neither needed nor optional, and for needed ones that are missing.
        """
        with at_key(key):
            table = CsvTable(file, context.read(file))
            known = [*needed, *optional]
            if strange := [name for name in table.columns if name not in known]:
                raise UserError(f"{file}: no column named '{strange[0]}'{choices(strange[0], known)}")
            there = [name for name in known if name in needed or name in table.columns]
            values = np.stack([table.numbers(name) for name in there], axis=1).tolist()
        found = cls(key, [dict(zip(there, row, strict=True)) for row in values], table)
        for k, row in enumerate(found.rows):
            if low := [name for name in above if row.get(name, 1.0) <= 0.0]:
                with found.at_row(k):
                    got = f"got {row[low[0]]:g}; correct it"
                    raise UserError(f"column '{low[0]}': needs a number above 0, {got}")
        return found

    @contextmanager
    def at_row(self, k: int) -> Iterator[None]:
        """Lead a mistake back to row k: to its line in the file, else to its key."""
        if self.table is None:
            with at_key(self.key, k):
                yield
            return
        try:
            yield
        except UserError as error:
            wrong = UserError(f"{self.table.places[k]}: {error}")
            wrong.key = (self.key,)
            raise wrong from None

    def numbers_of(self, what: str, columns: Sequence[str], count: int) -> np.ndarray:
        """Two numbers of nodes or boxes in each row, (rows, 2), of `count`; `what`: what they are called.

        Raises `UserError` for a fraction, for one that there is not, and for a row that names one twice.
        """
        pairs = []
        for k, row in enumerate(self.rows):
            with self.at_row(k):
                pair = [row[name] for name in columns]
                for number in pair:
                    if number != int(number) or not 0 <= number < count:
                        raise UserError(f"no {what} {number:g}; there are {count}, counted from 0")
                if pair[0] == pair[1]:
                    raise UserError(f"joins {what} {pair[0]:g} with itself; name another one")
            pairs.append([int(number) for number in pair])
        return np.array(pairs, dtype=int).reshape(-1, 2)

    def values_of(self, name: str, usual: float | None) -> np.ndarray | None:
        """A value of each row: its own, else the usual one; None where there is none at all.

        Raises `UserError` for a row without a value where others have one.
        """
        values = [usual if row.get(name) is None else row[name] for row in self.rows]
        if usual is None and all(one is None for one in values):
            return None
        for k, one in enumerate(values):
            if one is None:
                with self.at_row(k):
                    raise UserError(f"needs its own '{name}', as others have one; give it, or one for all")
        return np.array(values, float)
