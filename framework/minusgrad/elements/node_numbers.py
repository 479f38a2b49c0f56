"""Node numbers as int32, which kernels read: checked before they are converted.

NumPy's own conversion wraps: 2^32 + 3 becomes 3, another node.
"""

from typing import Any

import numpy as np

from ..errors import UserError

_RANGE = np.iinfo(np.int32)


def node_numbers(what: str, numbers: Any) -> np.ndarray:
    """The same whole numbers as a contiguous array of int32.

        cells = node_numbers("'plate.vtk': cells", found.cells[0].data)

    what: the object, which begins the message. Raises `UserError` for numbers that are not whole, or that
    int32 does not hold.
    """
    given = np.asarray(numbers)
    if not given.size:
        return np.empty(given.shape, np.int32)
    if given.dtype.kind not in "iu":
        raise UserError(f"{what}: must be whole numbers, got {given.dtype}; count nodes from 0")
    low, high = int(given.min()), int(given.max())
    if low < _RANGE.min or high > _RANGE.max:
        wrong = high if high > _RANGE.max else low
        raise UserError(f"{what}: must be below 2^31, got {wrong}; count nodes from 0")
    return np.ascontiguousarray(given, np.int32)
