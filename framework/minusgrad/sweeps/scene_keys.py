"""Keys of a scene that a sweep varies by their addresses, and their values as a scene file writes them.

Numbers keep the unit in which they are written: normal = ["2 N/m", "0.1 N/m"] draws values like "2.0314 N/m".
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..assembly.ensembles.ways_to_vary import Varied
from ..errors import UnitError, UserError
from ..files.csv_table import CsvTable
from ..scene.ensemble_table import RangeTable, VaryTable
from ..scene.units import parse_unit, split_quantity

_WHOLE = re.compile(r"[+-]?\d+")


class SceneKey(Varied):
    """One varied key of a scene, whose values are written as in the scene.

    unit: in which its numbers are; "" if they have none. Raises `UserError` for values that do not fit
    together.
    """

    def __init__(self, how: VaryTable, read: Callable[[str], bytes]):
        self.unit = ""
        if how.kind == "jitter" or how.body is not None:
            what = "jitter" if how.kind == "jitter" else "body"
            raise UserError(f"{what}: belongs to the initial fields of [ensemble.vary]; give another draw")
        super().__init__(how, read)

    def value_as_written(self, value: Any) -> Any:
        """A value as a scene writes it: with its unit, if it has one."""
        value = value.tolist() if hasattr(value, "tolist") else value
        return f"{value!r} {self.unit}" if self.unit else value

    def _listed_values(self, given: Sequence[Any]) -> np.ndarray:
        """The values of a list: numbers in one unit, or anything that a scene may have."""
        if all(isinstance(one, int) for one in given):
            return np.array(given, np.int64)
        if any(isinstance(one, tuple) for one in given) or not any(map(_is_number, given)):
            found = np.empty(len(given), object)
            found[:] = given
            return found
        return np.array(self._numbers_in_unit(given))

    def _numbers_in_unit(self, given: Sequence[Any], plain: bool = False) -> tuple[np.ndarray, ...]:
        """Numbers or quantities in the unit of the first ones, which becomes `unit`."""
        if any(isinstance(one, tuple) for one in given):
            raise UserError(
                f"{self.how.kind}: needs two numbers or quantities, got lists; vary their elements one by one"
            )
        split = [_split_unit(one) for one in given]
        self.unit = self.unit if plain else split[0][1]
        return tuple(np.array(_in_unit(*one, "" if plain else self.unit)) for one in split)

    def _range_values(self, table: RangeTable) -> np.ndarray:
        first, last = (float(one) for one in self._numbers_in_unit((table.start, table.to)))
        step = 0.0 if table.step is None else _in_unit(*_split_unit(table.step), self.unit)
        found = self._equidistant(table, first, last, step)
        whole = not self.unit and (found == np.rint(found)).all()
        return found.astype(np.int64) if whole else found  # which any key takes that takes numbers

    def _column_values(self, file: str) -> np.ndarray:
        """The values of a column of a file; whole numbers stay so."""
        if not isinstance(name := self.how.column, str):
            raise UserError("column: needs the name of one column; give it")
        table = CsvTable(file, self._read(file))
        self.unit = getattr(self.how, "unit", None) or ""
        numbers = table.numbers(name)
        whole = not self.unit and all(_WHOLE.fullmatch(text) for text in table.texts(name))
        return numbers.astype(np.int64) if whole else numbers


def _is_number(value: Any) -> bool:
    try:
        _split_unit(value)
    except UnitError:
        return False
    return True


def _split_unit(value: Any) -> tuple[float, str]:
    """A number and the text of its unit, "" of a plain number. Raises `UnitError` if it is neither."""
    return split_quantity(value) if isinstance(value, str) else (float(value), "")


def _in_unit(number: float, unit: str, wanted: str) -> float:
    """A number in another unit. Raises `UserError` if only one has a unit, or another dimension."""
    if unit == wanted:
        return number
    a, b = parse_unit(unit), parse_unit(wanted)
    if a.dimension != b.dimension or not (unit and wanted):
        words = [f"'{text}'" if text else "none" for text in (wanted, unit)]
        raise UserError(f"needs units of one dimension, got {words[0]} and {words[1]}; write them alike")
    return number * float(a.scale / b.scale)
