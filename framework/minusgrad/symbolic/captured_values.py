"""Captured values of a function: its code, and the globals and closure variables that it reads, recursively.

Functions with equal captured values have equal graphs: a constant that was changed, a function that was
defined again, and a module that was loaded again have other ones. Values are compared by their contents, at
every call, since a list or an array may have been written to.
"""

import inspect
from collections.abc import Callable, Hashable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..engine import runtime, special_functions
from ..errors import TraceError
from .elimination import functions as elimination
from .rewriting import visible

CONSTANT_MODULES = ("math", "numpy")
"""Modules beside the engine's whose contents do not change."""
PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)
LARGEST = 1 << 16
"""Numbers of an array that are compared at every call."""


def captured_values(*functions: Callable) -> Hashable | None:
    """Equal for functions that have equal graphs; None if they read something that may change unnoticed.

    Such are attributes of modules and objects.
    """
    try:
        return tuple([_of_function(inspect.unwrap(one), ()) for one in functions])
    except (_UnknownError, TraceError, ValueError):  # of a cell that is empty
        return None


class _UnknownError(Exception):
    """A value that may change without a trace."""


def _of_function(function: Any, around: tuple[Any, ...]) -> Hashable:
    if function in around:
        return "recursion", around.index(function)
    around = (*around, function)
    defaults = _of_value(function.__defaults__, around), _of_value(function.__kwdefaults__, around)
    annotations = tuple([(name, str(kind)) for name, kind in function.__annotations__.items()])
    code = function.__code__
    named = {name: value for name, value in visible(function).items() if name not in code.co_varnames}
    read = tuple([(name, _of_value(value, around)) for name, value in sorted(named.items())])
    return code, defaults, annotations, read


def _of_value(value: Any, around: tuple[Any, ...]) -> Hashable:
    if isinstance(value, PLAIN):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple([_of_value(one, around) for one in value])
    if isinstance(value, dict):
        return dict, tuple([(repr(key), _of_value(one, around)) for key, one in value.items()])
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.size <= LARGEST:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, ModuleType):
        return _of_module(value)
    home = getattr(value, "__module__", None) or type(value).__module__
    if home.split(".")[0] in runtime.PREFIXES:
        return _of_engine(value)
    if home in (special_functions.__name__, elimination.__name__):
        return value.__name__
    function = inspect.unwrap(value) if callable(value) else None
    if isinstance(function, FunctionType):
        return _of_function(function, around)
    raise _UnknownError


def _of_module(module: ModuleType) -> Hashable:
    name = module.__name__
    if name.split(".")[0] not in (*CONSTANT_MODULES, *runtime.PREFIXES):
        raise _UnknownError
    return ModuleType, name


def _of_engine(value: Any) -> Hashable:
    """A type or a function of the engine is itself; a vector or matrix of constants is its numbers."""
    if isinstance(value, type) or hasattr(value, "__name__"):
        return value
    if hasattr(value, "to_list"):
        return repr(value.to_list())
    return (type(value), value.n, value.m, value.ndim, str(value.dtype)) if hasattr(value, "ndim") else value
