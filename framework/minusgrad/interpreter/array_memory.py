"""Arrays of an interpreted kernel: each cell holds the expression that was last written to it.

All cells of a run are in one list, `Accesses.store`. An array knows the addresses of its own, so that arrays
that share memory (a component of a vector field, a member of a struct field) share cells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import TraceError
from ..symbolic.rewriting import current_location
from ..symbolic.tensors import Tensor, flat, wrong_count


class IndexOutsideError(TraceError):
    """An index out of bounds."""


class UnfollowedError(TraceError):
    """A kernel that cannot be interpreted, though it may be right."""


class Cut(NamedTuple):
    """A value (by serial) that lost its derivative: its line, and the reason."""

    serial: int
    where: str
    text: str


class Accesses(Protocol):
    """The interpreter as seen by its arrays: it records every access and converts the values of cells."""

    functions: Any
    store: list[Any]

    def count(self, value: Any, what: str) -> int: ...

    def touch(self, memory: "Memory", cell: int, how: str, value: Any = None) -> None: ...

    def stored_value(self, memory: "Memory", value: Any) -> Any: ...

    def number(self, value: Any) -> Any: ...

    def note_change(self, memory: "Memory", op: str, atomic: bool) -> None: ...


@dataclass
class Memory:
    """The stand-in for an array of shape (*axes, *element): its cells hold numbers or nodes."""

    name: str
    axes: tuple[int, ...]
    element: tuple[int, ...]
    integer: bool
    has_gradient: bool
    addresses: Sequence[int] = field(repr=False)
    interpreter: Accesses = field(repr=False)
    dtype: Any = None
    """The type that kernels cast to, under its name in the file."""
    offset: tuple[int, ...] = ()
    """The least index along each axis; () for zeros."""
    active: np.ndarray | None = field(repr=False, default=None)
    """The cells that a loop over it visits, (axes); None for all."""
    unsettled: bool = False
    """True if the launch that is interpreted changes which cells are active."""
    stopped: bool = False
    """True if what is read has no derivative: `ti.stop_grad`, where the file says that it is intended."""
    refused: str = ""
    """Why no kernel that uses it can be interpreted; "" where one can."""

    def __post_init__(self) -> None:
        self.offset = self.offset or (0,) * len(self.axes)

    @property
    def cells(self) -> list[Any]:
        """The values of all cells, in order."""
        return [self.interpreter.store[a] for a in self.addresses]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.axes

    @property
    def snode(self) -> Any:
        """The part of the engine's tree that its own copying kernels ask: the offset."""
        return SimpleNamespace(ptr=SimpleNamespace(offset=list(self.offset) if any(self.offset) else []))

    @property
    def n(self) -> int:
        return self.element[0]

    @property
    def m(self) -> int:
        return self.element[1] if len(self.element) == 2 else 1

    @property
    def width(self) -> int:
        """How many numbers an element has."""
        return int(np.prod(self.element, dtype=int))

    def places(self) -> Iterator[tuple[int, ...]]:
        """The indices of all elements that a loop visits, in order."""
        if self.unsettled:
            raise UnfollowedError(
                f"{current_location()}: {self.name}: the kernel activates cells, and loops over active ones"
            )
        for place in product(*map(range, self.axes)):
            if self.active is None or self.active[place]:
                yield tuple(i + least for i, least in zip(place, self.offset, strict=True))

    def element_at(self, index: Any) -> int:
        """The number of an element, from the index that a kernel writes."""
        if self.refused:
            raise UnfollowedError(f"{current_location()}: {self.name}: {self.refused}")
        index = list(flat(index)) if isinstance(index, (Tensor, list, tuple)) else [index]
        index = [part for item in index for part in (flat(item) if isinstance(item, Tensor) else [item])]
        if index == [None]:
            index = [0] * len(self.axes) if set(self.axes) <= {1} else index
        place = [self.interpreter.count(i, f"indexes {self.name}") for i in index]
        if len(place) != len(self.axes):
            raise TypeError(
                f"{self.name}: has {len(self.axes)} axes, got {len(place)} indices; give one for each axis"
            )
        counted = [i - least for i, least in zip(place, self.offset, strict=True)]
        for i, n in zip(counted, self.axes, strict=True):
            if not 0 <= i < n:
                at = ", ".join(map(str, place))
                sizes = " x ".join(map(str, self.axes))
                begin = f" and begins at {', '.join(map(str, self.offset))}" if any(self.offset) else ""
                raise IndexOutsideError(
                    f"{current_location()}: {self.name}[{at}] is outside of the array, which is "
                    f"{sizes}{begin}"
                )
        return int(np.ravel_multi_index(counted, self.axes)) if counted else 0

    def __getitem__(self, index: Any) -> Any:
        at = self.element_at(index)
        if not self.element:
            return self.read_cell(at)
        numbers = [self.read_cell(at * self.width + k) for k in range(self.width)]
        return ArrayPart(self, at * self.width, numbers)

    def __setitem__(self, index: Any, value: Any) -> None:
        at = self.element_at(index)
        values = _entries_for(value, self.width)
        for k, number in enumerate(values):
            self.write(at * self.width + k, number)

    def read_cell(self, cell: int) -> Any:
        self.interpreter.touch(self, cell, "read")
        found = self.interpreter.store[self.addresses[cell]]
        return self.interpreter.number(found) if self.stopped else found

    def write(self, cell: int, value: Any) -> None:
        self.interpreter.touch(self, cell, "write", value)
        self.set_cell(cell, self.interpreter.stored_value(self, value))

    def set_cell(self, cell: int, value: Any) -> None:
        """Give a cell a value, without a record of the access."""
        self.interpreter.store[self.addresses[cell]] = value

    def update(self, cell: int, op: str, value: Any, atomic: bool) -> Any:
        """cell = cell op value, as one access; the old value."""
        old = self.interpreter.store[self.addresses[cell]]
        how = "add" if op in ("add", "sub") else "change"
        self.interpreter.touch(self, cell, how)
        if how == "change":
            self.interpreter.note_change(self, op, atomic)
        self.set_cell(
            cell, self.interpreter.stored_value(self, self.interpreter.functions.operation(op)(old, value))
        )
        return old


class ArrayPart(Tensor):
    """An element of an array of vectors or matrices: writing to it writes to the array."""

    __slots__ = ("begin", "memory")

    def __init__(self, memory: Memory, begin: int, numbers: Sequence[Any]):
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "begin", begin)
        super().__init__(memory.element, numbers, memory.interpreter.functions)

    def _write_entries(self, offsets: Sequence[int], value: Any) -> None:
        for offset, number in zip(offsets, _entries_for(value, len(offsets)), strict=True):
            self.memory.write(self.begin + offset, number)

    def fill(self, value: Any) -> None:
        self._write_entries(range(len(self.entries)), value)


def _entries_for(value: Any, width: int) -> list[Any]:
    entries = list(flat(value))
    if len(entries) == 1:
        return entries * width
    if len(entries) != width:
        raise TypeError(wrong_count(width, len(entries)))
    return entries
