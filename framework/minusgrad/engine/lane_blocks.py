"""Rows of elements in blocks: (blocks, numbers, lanes). The same number of a block's elements is a vector.

    rows (E, numbers)   ->   blocks (ceil(E / lanes), numbers, lanes),    element e in lane e % lanes

The last block is padded with the last row. Kernels take arrays of vectors, whose memory begins at a multiple
of `ALIGNMENT` bytes: a vector is loaded by one instruction, which crashes at other addresses.

Decisions 0263.
"""

from typing import Any

import numpy as np

ALIGNMENT = 64
"""Bytes: the size of the widest vectors."""


def lanes(dtype: Any) -> int:
    """The number of values of this precision in one vector."""
    return ALIGNMENT // np.dtype(dtype).itemsize


class Blocks(np.ndarray):
    """Memory of shape (blocks, numbers, lanes), which kernels take as one row of vectors.

    One axis, because kernels read and multiply by the length of a second one at every access.
    """


def zeros(count: int, numbers: int, wide: int, dtype: Any) -> Blocks:
    """Blocks for the rows of `count` elements, all zero."""
    shape = (-(-count // wide), numbers, wide)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    return memory[begin : begin + size].view(dtype).reshape(shape).view(Blocks)


def store(blocks: Blocks, rows: np.ndarray) -> None:
    """Write rows (E, ...) into blocks for E elements, or more."""
    _, numbers, wide = blocks.shape
    flat = rows.reshape(len(rows), numbers)
    whole = len(rows) // wide
    blocks[:whole] = flat[: whole * wide].reshape(whole, wide, numbers).transpose(0, 2, 1)
    if whole * wide < len(flat):
        left = flat[whole * wide :]
        blocks[whole, :, : len(left)] = left.T
        blocks[whole, :, len(left) :] = left[-1][:, None]


def rows_in_blocks(rows: np.ndarray, wide: int, room: int = 0) -> Blocks:
    """A copy of rows (E, ...) in blocks; with room for so many rows, if these are more."""
    numbers = int(np.prod(rows.shape[1:], dtype=int))
    made = zeros(max(len(rows), room), numbers, wide, rows.dtype)
    store(made, rows)
    return made


def rows(array: Any, count: int) -> Any:
    """The rows of `count` elements, (count, numbers): a copy of blocks; of any other array itself."""
    if not isinstance(array, Blocks):
        return array
    return array.transpose(0, 2, 1).reshape(-1, array.shape[1])[:count].view(np.ndarray)


def kernel_view(array: Any) -> Any:
    """The array as kernels take it: blocks as (blocks * numbers, lanes), any other itself."""
    return array.reshape(-1, array.shape[-1]) if isinstance(array, Blocks) else array


def flat(blocks: Blocks) -> np.ndarray:
    """The same memory as one row of numbers: number k of element e at `place(...)`."""
    return blocks.view(np.ndarray).reshape(-1)


def place(element: Any, number: Any, numbers: int, wide: int) -> Any:
    """The index in `flat` of one number of an element; arguments are integers, arrays, or source text."""
    if isinstance(element, str):
        return f"({element} // {wide} * {numbers} + {number}) * {wide} + {element} % {wide}"
    return (element // wide * numbers + number) * wide + element % wide


def single(array: Any) -> Any:
    """The array of rows or blocks for kernels that read single numbers, with `entry`."""
    return flat(array) if isinstance(array, Blocks) else array


def entry(array: Any, name: str, element: str, number: str) -> str:
    """Source text for one number of an element in rows or blocks; `name` is that of the `single` array."""
    if not isinstance(array, Blocks):
        return f"{name}[{element}, {number}]"
    return f"{name}[{place(element, number, *array.shape[1:])}]"
