"""Records in TOML files of their own, such as the profile of a machine; each mistake with line and column.

    class Lens(Record):
        focus: Annotated[float | str, Quantity("m", "positive")]

    lens = read_toml("lens.toml", Lens)        a mistake: lens.toml:3:9: focus: needs a quantity above 0, ...

    table = TomlTable("lens.toml", context.read("lens.toml"), context.units)         of a scene
    lens = table.record(Lens)
    with table.placed():
        refuse_blind(lens)                     UserErrors with a `key`, which `at_key` gives, get their line

`read_toml` takes numbers without a unit in SI units, `TomlTable` in its `units`.

Decisions 0143.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ..errors import SceneError, UserError, choices, unknown
from . import parsing
from .document import MISSING, Block, of_text
from .records import Record
from .units import UnitSystem

R = TypeVar("R", bound=Record)


class TomlTable:
    """The table of a TOML file, whose keys are those of a record.

        robot = TomlTable("robot.toml", context.read("robot.toml"), context.units).record(Robot)

    file: the name in messages. data: the bytes of the file. units: those of numbers without a unit (default:
    SI). Raises `SceneError` with line and column for text that is no TOML, and for infinity and NaN.
    """

    def __init__(self, file: str, data: bytes, units: UnitSystem | None = None):
        self._document = of_text(parsing.decode(file, data), file, source=data)
        self._units = units or UnitSystem.si()

    def record(self, model: type[R]) -> R:
        """The table as a record. Raises `SceneError` with all unknown or missing keys and wrong values."""
        return self._validated(self._document.data, model)

    def record_of_kind(self, models: Mapping[str, type[Any]]) -> Any:
        """The table as the record that its key `kind` names. Raises as `record` does, also for the kind."""
        keys = dict(self._document.data)
        kind = keys.pop("kind", None)
        if not isinstance(kind, str) or kind not in models:
            wrong = f"needs a name, got {kind!r}{choices('', models)}"
            wrong = unknown("kind", kind, models) if isinstance(kind, str) else wrong
            missing = f"{MISSING}{choices('', models)}"
            raise SceneError([self._document.problem(("kind",), missing if kind is None else wrong)])
        return self._validated(keys, models[kind])

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Raise the user's mistakes as `SceneError` with the line of their key in this file."""
        try:
            yield
        except SceneError:
            raise
        except UserError as error:
            raise SceneError([self._document.problem(error.key, str(error))]) from error

    def _validated(self, keys: dict[str, Any], model: type[R]) -> R:
        found, problems = self._document.validate(Block("", keys, ()), model, self._units)
        if found is None:
            raise SceneError(problems)
        return found


def read_toml(file: str | Path, model: type[R]) -> R:
    """The record that a TOML file holds: its keys are those of `model`.

    Raises `SceneError`, a `UserError`, with all mistakes in the order of the file: for a file that cannot be
    read, text that is no TOML, unknown or missing keys, wrong values.
    """
    path = Path(file)
    return TomlTable(str(path), parsing.read(path)).record(model)
