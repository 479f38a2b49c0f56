"""State tape: the updated fields before each of some steps of a program, recorded for its adjoint."""

import numpy as np

from ...energies.fields import Field
from ...engine import storage


class StateTape:
    """The state before each of at most `steps` steps from number `first` on."""

    def __init__(self, fields: list[Field], steps: int):
        self.fields, self.first = fields, 0
        self._rows = [storage.allocate(np.zeros((steps, *f.shape), f.dtype)) for f in fields]

    @staticmethod
    def size(fields: list[Field], steps: int) -> int:
        """Bytes of a tape."""
        return steps * sum(field.values.nbytes for field in fields)

    def record(self, step: int) -> None:
        """Keep the state before a step."""
        for field, rows in zip(self.fields, self._rows, strict=True):
            storage.host(rows)[step - self.first] = field.values

    def recall(self, step: int) -> None:
        """Restore the state before a step."""
        for field, rows in zip(self.fields, self._rows, strict=True):
            field.set(storage.host(rows)[step - self.first])
