"""Snapshots of functions: a function with copies of all values that it reads, as they are now.

    frozen = snapshot(f)      the code of f; globals, closure variables, defaults and attributes are copies

A snapshot computes the same whatever happens later to a constant, an array, a dictionary, an attribute of a
module, class or object, or to a function that it calls. Functions that it calls are snapshots, too. Wrappers
that decorators made stay: they are functions like others, and call what they wrap. Of these alone the
wrapped function is taken:

    ti.func, ti.pyfunc, ti.kernel   the engine's compiler, which plays no part here
    functools.lru_cache             a memory of results, which changes no value

Decisions 0030, 0031.
"""

import copy
import functools
from collections.abc import Callable
from enum import Enum
from types import BuiltinMethodType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...engine import runtime, special_functions
from ...errors import TraceError
from ..elimination import functions as elimination
from ..stretches import functions as stretches
from .function_sources import names_read

CONSTANT_MODULES = ("math", "cmath", "numpy", "builtins")
"""Modules beside the engine's whose contents do not change."""
OWN_FUNCTIONS = (special_functions.__name__, stretches.__name__, elimination.__name__)
"""Modules of this package whose functions have stand-ins."""
OWN = __name__.partition(".")[0]
"""This package: its modules, classes and objects stay as they are, whatever refers to them."""
MOST = 20_000
"""The most values of a snapshot; others stay as they are."""
PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic, Enum, range)
CONTENTS = (int, float, tuple, list, dict, np.ndarray)
"""What a function may read of a module by names that it makes up."""
ALL_READ = {"getattr", "hasattr", "vars", "__dict__"}
"""Names in a function that reads attributes whose names stand nowhere in it."""
PROTOCOLS = ("__getitem__", "__len__", "__iter__", "__add__", "__mul__", "__float__", "__array__")
"""Methods of containers and numbers, which Python looks up in the class: such objects are copied whole."""
ORIGIN = "__minusgrad_origin__"
"""The attribute of a snapshot that is the function it was made of."""


def snapshot(function: Callable) -> Any:
    """The function with copies of all that it reads; a snapshot itself is returned as it is."""
    below, made = compiled_function(function), _Snapshots()
    if not isinstance(below, FunctionType) or is_snapshot(below):
        return made.value(below, frozenset())
    return made.function(below)


def is_snapshot(value: Any) -> bool:
    """True for a function that `snapshot` made; decorators may copy its attributes to others."""
    return isinstance(value, FunctionType) and origin(value) is not value


def origin(function: Any) -> Any:
    """The function that a snapshot was made of; another function is its own origin."""
    made_of = function.__dict__.get(ORIGIN)
    return function if made_of is None or made_of.__code__ is not function.__code__ else made_of


def compiled_function(value: Any) -> Any:
    """The Python function below the engine's decorators and memories of results; other values as they are."""
    while hasattr(value, "__wrapped__") and (
        _of_engine(value) or isinstance(value, functools._lru_cache_wrapper)
    ):
        value = value.__wrapped__
    return value


def _of_engine(value: Any) -> bool:
    """True for a wrapper that a decorator of the engine made; they have the names of what they wrap."""
    home = value.__globals__.get("__name__") if isinstance(value, FunctionType) else type(value).__module__
    return _root_package(home) in runtime.PREFIXES


def is_engines(value: Any) -> bool:
    """True for modules, types, functions and numbers of the engine itself."""
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return _root_package(home or type(value).__module__) in runtime.PREFIXES


def _root_package(module: str | None) -> str:
    return (module or "").partition(".")[0]


class Attributes:
    """The attributes of a module, a class or an object, as they were; `call`: what a call of it calls.

    whole: no attribute was read whose name stands nowhere in the functions that read it.
    """

    __slots__ = ("call", "kept", "of", "whole")

    def __init__(self, of: Any):
        self.of, self.kept, self.whole = of, dict[str, Any](), True
        self.call: Any = of if isinstance(of, type) else None

    def read_attribute(self, name: str) -> Any:
        """A kept attribute; one whose name the function makes up is kept when it is read first."""
        if name not in self.kept:
            self.kept[name], self.whole = _Snapshots().value(getattr(self.of, name), frozenset()), False
        return self.kept[name]


