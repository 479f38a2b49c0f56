"""Records in TOML files of their own, such as the profile of a machine; each mistake with line and column.

    class Lens(Record):
        focus: Annotated[float | str, Quantity("m", "positive")]

    lens = read_toml("lens.toml", Lens)        a mistake: lens.toml:3:9: focus: needs a quantity above 0, ...

Numbers without a unit are in SI units.
"""

from pathlib import Path
from typing import TypeVar

from ..errors import SceneError
from . import parsing
from .document import Block, of_text
from .records import Record

R = TypeVar("R", bound=Record)


def read_toml(file: str | Path, model: type[R]) -> R:
    """The record that a TOML file holds: its keys are those of `model`.

    Raises `SceneError`, a `UserError`, with all mistakes in the order of the file: for a file that cannot be
    read, text that is no TOML, unknown or missing keys, wrong values.
    """
    path = Path(file)
    source = parsing.read(path)
    document = of_text(parsing.decode(str(path), source), path, source=source)
    found, problems = document.validate(Block("", document.data, ()), model)
    if found is None:
        raise SceneError(problems)
    return found
