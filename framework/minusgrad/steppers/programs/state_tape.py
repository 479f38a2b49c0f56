"""State tape: fields before and after each of some steps of a program, recorded for its adjoint.

Decisions 0114, 0357.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine import storage
from ...engine.kernels import BoundKernel, Code, at_each


class StateTape:
    """The values of fields before each of at most `steps` steps from number `first` on, and after the last.

    `fields`: those that the way back reads, not always all that a program updates (`StepReads`).
    """

    def __init__(self, fields: Sequence[Field], steps: int):
        self.fields, self.first = list(fields), 0
        self.steps = steps
        self._rows = {f.name: storage.allocate(np.zeros((steps + 1, *f.shape), f.dtype)) for f in self.fields}
        self._addresses = {
            n: rows.ctypes.data if isinstance(rows, np.ndarray) else 0 for n, rows in self._rows.items()
        }
        begin = Code("tape_row = at\n")
        self._record = [BoundKernel(Code.joined([begin, loop]), "at") for loop in self.recorded("tape_row")]

    @staticmethod
    def size(fields: Sequence[Field], steps: int) -> int:
        """Bytes of a tape."""
        return (steps + 1) * sum(field.values.nbytes for field in fields)

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return [*self._rows]

    def record(self, step: int) -> None:
        """Keep the present values, as those before a step."""
        for kernel in self._record:
            kernel(step - self.first)

    def values(self, name: str, step: int) -> np.ndarray:
        """The values of a field before a step."""
        return storage.host(self._rows[name])[step - self.first]

    def memory(self, name: str, step: int) -> tuple[Any, int]:
        """The row for the values of a field before a step, and its address; on the CPU."""
        rows, row = self._rows[name], step - self.first
        return rows[row], self._addresses[name] + row * rows.strides[0]

    def recorded(self, row: str = "tape_row + 1") -> list[Code]:
        """Loops that keep the present values: those after the step `tape_row`."""
        begin = f"tape_place = {row}\n"
        line = "tape[tape_place, {at}] = now[{at}]"
        return [self._loop(begin, line, field.name, field.array) for field in self.fields]

    def recalled(self, name: str, into: Any, after: bool = False) -> Code:
        """Loops that store the values of a field before the step `tape_row`, or after it, in an array."""
        begin = f"tape_place = tape_row{' + 1' if after else ''}\n"
        return self._loop(begin, "now[{at}] = tape[tape_place, {at}]", name, into)

    def _loop(self, begin: str, line: str, name: str, array: Any) -> Code:
        return Code(begin + at_each("now", array, line), {"now": array, "tape": self._rows[name]})
