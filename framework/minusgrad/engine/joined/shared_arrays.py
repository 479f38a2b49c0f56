"""Arrays that the loops of a larger kernel share: a kernel has room for few (`kernels.MOST_ARRAYS`).

Constants of equal content are one array. So are buffers of one shape that loops fill and read again before
other loops run.

Decisions 0355.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels import Code

Rule = Callable[[str], bool]


class SharedArrays:
    """The arrays shared so far; `constant` and `buffer` choose by name which arrays of a Code may be."""

    def __init__(self, constant: Rule, buffer: Rule):
        self._constant, self._buffer = constant, buffer
        self._kept: dict[tuple, Any] = {}

    def __call__(self, code: Code) -> Code:
        """The same loops with arrays that other loops have, too. Buffers of one Code stay apart."""
        seen: Counter[tuple] = Counter()
        arrays = {name: self._shared(name, array, seen) for name, array in code.arrays.items()}
        return Code(code.text, arrays)

    def _shared(self, name: str, array: Any, seen: Counter[tuple]) -> Any:
        if type(array) is not np.ndarray:
            return array
        kind: tuple = (array.dtype.name, array.shape)
        if self._constant(name):
            return self._kept.setdefault((*kind, array.tobytes()), array)
        if self._buffer(name):
            seen[kind] += 1
            return self._kept.setdefault((*kind, seen[kind]), array)
        return array
