"""Sums of numbers by row of a CSR list (`elements.gather`), in an order that the list fixes.

On the CPU one thread adds up a row. On devices a thread adds at most `PART` numbers: those of a part of a
row, then the sums of its parts, and so on. A row may have all elements of a term: all cells of a picture are
added up to one loss.

Decisions 0211.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np

from ..elements.gather import parts
from ..engine import runtime
from .statements import Statements

PART = 256
"""The most numbers that one thread of a device adds up."""
Starts = Callable[[], np.ndarray]
"""Makes the array (rows + 1,) of where rows begin in a list."""


class RowSums(Statements):
    """Loops of sums for the emitters of terms."""

    def _derived_array(self, name: str, of: Hashable, make: Callable[[], np.ndarray]) -> None:
        """An array of its own that follows from the elements; `of`: its other inputs."""
        if name not in self._arrays:
            self._own_array(name, self.term.elements.derived_array((name, of), make))

    def _row_sums(
        self,
        start: str,
        of: Hashable,
        starts: Starts,
        numbers: Sequence[str],
        real: str,
        end: Callable[[Sequence[str]], Sequence[str]],
    ) -> list[str]:
        """Loops over the rows n of a list: the sums of some numbers, and the statements `end` of them.

        start: the name of the array that `starts` makes; of: its other inputs. numbers: texts, of the type
        `real`, of number {q} of the list.
        """
        self._derived_array(start, of, starts)
        count, sums = len(numbers), [f"a{k}" for k in range(len(numbers))]
        lines: list[str] = []
        rows, numbers = start, [*numbers]
        for level in range(self._level_count(starts)):
            part, rows = f"{start}_parts{level}", f"{start}_rows{level}"
            self._derived_array(part, of, partial(_part_starts, starts, level))
            self._derived_array(rows, of, partial(_row_starts, starts, level + 1))
            buffer = f"{start}_sums{level}_{count}_{real[3:]}"
            kind = np.float32 if real == "ti.f32" else np.float64
            self._own_array(buffer, np.zeros((self._most_parts(starts, level), count), kind))
            places = [f"{self.prefix}{buffer}[{{}}, {k}]" for k in range(count)]
            store = [f"{at.format('n')} = {a}" for at, a in zip(places, sums, strict=True)]
            lines += self._each_row(part, numbers, real, store)
            numbers = [at.format("{q}") for at in places]
        return [*lines, *self._each_row(rows, numbers, real, end(sums))]

    def _each_row(self, start: str, numbers: Sequence[str], real: str, end: Sequence[str]) -> list[str]:
        first = f"{self.prefix}{start}"
        return [
            f"for n in range({first}.shape[0] - 1):",
            *(f"    a{k} = {real}(0.0)" for k in range(len(numbers))),
            f"    for q in range({first}[n], {first}[n + 1]):",
            *(f"        a{k} += {number.format(q='q')}" for k, number in enumerate(numbers)),
            *(f"    {line}" for line in end),
        ]

    def _level_count(self, starts: Starts) -> int:
        """How often rows are divided into parts, on a device, until none is long."""
        if runtime.arch() == "cpu":
            return 0
        start, levels = starts(), 0
        while np.diff(start).max(initial=0) > PART:
            start, levels = parts(start, PART)[1], levels + 1
        return levels

    def _most_parts(self, starts: Starts, level: int) -> int:
        """The parts of a level; of elements that are rebuilt in place, as many as there can be."""
        elements = self.term.elements
        if elements.fixed:
            return len(_part_starts(starts, level)) - 1
        start = starts()
        most = int(start[-1]) // max(elements.rows, 1) * elements.room
        for _ in range(level + 1):
            most = most // PART + len(start) - 1
        return most


def _row_starts(starts: Starts, level: int) -> np.ndarray:
    """Where rows begin among the sums of a level; of level 0 in the list itself."""
    start = starts()
    for _ in range(level):
        start = parts(start, PART)[1]
    return start


def _part_starts(starts: Starts, level: int) -> np.ndarray:
    """Where the parts of rows begin among the sums of a level."""
    return parts(_row_starts(starts, level), PART)[0]
