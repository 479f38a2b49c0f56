"""Keys of a scene that a sweep varies, and their values as a scene file writes them.

    "stepper.dt"  "energy.0.G"       a path in the scene
    "spring.stiffness"               a key of the block of this name, or else of this kind

Numbers keep the unit in which they are written: normal = ["2 N/m", "0.1 N/m"] draws values like "2.0314 N/m".
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..errors import UnitError, UserError, unknown
from ..files.csv_table import CsvTable
from ..scene.document import MANY, Document, Skeleton
from ..scene.ensemble_table import RangeTable, VaryTable
from ..scene.units import parse_unit, split_quantity

_WHOLE = re.compile(r"[+-]?\d+")


def path_of(document: Document, key: str) -> str:
    """The path in the scene of a key. Raises `UserError` for a name that no section and no block has."""
    first, _, rest = key.partition(".")
    if first in Skeleton.model_fields:
        return key
    blocks = [block for block in document.blocks() if block.path[0] in MANY]
    named = [b for b in blocks if b.values.get("name") == first]
    named = named or [b for b in blocks if b.kind == first]
    if len(named) > 1:
        raise UserError(
            f"{len(named)} blocks are named '{first}'; write {named[0].path[0]}.0.{rest}, or another number"
        )
    if not named or not rest:
        known = [*Skeleton.model_fields, *(str(b.values.get("name", b.kind)) for b in blocks)]
        raise UserError(unknown("section or block", first, known))
    return ".".join(map(str, (*named[0].path, rest)))


class SceneKey:
    """One varied key of a scene: how its values are drawn (as `VariedKey`), and how they are written.

    listed: the values of a list, a grid, a range or a table, (n, ...). pair: the numbers of a distribution.
    unit: in which both are; "" if they have none. Raises `UserError` for values that do not fit together.
    """

    shape: tuple[int, ...] = ()

    def __init__(self, how: VaryTable, read: Callable[[str], bytes]):
        self.how, self.unit = how, ""
        self.listed: np.ndarray | None = None
        self.pair: tuple[np.ndarray, ...] = ()
        given = getattr(how, how.kind)
        if how.kind == "jitter" or how.body is not None:
            what = "jitter" if how.kind == "jitter" else "body"
            raise UserError(f"{what}: belongs to the initial fields of [ensemble.vary]; give another draw")
        if how.kind in ("list", "grid"):
            self.listed = self._values(given)
        elif how.kind == "range":
            self.listed = self._range(given)
        elif how.kind == "table":
            self.listed = self._column(given, read)
        else:
            self.pair = self._pair(given)

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """The values of a distribution below which lie the parts u in (0, 1) of all."""
        a, b = self.pair
        if self.how.kind in ("uniform", "sobol"):
            return a * (1.0 - u) + b * u
        return a + b * ndtri(u) if self.how.kind == "normal" else a * np.exp(b * ndtri(u))

    def written(self, value: Any) -> Any:
        """A value as a scene writes it: with its unit, if it has one."""
        value = value.tolist() if hasattr(value, "tolist") else value
        return f"{value!r} {self.unit}" if self.unit else value

    def _values(self, given: Sequence[Any]) -> np.ndarray:
        """The values of a list: numbers in one unit, or anything that a scene may have."""
        if all(isinstance(one, int) for one in given):
            return np.array(given, np.int64)
        if any(isinstance(one, tuple) for one in given) or not any(map(_is_number, given)):
            found = np.empty(len(given), object)
            found[:] = given
            return found
        return self._numbers(given)

    def _numbers(self, given: Sequence[Any]) -> np.ndarray:
        """Numbers or quantities in the unit of the first, which becomes `unit`."""
        split = [_split(one) for one in given]
        self.unit = split[0][1]
        return np.array([_in_unit(number, unit, self.unit) for number, unit in split])

    def _range(self, table: RangeTable) -> np.ndarray:
        first, last = self._numbers((table.start, table.to)).tolist()
        if table.count is not None:
            found = np.linspace(first, last, table.count)
        else:
            step = _in_unit(*_split(table.step), self.unit)
            number = round((last - first) / step) if step else 0
            if number < 1 or abs(first + number * step - last) > 1e-9 * abs(last - first):
                got = f"{table.step} from {table.start} to {table.to}"
                raise UserError(f"range: needs a step that divides it, got {got}; give a `count`")
            found = np.linspace(first, last, number + 1)
        whole = not self.unit and (found == np.rint(found)).all()
        return found.astype(np.int64) if whole else found  # which any key takes that takes numbers

    def _column(self, file: str, read: Callable[[str], bytes]) -> np.ndarray:
        """The values of a column of a file; whole numbers stay so."""
        if not isinstance(name := self.how.column, str):
            raise UserError("column: needs the name of one column; give it")
        table = CsvTable(file, read(file))
        self.unit = getattr(self.how, "unit", None) or ""
        numbers = table.numbers(name)
        whole = not self.unit and all(_WHOLE.fullmatch(text) for text in table.texts(name))
        return numbers.astype(np.int64) if whole else numbers

    def _pair(self, given: Sequence[Any]) -> tuple[np.ndarray, ...]:
        kind = self.how.kind
        if any(isinstance(one, tuple) for one in given):
            raise UserError(
                f"{kind}: needs two numbers or quantities, got lists; vary their elements one by one"
            )
        if kind == "lognormal":
            first, second = self._numbers(given[:1])[0], _in_unit(*_split(given[1]), "")
        else:
            first, second = self._numbers(given)
        got = f"{given[0]} and {given[1]}"
        if kind in ("uniform", "sobol") and first > second:
            raise UserError(f"{kind}: needs its lower end first, got {got}; swap them")
        if kind in ("normal", "lognormal") and second < 0:
            raise UserError(f"{kind}: needs a deviation of at least 0, got {got}; correct it")
        if kind == "lognormal" and first <= 0:
            raise UserError(f"lognormal: needs a median above 0, got {got}; correct it")
        return np.array(first), np.array(second)


def _is_number(value: Any) -> bool:
    try:
        _split(value)
    except UnitError:
        return False
    return True


def _split(value: Any) -> tuple[float, str]:
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