class BoundFunction:
    """A function with its first arguments, and some by name: a method, or a partial function."""

    def __init__(self, function: Any, first: tuple[Any, ...], named: dict[str, Any]):
        self.function, self.first, self.named = function, first, named


class _Snapshots:
    """The snapshots of one function: of equal objects one each."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._alive: list[Any] = []

    def value(self, value: Any, names: frozenset[str]) -> Any:
        """The snapshot of a value; `names`: of the attributes that its reader may read."""
        if isinstance(value, (*PLAIN, Attributes, BoundFunction)) or is_snapshot(value):
            return value
        if id(value) not in self._made and len(self._made) >= MOST:
            return value
        if id(value) not in self._made:
            self._alive.append(value)  # kept alive, so that no other object takes its id
            try:
                self._make_snapshot(value, names)
            except Exception:  # whatever an object's own code raises: it stays, and its changes are refused
                self._made[id(value)] = value
        made = self._made[id(value)]
        if isinstance(made, Attributes):
            self._keep_attributes(made, names)
        return made

    def _make_snapshot(self, value: Any, names: frozenset[str]) -> None:
        """Make a snapshot, and note it before those of its parts, which may refer to it."""
        below, key = compiled_function(value), id(value)
        home = getattr(value, "__module__", None) or type(value).__module__
        self._made[key] = value
        if isinstance(value, ModuleType):
            if _root_package(value.__name__) not in (*CONSTANT_MODULES, *runtime.PREFIXES, OWN):
                self._made[key] = Attributes(value)
        elif is_engines(value):
            self._made[key] = _copy_constants(value)
        elif home in OWN_FUNCTIONS or (
            _root_package(home) in CONSTANT_MODULES and not _has_changing_contents(value)
        ):
            return
        elif isinstance(below, FunctionType):
            self._made[key] = self.function(below)
        elif _root_package(home) == OWN:
            return
        elif below is not value:
            self._made[key] = self.value(below, names)
        elif isinstance(value, functools.partial):
            first, named = self.value(value.args, names), self.value(value.keywords, names)
            self._made[key] = BoundFunction(self.value(value.func, names), first, named)
        elif isinstance(value, MethodType):
            function = self.value(value.__func__, names)
            self._made[key] = BoundFunction(
                function, (self.value(value.__self__, _attribute_names(function)),), {}
            )
        elif isinstance(value, (tuple, list, set, frozenset, dict)):
            self._snapshot_container(key, value, names)
        elif isinstance(value, np.ndarray):
            self._made[key] = value.copy()
        elif isinstance(value, BuiltinMethodType):
            if not isinstance(value.__self__, (ModuleType, type, type(None))):
                held = self.value(value.__self__, names)
                self._made[key] = value if isinstance(held, Attributes) else getattr(held, value.__name__)
        elif isinstance(value, type) or not any(hasattr(type(value), one) for one in PROTOCOLS):
            self._snapshot_object(key, value)
        else:
            self._made[key] = _deep_copy(value)

    def function(self, function: FunctionType) -> FunctionType:
        """The snapshot of a function, noted before those of its parts, which may refer to it."""
        if id(function) in self._made and is_snapshot(self._made[id(function)]):
            return self._made[id(function)]
        read, names = _read_by(function)
        scope: dict[str, Any] = {"__name__": function.__globals__.get("__name__")}
        cells = tuple([CellType() for _ in function.__closure__ or ()])
        made = FunctionType(function.__code__, scope, function.__name__, None, cells)
        self._alive.append(function)
        self._made[id(function)] = made
        setattr(made, ORIGIN, function)
        made.__module__, made.__qualname__ = function.__module__, function.__qualname__
        made.__doc__, made.__annotations__ = function.__doc__, dict(function.__annotations__)
        made.__defaults__ = self.value(function.__defaults__, names)
        made.__kwdefaults__ = self.value(function.__kwdefaults__, names)
        for cell, twin in zip(function.__closure__ or (), cells, strict=True):
            if _is_filled(cell):
                twin.cell_contents = self.value(cell.cell_contents, names)
        own = (
            _root_package(function.__module__) == OWN
        )  # its globals are constants, what it closes over is a user's
        for name in read & function.__globals__.keys():
            found = function.__globals__[name]
            scope[name] = found if own else self.value(found, names)
        return made

    def _snapshot_container(self, key: int, value: Any, names: frozenset[str]) -> None:
        if isinstance(value, (dict, list)):
            self._made[key] = made = _emptied_copy(value)
            if isinstance(value, dict):
                made.update({k: self.value(one, names) for k, one in value.items()})
            else:
                made.extend([self.value(one, names) for one in value])
            return
        parts = [self.value(one, names) for one in value]
        same = all(one is other for one, other in zip(parts, value, strict=True))
        fixed = isinstance(value, (tuple, frozenset))
        if not (same and fixed):
            of_names = getattr(type(value), "_make", None)
            self._made[key] = of_names(parts) if of_names else type(value).__new__(type(value), parts)

    def _snapshot_object(self, key: int, value: Any) -> None:
        made = self._made[key] = Attributes(value)
        call = getattr(type(value), "__call__", None)  # noqa: B004  (of its class, as Python calls it)
        if not isinstance(value, type) and isinstance(call, FunctionType):
            made.call = self.value(MethodType(call, value), frozenset())

    def _keep_attributes(self, made: Attributes, names: frozenset[str]) -> None:
        """Keep the attributes that a reader names, or all where it makes up names."""
        of, held = made.of, vars(made.of) if isinstance(made.of, ModuleType) else None
        if ALL_READ & names:
            names |= {name for name in dir(of) if held is None or isinstance(held.get(name), CONTENTS)}
        for name in sorted(names - made.kept.keys()):
            if name.startswith("__") or (held is not None and name not in held):
                continue
            try:
                found = getattr(of, name)
            except Exception:  # a property may raise anything; it has no value to keep
                continue
            made.kept[name] = None  # of an attribute that refers to its owner
            made.kept[name] = self.value(found, names)


def _attribute_names(function: Any) -> frozenset[str]:
    """The names of attributes that a function may read."""
    return _read_by(origin(function))[1] if isinstance(function, FunctionType) else frozenset()


def _read_by(function: FunctionType) -> tuple[frozenset[str], frozenset[str]]:
    """The names of variables and of attributes that a function may read."""
    try:
        return names_read(function)
    except TraceError:  # it has no source, and cannot be traced, either
        every = frozenset(function.__code__.co_names)
        return every, every


def _copy_constants(value: Any) -> Any:
    """A vector or matrix of constants of the engine as a copy; its types and functions as they are."""
    if isinstance(value, type) or hasattr(value, "__name__") or not hasattr(value, "to_list"):
        return value
    return type(value)(value.to_list())


def _has_changing_contents(value: Any) -> bool:
    """True for containers, arrays and methods, whose class is built in but whose contents change."""
    kinds = (list, dict, set, tuple, frozenset, np.ndarray, BuiltinMethodType)
    return isinstance(value, kinds) and not isinstance(getattr(value, "__self__", None), ModuleType)


def _emptied_copy(value: Any) -> Any:
    made = copy.copy(value)
    made.clear()
    return made


def _deep_copy(value: Any) -> Any:
    """A deep copy; of what cannot be copied the value itself, whose changes `kept_traces` refuses."""
    try:
        return copy.deepcopy(value)
    except Exception:  # whatever the object's own copying raises
        return value


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
