"""Cases of `minusgrad check FILE.py`: which kernels of a file to check, and with which arguments.

A decorator in the file, or a table in `FILE.check.toml` beside it, gives the arguments:

    @checked(loss="U", inputs={"x": {"shape": [6], "step": 0.1}})
    @ti.kernel
    def kinetic(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)): ...

    [whole]                               fields of the file, and several kernels in their order
    forward = ["draw", "measure"]
    loss = "loss"
    inputs.path.step = 0.5

`loss` is an array of one number, `inputs` are the arrays that it is differentiated with respect to; each
names an argument of the kernel or a field of the file. `step` is the size of a physically meaningful step
(half a pixel, half a spacing, a tenth of the scale), in the unit of the input. `arrays` are other arguments,
`numbers` plain ones. `before` names functions that fill fields. `gradient` names a function of the file that
leaves derivatives in `.grad`
(with `ti.ad.Tape`, or `kernel.grad()` by hand); without it kernels are reversed last to first.
`intended` names functions under `ti.ad.no_grad` or `ti.ad.grad_replaced`, and arrays under `ti.stop_grad`,
whose derivative is left out, or replaced, on purpose.
"""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationError

from ..errors import Problem, SceneError, UserError
from ..scene.parsing import decode, parse, read
from ..scene.records import Record
from ..scene.toml_positions import index
from ..scene.validation_messages import mistakes
from .program_arrays import FoundArrays

Positive = Annotated[float, Field(gt=0.0)]
Length = Annotated[int, Field(gt=0)]


class ArrayTable(Record):
    """An argument that is an array: its values, or its shape, filled with zeros.

    `shape` counts an element of vectors or matrices, too: [8, 3] are eight vectors.
    """

    shape: tuple[Length, ...] | None = None
    start: float | tuple[float, ...] | tuple[tuple[float, ...], ...] | None = None


class InputTable(ArrayTable):
    """An input of the gradient. Without a `start`, and where the file left zeros, random numbers."""

    scale: Positive = 1.0
    step: Positive | None = None


class CaseTable(Record):
    """A case to check; its keys are explained at the head of this file."""

    loss: str | None = None
    inputs: dict[str, InputTable] = Field({})
    arrays: dict[str, ArrayTable] = Field({})
    numbers: dict[str, int | float] = Field({})
    before: tuple[str, ...] = ()
    forward: tuple[str, ...] = ()
    gradient: str | None = None
    intended: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A table with its name; `function`: what was decorated, or None where `forward` names functions.

    `guessed`: inferred from the body of a tape; statements before the tape may belong to it.
    """

    name: str
    table: CaseTable
    function: Any = None
    guessed: bool = False
    loss: Any = None
    """The array that a tape was given as its loss, where it has no name."""
    own: Callable[[], None] | None = None
    """A function that leaves derivatives in `.grad`, where the file has no name for it."""
    found: FoundArrays | None = field(default=None, repr=False)
    """The arrays at the entry of a tape, with their values there (`program_arrays.alive`, each settled)."""
    unasked: str = ""
    """Why it cannot be asked."""
    only_here: str = ""
    """Why it is asked at the start only; "" if it may be asked elsewhere."""
    changed: frozenset[tuple[Hashable, ...]] = frozenset()
    """Arrays, by their memory, whose adjoints are no gradient where the file set them between reverses."""


class _Declared:
    """Cases declared by decorators since the last file was loaded."""

    cases: ClassVar[list[Case]] = []


def checked(**table: Any) -> Callable[[Any], Any]:
    """Declare a case for `minusgrad check`; the decorated kernel or function is unchanged.

    Keywords as at the head of `interpreter.case`: loss, inputs, arrays, numbers, before, gradient, intended.
    Raises
    `UserError` for other keywords.
    """

    def mark(function: Any) -> Any:
        name = getattr(function, "__name__", "a kernel")
        _Declared.cases.append(Case(name, _judged(name, table), function))
        return function

    return mark


def take_declared() -> list[Case]:
    """The cases declared since this was last called."""
    found, _Declared.cases = _Declared.cases, []
    return found


def tables_beside(file: Path) -> list[Case]:
    """The tables of `FILE.check.toml`. Raises `SceneError` with every mistake, at its line."""
    path = file.with_suffix(".check.toml")
    if not path.is_file():
        return []
    text = decode(str(path), read(path))
    places, problems, found = index(text), [], []
    for name, table in parse(str(path), text).items():
        try:
            found.append(Case(name, CaseTable.model_validate_json(json.dumps(table))))
        except ValidationError as error:
            for mistake in mistakes(CaseTable, table, error):
                whole = (name, *mistake.path)
                near = next((whole[:end] for end in range(len(whole), 0, -1) if whole[:end] in places), ())
                line, column = places.get(near, (0, 0))
                problems.append(Problem(str(path), line, column, ".".join(map(str, whole)), mistake.message))
    if problems:
        raise SceneError(problems)
    return found


def _judged(name: str, table: dict[str, Any]) -> CaseTable:
    try:
        return CaseTable.model_validate_json(json.dumps(table))
    except (TypeError, ValueError) as error:
        if not isinstance(error, ValidationError):
            raise UserError(f"@checked of {name}: {error}") from None
        found = mistakes(CaseTable, table, error)
        lines = [f"@checked of {name}: {'.'.join(map(str, m.path))}: {m.message}" for m in found]
        raise UserError("\n".join(lines)) from None
