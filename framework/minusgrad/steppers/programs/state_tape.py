"""State tape: the updated fields before each of some steps of a program, recorded for its adjoint.

Decisions 0357.
"""

from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine import storage
from ...engine.kernels import BoundKernel, Code, at_each


class StateTape:
    """The state before each of at most `steps` steps from number `first` on.

    Later ones overwrite the first.
    """

    def __init__(self, fields: list[Field], steps: int):
        self.fields, self.first = fields, 0
        self._rows = [storage.allocate(np.zeros((steps, *f.shape), f.dtype)) for f in fields]
        self._addresses = [r.ctypes.data if isinstance(r, np.ndarray) else 0 for r in self._rows]
        begin = Code("tape_row = at\n")
        self._record = [BoundKernel(Code.joined([begin, loop]), "at") for loop in self.recorded()]
        self._recall = [BoundKernel(Code.joined([begin, loop]), "at") for loop in self.recalled()]

    @staticmethod
    def size(fields: list[Field], steps: int) -> int:
        """Bytes of a tape."""
        return steps * sum(field.values.nbytes for field in fields)

    def record(self, step: int) -> None:
        """Keep the state before a step."""
        for kernel in self._record:
            kernel(step - self.first)

    def recall(self, step: int) -> None:
        """Restore the state before a step."""
        for kernel in self._recall:
            kernel(step - self.first)
        self.mark()

    def __len__(self) -> int:
        return int(self._rows[0].shape[0])

    def memory(self, field: int, step: int) -> tuple[Any, int]:
        """The row for the state of a field (its number) before a step, and its address; on the CPU."""
        rows, row = self._rows[field], (step - self.first) % len(self)
        return rows[row], self._addresses[field] + row * rows.strides[0]

    def mark(self) -> None:
        """Count a write of the fields."""
        for field in self.fields:
            field.array.writes += 1

    def recorded(self) -> list[Code]:
        """Loops that keep the state in row `tape_row`."""
        return self._loops("tape[tape_place, {at}] = now[{at}]")

    def recalled(self) -> list[Code]:
        """Loops that restore the state of row `tape_row`."""
        return self._loops("now[{at}] = tape[tape_place, {at}]")

    def _loops(self, line: str) -> list[Code]:
        return [
            self._loop(line, field.array, rows) for field, rows in zip(self.fields, self._rows, strict=True)
        ]

    def _loop(self, line: str, array: Any, rows: Any) -> Code:
        text = "tape_place = tape_row % tape.shape[0]\n" + at_each("now", array, line)
        return Code(text, {"now": array, "tape": rows})
