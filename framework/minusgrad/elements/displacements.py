"""Kernels for the displacements of nodes from a reference, in one pass over memory.

The largest one is found by the bits of squares as integers: for numbers that are not negative the order is
the same, and infinity and NaN are the largest, which comparisons of floats in kernels with fast arithmetic
may miss.

Decisions 0285.
"""

from typing import Any

import numpy as np

from ..engine import storage
from ..engine.kernels import BoundKernel, Code, real

CHUNK = 512
"""Nodes whose largest displacement is one number."""
ROUNDING = 1e-5
"""More than the relative rounding of a displacement in f32."""


class Displacements:
    """The distances between the rows of x and of `reference`, arrays of kernels of one shape (n, d)."""

    def __init__(self, x: Any, reference: Any):
        self.x, self._one = x, np.ones(1, storage.host(x).dtype)
        self._bits = storage.allocate(np.zeros(-(-len(x) // CHUNK), f"i{self._one.itemsize}"))
        self._lengths = storage.allocate(np.zeros(len(x)))
        self._moved = storage.allocate(np.eye(d := x.shape[1]))
        arrays = {"x": x, "reference": reference}
        text = _largest_text(d, self._one.dtype)
        self._largest = BoundKernel(Code(text, arrays | {"bits": self._bits}), "h")
        of_each = {"lengths": self._lengths, "moved": self._moved}
        self._each = BoundKernel(Code(_lengths_text(d), arrays | of_each))
        self._each()  # compiles: later moves compile nothing

    def surely_below(self, limit: float) -> bool:
        """True if all displacements are below the limit, whatever the rounding; False with any NaN."""
        self._largest((1.0 + ROUNDING) / limit)
        return bool(storage.host(self._bits).max() < self._one.view(f"i{self._one.itemsize}")[0])

    def lengths(self, deformation: np.ndarray) -> np.ndarray:
        """The distances from the reference times a matrix (d, d): (n,), overwritten by the next call."""
        storage.store(self._moved, deformation)
        self._each()
        return storage.host(self._lengths)


def _largest_text(d: int, dtype: np.dtype) -> str:
    precision, integer = real(dtype), f"ti.i{8 * dtype.itemsize}"
    every, squares = np.iinfo(f"i{dtype.itemsize}").max, " + ".join(f"d{c} * d{c}" for c in range(d))
    lines = [
        f"for chunk in range((x.shape[0] + {CHUNK - 1}) // {CHUNK}):",
        f"    largest = {integer}(0)",
        f"    for n in range(chunk * {CHUNK}, ti.min((chunk + 1) * {CHUNK}, x.shape[0])):",
        *(f"        d{c} = (x[n, {c}] - reference[n, {c}]) * {precision}(h)" for c in range(d)),
        f"        largest = ti.max(largest, ti.bit_cast({squares}, {integer}) & {integer}({every}))",
        "    bits[chunk] = largest",
        "",
    ]
    return "\n".join(lines)


def _lengths_text(d: int) -> str:
    def moved(c: int) -> str:
        return " + ".join(f"ti.f64(reference[n, {k}]) * moved[{k}, {c}]" for k in range(d))

    squares = " + ".join(f"d{c} * d{c}" for c in range(d))
    lines = [
        "for n in range(x.shape[0]):",
        *(f"    d{c} = ti.f64(x[n, {c}]) - ({moved(c)})" for c in range(d)),
        f"    lengths[n] = ti.sqrt({squares})",
        "",
    ]
    return "\n".join(lines)
