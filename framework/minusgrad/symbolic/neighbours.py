"""A field around a cell of a grid: `q[i, j]` is the value at the cell that lies i, j cells away."""

from collections.abc import Callable
from operator import index
from typing import Any

Offset = tuple[int, ...]
"""Cells along each axis of a grid, from a cell to a neighbour."""


class Neighbours:
    """The values of a field around one cell; `at(offset)` is the value there.

    `axes`: those of the grid, None if the first offset decides. The function that reads it has constant
    offsets: numbers, or variables of loops.
    """

    def __init__(self, name: str, axes: int | None, at: Callable[[Offset], Any]):
        self._name, self._axes, self._at = name, axes, at

    def map_values(self, function: Callable[[Any], Any]) -> "Neighbours":
        """The field with a function of each value."""
        return Neighbours(self._name, self._axes, lambda offset: function(self._at(offset)))

    def __getitem__(self, offset: Any) -> Any:
        given = offset if isinstance(offset, tuple) else (offset,)
        try:
            steps = tuple(index(step) for step in given)
        except TypeError:
            shown = ", ".join(str(s) if isinstance(s, (int, float)) else type(s).__name__ for s in given)
            raise TypeError(
                f"{self._name}: takes constant whole numbers as offsets, got [{shown}]; write"
                f" {self._name}[{', '.join('1' + '0' * (len(given) - 1))}], or the variables of a static loop"
            ) from None
        if self._axes is None:
            self._axes = len(steps)
        if len(steps) != self._axes:
            raise TypeError(
                f"{self._name}: takes an offset for each axis of the grid, {self._axes}, got {list(steps)};"
                f" write {self._centre_text}"
            )
        return self._at(steps)

    @property
    def _centre_text(self) -> str:
        """The text of the value at the cell itself."""
        return f"{self._name}[{', '.join('0' * (self._axes or 2))}]"

    def _refuse_missing_offset(self, *_: Any) -> Any:
        raise TypeError(f"{self._name}: is a field around a cell, got no offset; write {self._centre_text}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        _refuse_missing_offset
    )
    __pow__ = __rpow__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_missing_offset
