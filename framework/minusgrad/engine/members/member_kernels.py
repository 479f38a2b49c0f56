"""Kernels of many equal small systems, the members of an ensemble: each lane of a vector is a member.

The code is that of one system (`Code`), with its arrays; it is rewritten by `member_source`. `MemberArrays`
has, for an array of that one system, the numbers of all members. The last block is filled up with the last
member. All arithmetic is IEEE 754's in the order written, so that a member's bits depend neither on the
others, nor on their number, nor on how many steps a launch takes. On a device a vector has one lane, and each
member has a thread; numbers stay there until they are read.

Decisions 0213.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .. import lane_blocks, runtime, storage
from ..kernels import MOST_ARRAYS, BoundKernel, Code, dealt
from .member_source import MemberSource
from .text_survey import NotWideError, width


class _OnDevice:
    """The numbers of all members on a device, and blocks of the host, which is copied if it is newer."""

    def __init__(self, blocks: lane_blocks.Blocks):
        self.blocks = blocks
        self.array = storage.allocate_vectors(lane_blocks.kernel_view(blocks).view(np.ndarray))
        self.host_is_newer = self.device_is_newer = False

    def read(self) -> None:
        """Bring the numbers to the host."""
        if self.device_is_newer:
            self.blocks[...] = storage.host(self.array).reshape(self.blocks.shape)
            self.device_is_newer = False

    def load(self) -> None:
        """Bring the numbers to the device."""
        if self.host_is_newer:
            storage.store(self.array, lane_blocks.kernel_view(self.blocks).view(np.ndarray))
            self.host_is_newer = False


class MemberArrays:
    """For arrays of one system, of shape (...), those of `count` members, (count, ...).

    An array is known by its identity; it is made when it is asked for, with the one system's numbers for
    every member. dtype: the precision of fields, which says how many members share a vector.
    """

    def __init__(self, count: int, dtype: Any):
        self.count, self.dtype, self.wide = count, np.dtype(dtype), width(dtype)
        self._made: dict[int, tuple[Any, lane_blocks.Blocks]] = {}
        self._on_device: dict[int, _OnDevice] = {}

    @cached_property
    def each_member(self) -> Any:
        """An array with a number for each member."""
        return storage.allocate(np.zeros(self.count))

    def of(self, array: Any) -> lane_blocks.Blocks:
        """The blocks with the numbers of all members, to be read."""
        if id(array) not in self._made:
            one = np.array(storage.host(array))
            size = int(np.prod(one.shape, dtype=int))
            made = lane_blocks.zeros(self.count, size, self.wide, one.dtype)
            made[...] = one.reshape(1, size, 1)
            self._made[id(array)] = array, made
        if id(array) in self._on_device:
            self._on_device[id(array)].read()
        return self._made[id(array)][1]

    def _to_write(self, array: Any) -> lane_blocks.Blocks:
        """The same blocks, of which some numbers will be overwritten."""
        blocks = self.of(array)
        if id(array) in self._on_device:
            self._on_device[id(array)].host_is_newer = True
        return blocks

    def for_kernels(self, array: Any) -> Any:
        """The numbers of all members as kernels take them: the blocks, or memory of the device."""
        if runtime.arch() == "cpu":
            return self.of(array)
        if id(array) not in self._on_device:
            self._on_device[id(array)] = _OnDevice(self.of(array))
        return self._on_device[id(array)].array

    def mark_launched(self, array: Any) -> None:
        """A kernel may have written the numbers."""
        if id(array) in self._on_device:
            self._on_device[id(array)].device_is_newer = True

    def load(self, array: Any) -> None:
        """Bring the numbers to where kernels compute."""
        if id(array) in self._on_device:
            self._on_device[id(array)].load()

    def copy(self, into: Any, array: Any) -> None:
        """Overwrite the first numbers of an array, such as a tape, with those of another, for all members."""
        source = self.of(array)
        self._to_write(into)[:, : source.shape[1]] = source

    def __contains__(self, array: Any) -> bool:
        return id(array) in self._made

    def clear(self, array: Any) -> None:
        """Set the numbers of all members to zero."""
        self._to_write(array)[...] = 0.0

    def write_members(self, array: Any, values: np.ndarray) -> None:
        """Overwrite the numbers of all members, (count, ...)."""
        blocks = self._to_write(array)
        lane_blocks.store(blocks, np.asarray(values, blocks.dtype).reshape(self.count, -1))

    def put_first(self, array: Any, values: np.ndarray) -> None:
        """Overwrite the numbers of the first members, (K, ...); the last of these fill up their block."""
        blocks = self._to_write(array)
        rows = np.ascontiguousarray(values, blocks.dtype)
        lane_blocks.store(blocks, rows.reshape(len(rows), -1))

    def first_rows(self, array: Any, count: int) -> np.ndarray:
        """A copy of the numbers of the first members, (count, ...)."""
        blocks = self.of(array)[: -(-count // self.wide)]
        return np.array(lane_blocks.rows(blocks, count)).reshape(count, *array.shape)

    def put_row(self, array: Any, row: int, values: np.ndarray) -> None:
        """Overwrite the numbers of one member; those of the last one fill up its block."""
        blocks = self._to_write(array)
        block, lane = divmod(row, self.wide)
        last = row == self.count - 1
        blocks[block, :, lane : None if last else lane + 1] = np.ravel(values)[:, None]

    def row(self, array: Any, row: int) -> np.ndarray:
        """A copy of the numbers of one member, (...)."""
        block, lane = divmod(row, self.wide)
        return np.array(self.of(array)[block, :, lane]).reshape(array.shape)

    def rows(self, array: Any) -> np.ndarray:
        """A copy of the numbers of all members, (count, ...)."""
        rows = lane_blocks.rows(self.of(array), self.count)  # of single numbers a view
        return np.array(rows).reshape(self.count, *array.shape)


class MemberKernel:
    """The kernel of one system's code for all members.

    own: the arrays that differ between members, besides those that the code writes and those that are among
    `members` already, such as a tape that another kernel writes. blocks: the text of the number of blocks of
    members that a launch computes, such as a scalar; default: all. Raises `NotWideError` for code that cannot
    be rewritten, or has more arrays than a kernel may.
    """

    def __init__(
        self, code: Code, scalars: Sequence[str], members: MemberArrays, own: Iterable[Any], blocks: str = ""
    ):
        code = Code.merged([code])
        if len(code.arrays) > MOST_ARRAYS:
            raise NotWideError(f"its code has {len(code.arrays)} arrays, more than {MOST_ARRAYS}")
        ids = {id(array) for array in own}
        named = {n for n, array in code.arrays.items() if id(array) in ids or array in members}
        source = MemberSource(code.text, code.arrays, named, members.dtype)
        lines = source.lines()
        arrays = {n: members.for_kernels(a) if n in source.own else a for n, a in code.arrays.items()}
        used = {n: a for n, a in arrays.items() if any(n in line for line in lines)}
        every = next(f"{n}.shape[0] // {source.sizes[n]}" for n in used if n in source.own)
        if runtime.arch() != "cpu" and not blocks:  # whose loops have no division in their bounds
            every, used["each_member"] = "each_member.shape[0]", members.each_member
        text = "\n".join([*dealt("block", blocks or every, lines), ""])
        self._launch = BoundKernel(Code(text, used), *scalars, exact=True, straight=True)
        self._members, self._own = members, [code.arrays[n] for n in used if n in source.own]

    def __call__(self, *scalars: float) -> None:
        for array in self._own:
            self._members.load(array)
        self._launch(*scalars)
        for array in self._own:
            self._members.mark_launched(array)
