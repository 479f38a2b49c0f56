"""Captured values of a function: its code, and the globals and closure variables that it reads, recursively.

Functions with equal captured values have equal graphs. Values are compared by their contents, in snapshots,
which do not change: of one snapshot they are found once.

Decisions 0030, 0253.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from types import BuiltinMethodType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from .snapshots import CONSTANT_MODULES, OWN_FUNCTIONS, PLAIN, Attributes, BoundFunction, is_engines, snapshot

Derive = TypeVar("Derive", bound=Callable)
LARGEST = 1 << 16
"""Numbers of an array that are compared."""
KNOWN = "__minusgrad_captured__"
"""The attribute of a snapshot with its captured values."""


def captured_values(*functions: Callable) -> Hashable | None:
    """Equal for functions that have equal graphs; None if they read something that may change unnoticed.

    Such are objects that cannot be copied, and large arrays, which are not compared.
    """
    found = [_captured_values(snapshot(one)) for one in functions]
    return None if None in found else tuple(found)


def kept_by_values(derive: Derive) -> Derive:
    """Decorator: keep what is derived from an energy, for the values that its function reads at a call."""
    kept: dict[Hashable, Any] = {}

    @wraps(derive)
    def derived(energy: Any, *more: Any) -> Any:
        frozen = energy.frozen()
        values = captured_values(frozen.function)
        key = energy, values, *more
        if values is None or key not in kept:
            made = derive(frozen, *more)
            if values is None:
                return made
            kept[key] = made
        return kept[key]

    return derived  # type: ignore[return-value]


class _UnknownError(Exception):
    """A value that may change without a trace."""


def _captured_values(frozen: Any) -> Hashable | None:
    """The captured values of a snapshot, which are found once."""
    if not hasattr(frozen, KNOWN):
        try:
            setattr(frozen, KNOWN, _of_value(frozen, ()))
        except _UnknownError:
            setattr(frozen, KNOWN, None)
    return getattr(frozen, KNOWN)


def _of_function(function: FunctionType, around: tuple[Any, ...]) -> Hashable:
    if function in around:
        return "recursion", around.index(function)
    around = (*around, function)
    defaults = _of_value(function.__defaults__, around), _of_value(function.__kwdefaults__, around)
    annotations = tuple([(name, str(kind)) for name, kind in function.__annotations__.items()])
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # of a cell that is empty
        raise _UnknownError from None
    read = [*zip(function.__code__.co_freevars, cells, strict=True), *sorted(function.__globals__.items())]
    named = tuple([(name, _of_value(one, around)) for name, one in read if not name.startswith("__")])
    return function.__code__, defaults, annotations, named


def _of_value(value: Any, around: tuple[Any, ...]) -> Hashable:
    if isinstance(value, PLAIN):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple([_of_value(one, around) for one in value])
    if isinstance(value, dict):
        return dict, tuple([(repr(key), _of_value(one, around)) for key, one in value.items()])
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.size <= LARGEST:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Attributes):
        return _of_attributes(value, around)
    if isinstance(value, BoundFunction):
        return BoundFunction, *(
            _of_value(part, around) for part in (value.function, value.first, value.named)
        )
    if isinstance(value, BuiltinMethodType) and not isinstance(value.__self__, ModuleType):
        return value.__name__, _of_value(value.__self__, around)
    if isinstance(value, ModuleType):
        return ModuleType, value.__name__  # one that does not change
    if is_engines(value):
        return _of_engine(value)
    home = getattr(value, "__module__", None) or type(value).__module__
    if home in OWN_FUNCTIONS or home.split(".")[0] in CONSTANT_MODULES:
        return home, getattr(value, "__name__", None) or _raise_unknown()
    return _of_function(value, around) if isinstance(value, FunctionType) else _raise_unknown()


def _of_attributes(value: Attributes, around: tuple[Any, ...]) -> Hashable:
    if value in around:
        return "recursion", around.index(value)
    if not value.whole:
        _raise_unknown()
    around = (*around, value)
    kept = tuple([(name, _of_value(one, around)) for name, one in sorted(value.kept.items())])
    own = value.of if isinstance(value.of, type) else type(value.of)
    return Attributes, own, kept, None if value.call is own else _of_value(value.call, around)


def _raise_unknown() -> Any:
    raise _UnknownError


def _of_engine(value: Any) -> Hashable:
    """A type or a function of the engine is itself; a vector or matrix of constants is its numbers."""
    if isinstance(value, type) or hasattr(value, "__name__"):
        return value
    if hasattr(value, "to_list"):
        return repr(value.to_list())
    return (type(value), value.n, value.m, value.ndim, str(value.dtype)) if hasattr(value, "ndim") else value
