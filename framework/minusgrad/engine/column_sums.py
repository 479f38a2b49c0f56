"""Sums over the rows of an array on a device, by columns of rows, so that few numbers are copied to the host.

Row k is added to sum k % columns, one after another, as `energies.fields.ordered_sum` begins.

Decisions 0210.
"""

from typing import Any

import numpy as np

from . import storage
from .kernels import BoundKernel, Code


class ColumnSums:
    """The sums of the rows of an array (rows, components) in f64, as (columns, components)."""

    def __init__(self, array: Any, columns: int):
        components = array.shape[1]
        self._sums = storage.allocate(np.zeros((columns, components)))
        wide = "sums.shape[0]"
        lines = [
            f"for column in range({wide}):",
            *(f"    total{c} = ti.f64(0.0)" for c in range(components)),
            f"    for turn in range((at - column + {wide} - 1) // {wide}):",
            *(f"        total{c} = total{c} + rows[column + turn * {wide}, {c}]" for c in range(components)),
            *(f"    sums[column, {c}] = total{c}" for c in range(components)),
        ]
        text = "".join(f"{line}\n" for line in lines)
        self._kernel = BoundKernel(Code(text, {"sums": self._sums, "rows": array}), "at")

    def __call__(self, rows: int) -> np.ndarray:
        """The sums of the first rows."""
        self._kernel(rows)
        return storage.host(self._sums)
