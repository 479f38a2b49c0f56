"""Structs of an interpreted kernel: struct fields, elements of them, and structs that are local variables.

p[i].pos          the member of an element: read from, and written to, the member's array
q = p[i]          a copy: a local struct
p[i] = P(1, 2)    every member is written
p.pos[i], for i in p, p[i].method()
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ..symbolic.rewriting import copy_by_value
from .array_memory import Memory


class StructMemory:
    """The stand-in for a struct field: its members are arrays, or structs of arrays."""

    def __init__(self, name: str, members: Mapping[str, Any], methods: Mapping[str, Any], bind: Callable):
        self.name, self.members, self.methods, self.bind = name, dict(members), dict(methods), bind

    @property
    def first_array(self) -> Memory:
        """The first array, whose shape and active cells are those of the struct."""
        one: Any = next(iter(self.members.values()))
        return one.first_array if isinstance(one, StructMemory) else one

    @property
    def shape(self) -> tuple[int, ...]:
        return self.first_array.shape

    def places(self) -> Iterator[tuple[int, ...]]:
        return self.first_array.places()

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__.get("members", {})
        if name not in members:
            raise AttributeError(f"'{self.__dict__.get('name', 'struct')}' has no member '{name}'")
        return members[name]

    def __getitem__(self, index: Any) -> "StructPart":
        return StructPart(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        for name, one in entries(value).items():
            self.members[name][index] = one


class StructPart:
    """An element of a struct field."""

    def __init__(self, memory: StructMemory, index: Any):
        self.__dict__["_memory"], self.__dict__["_index"] = memory, index

    def __getattr__(self, name: str) -> Any:
        memory = self._memory
        if name in memory.members:
            return memory.members[name][self._index]
        if name in memory.methods:
            return partial(memory.bind(memory.methods[name]), self)
        raise AttributeError(f"'{memory.name}' has no member '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        self._memory.members[name][self._index] = value

    def copy(self) -> "LocalStruct":
        """The element as a local variable."""
        memory = self._memory
        members = {name: copy_by_value(memory.members[name][self._index]) for name in memory.members}
        return LocalStruct(members, memory.methods, memory.bind)


class LocalStruct:
    """A struct that is a local variable."""

    def __init__(self, members: Mapping[str, Any], methods: Mapping[str, Any], bind: Callable):
        self.__dict__["_members"] = dict(members)
        self.__dict__["_methods"], self.__dict__["_bind"] = dict(methods), bind

    def __getattr__(self, name: str) -> Any:
        if name in self._members:
            return self._members[name]
        if name in self._methods:
            return partial(self._bind(self._methods[name]), self)
        raise AttributeError(f"struct has no member '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._members:
            raise AttributeError(f"struct has no member '{name}'")
        self._members[name] = copy_by_value(value)

    def copy(self) -> "LocalStruct":
        return LocalStruct(
            {name: copy_by_value(v) for name, v in self._members.items()}, self._methods, self._bind
        )


def entries(value: Any) -> dict[str, Any]:
    """The members of a struct, by name."""
    if isinstance(value, StructPart):
        return entries(value.copy())
    if isinstance(value, LocalStruct):
        return dict(value._members)
    if isinstance(value, dict):
        return value
    raise TypeError(f"struct: must be given a struct, got a {type(value).__name__}")
