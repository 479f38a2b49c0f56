"""Digests of Python functions, kernels and classes: their source, and the values that it refers to.

A staged kernel, its `backward` and the methods of a stepper have no expression graph. Their digest follows
closures, global constants and functions of the same distribution, wrappers of decorators among them; the
engine, NumPy and the standard library count by name, and variables that a run may change do not count.

Decisions 0242.
"""

import hashlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from dis import get_instructions
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...symbolic.sources.snapshots import compiled_function
from .plugin_sources import code_alone

_BY_NAME = {
    "minusgrad",
    "taichi",
    "quadrants",
    "numpy",
    "scipy",
    "torch",
    "pydantic",
    *sys.stdlib_module_names,
}
_DEPTH = 12
_CHANGING = (dict, list, set, bytearray)
"""Types of variables that a run may change, such as a cache: their first contents stand in the source."""


def digest(value: Any) -> str:
    """SHA-256 (16 digits) of a value, a function or a class with all that it refers to."""
    found = hashlib.sha256()
    for part in _parts(value, {}, 0):
        found.update(part + b"\0")
    return found.hexdigest()[:16]


def _parts(value: Any, seen: dict[int, Any], depth: int) -> Iterator[bytes]:
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield f"{type(value).__name__} {value!r}".encode()
    elif isinstance(value, (np.ndarray, np.generic)):
        array = np.ascontiguousarray(value)
        yield f"array {array.dtype.str} {array.shape}".encode()
        yield hashlib.sha256(array.data if array.dtype != object else repr(array.tolist()).encode()).digest()
    elif id(value) in seen or depth > _DEPTH:
        yield b"again"
    else:
        seen[id(value)] = value  # kept alive, so that no other object takes its id
        yield from _contents(value, seen, depth + 1)


def _contents(value: Any, seen: dict[int, Any], depth: int) -> Iterator[bytes]:
    if isinstance(value, Mapping):
        yield b"mapping"
        for key, one in value.items():
            yield from _parts(key, seen, depth)
            yield from _parts(one, seen, depth)
    elif isinstance(value, Set):
        yield b"set"
        yield from sorted(b"".join(_parts(one, seen, depth)) for one in value)
    elif isinstance(value, (tuple, list, range)):
        yield type(value).__name__.encode()
        for one in value:
            yield from _parts(one, seen, depth)
    elif isinstance(value, ModuleType):
        yield f"module {value.__name__}".encode()
    elif isinstance(value, type):
        yield from _of_class(value, seen, depth)
    elif isinstance(function := _plain(value), FunctionType):
        yield from _of_function(function, seen, depth)
    else:
        yield f"of {type(value).__module__}.{type(value).__qualname__}".encode()
        if is_dataclass(value):
            yield from _parts({f.name: getattr(value, f.name) for f in fields(value)}, seen, depth)
        elif not _by_name(type(value).__module__):
            yield from _parts(dict(getattr(value, "__dict__", {})), seen, depth)


def _plain(value: Any) -> Any:
    """The Python function of a kernel, a method or a descriptor."""
    for name in ("__func__", "fget", "func"):
        value = getattr(value, name, value) if not isinstance(value, FunctionType) else value
    return compiled_function(value) if callable(value) else value


def _by_name(module: str | None) -> bool:
    return (module or "builtins").partition(".")[0] in _BY_NAME


def _of_class(kind: type, seen: dict[int, Any], depth: int) -> Iterator[bytes]:
    yield f"class {kind.__module__}.{kind.__qualname__}".encode() if _by_name(kind.__module__) else b"class"
    if not _by_name(kind.__module__):
        for name, one in sorted(vars(kind).items()):
            if not (name.startswith("__") and name.endswith("__")) or isinstance(one, FunctionType):
                if name in ("__doc__", "__module__") or name.startswith(("__pydantic", "_abc_")):
                    continue
                if isinstance(one, _CHANGING):
                    continue
                yield name.encode()
                yield from _parts(one, seen, depth)
        for base in kind.__bases__:
            yield from _parts(base, seen, depth)


def _of_function(function: FunctionType, seen: dict[int, Any], depth: int) -> Iterator[bytes]:
    if _by_name(function.__module__):
        yield f"function {function.__module__}.{function.__qualname__}".encode()
        return
    yield b"function"
    yield _source(function)
    yield from _parts((function.__defaults__, function.__kwdefaults__), seen, depth)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    known: dict[str, Any] = {name: cell.cell_contents for name, cell in cells if _filled(cell)}
    names, around = set(_names(function.__code__)), function.__globals__
    known |= {name: around[name] for name in sorted(names - _stored(around)) if name in around}
    known = {name: one for name, one in known.items() if not isinstance(one, _CHANGING)}
    for name, one in known.items():
        yield name.encode()
        yield from _parts(one, seen, depth)
        if isinstance(one, ModuleType) and not _by_name(one.__name__):  # constants.K
            members = {member: getattr(one, member) for member in sorted(names) if hasattr(one, member)}
            yield from _parts(members, seen, depth)


def _source(function: Callable) -> bytes:
    try:
        own = getattr(function, "__code__", function)  # of a wrapper, not of what it wraps
        return code_alone(textwrap.dedent(inspect.getsource(own)).encode())
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return b"" if code is None else code.co_code


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)


def _stored(around: Mapping[str, Any]) -> set[str]:
    """The global variables that a function of the module writes, such as a counter."""
    own = [one for one in list(around.values()) if isinstance(one, (FunctionType, type))]
    codes = [f.__code__ for f in own if isinstance(f, FunctionType)]
    for kind in (one for one in own if isinstance(one, type) and one.__module__ == around.get("__name__")):
        codes += [f.__code__ for f in vars(kind).values() if isinstance(f, FunctionType)]
    return {i.argval for code in codes for i in get_instructions(code) if i.opname == "STORE_GLOBAL"}


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
