"""SWEEP.toml: at which points a scene is run, what its table holds, and what stays on disk.

[sweep]
points = 64                                                  how many are drawn
observe = ["total", "drift"]                                 last values that the table holds

[vary]
"spring.stiffness" = { normal = ["2 N/m", "0.1 N/m"] }       any key of the scene, drawn as in [ensemble.vary]
"stepper.dt" = { grid = ["1 s", "2 s"] }

[keep]
trajectory = false
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ..errors import SceneError, UserError
from ..scene import input_files
from ..scene.document import Block, Document, load
from ..scene.ensemble_table import VaryTable
from ..scene.records import Record

Positive = Annotated[int, Field(ge=1)]


class SweepTable(Record):
    """`[sweep]`: the points, the columns of the table, and how often a point may lose its worker.

    points: how many are drawn; lists, ranges and grids fix it. seed: of the draws, default that of the scene.
    observe: names of observables, default all of at most nine numbers. sensitivity: draw Saltelli's points,
    (d + 2) `samples` of them for d numbers, and compute indices. shard: members of a run, of a scene with
    [ensemble] and no [vary]. retries: deaths of its worker after which a point is given up.
    """

    points: Positive | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    observe: tuple[str, ...] = ()
    sensitivity: Literal["sobol"] | None = None
    samples: Positive = 256
    shard: Positive | None = None
    retries: Annotated[int, Field(ge=0)] = 3


class KeepTable(Record):
    """`[keep]`: what of a finished point stays on disk; with `folder = false` its row in the table alone."""

    folder: bool = True
    checkpoints: bool = True
    trajectory: bool = True

    @property
    def everything(self) -> bool:
        return self.folder and self.checkpoints and self.trajectory


class SweepFile(Record):
    """The file as a whole."""

    sweep: SweepTable = SweepTable()
    vary: Mapping[str, VaryTable] = {}
    keep: KeepTable = KeepTable()


@dataclass(frozen=True)
class Sweeping:
    """A valid sweep file, and where its keys stand for messages."""

    tables: SweepFile
    document: Document | None
    text: str = ""
    """The file, or the data given in its place."""

    @property
    def folder(self) -> Path:
        """Where the files that it names are."""
        return Path() if self.document is None else self.document.path.parent

    def read_named_file(self, name: str) -> bytes:
        """The bytes of a file that it names. Raises `UserError` if it cannot be read."""
        try:
            return input_files.read(self.folder / name, name)
        except (OSError, ValueError) as error:
            raise UserError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def wrong(self, path: tuple[str | int, ...], text: str) -> SceneError:
        """The mistake as an error with its place in the file."""
        assert self.document is not None
        return SceneError([self.document.problem(path, text)])


def read_sweep(given: Path | str | Mapping[str, Any] | None) -> Sweeping:
    """The sweep file at a path, or its data; None: a file without any table.

    Raises `SceneError` with all mistakes.
    """
    if given is None:
        return Sweeping(SweepFile(), None)
    if isinstance(given, Mapping):
        text = json.dumps(given, default=_plain_value)
        data = json.loads(text)
        document = Document(Path("sweep"), b"", (), data, {(key,): "sweep" for key in data})
    else:
        document = load(given)
        text = document.source.decode()
    tables, problems = document.validate(Block("", document.data, ()), SweepFile)
    if tables is None:
        raise SceneError(problems)
    return Sweeping(tables, document, text)


def _plain_value(value: Any) -> Any:
    """Numbers and arrays of NumPy, and paths, as JSON has them. Raises `UserError` for anything else."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise UserError(f"sweep: needs numbers, texts and lists of them, got a {type(value).__name__}")
