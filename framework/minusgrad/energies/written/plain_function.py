"""Callables of any kind as plain functions with named arguments: the form in which energies keep them.

    @local_energy("trap", ...)          def f(x, k):
    @scaled                      ->         return given(x, k)
    def f(x, k): ...

A decorated function keeps what its decorators do: they are traced as what they call. The engine's decorators
and `functools.lru_cache` alone are left out, since they change no value.

Decisions 0031.
"""

import inspect
from collections.abc import Callable
from functools import partial
from inspect import Parameter
from types import FunctionType, MethodType
from typing import Any

from ...errors import EnergyError
from ...symbolic.sources.snapshots import compiled_function
from .function import function_from_source

SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def plain_function(given: Callable, what: str) -> FunctionType:
    """The function itself, or one that calls a decorated or partial function, a method or an object.

    what: of whom messages are about. Raises `EnergyError` for what has no known arguments.
    """
    given = compiled_function(given)
    if isinstance(given, FunctionType) and not hasattr(given, "__wrapped__"):
        return given
    arguments = _given_arguments(given, what)
    passed = [f"{name}={name}" if by_name else name for name, by_name in arguments.items()]
    name = _caller_name(given)
    source = f"def {name}({', '.join(arguments)}):\n    return given({', '.join(passed)})\n"
    function = function_from_source(name, source, {"given": given})
    function.__doc__, function.__module__ = given.__doc__, getattr(given, "__module__", __name__)
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    function.__wrapped__ = given  # type: ignore[attr-defined]
    return function


def _given_arguments(given: Any, what: str) -> dict[str, bool]:
    """The arguments by name, and which are given by name: a decorator's *args are those of what it wraps."""
    given = compiled_function(given)
    if isinstance(given, MethodType):
        return dict([*_given_arguments(given.__func__, what).items()][1:])
    if isinstance(given, partial):
        return _left_of(given, _given_arguments(given.func, what))
    try:
        own = inspect.signature(given, follow_wrapped=False).parameters
    except (TypeError, ValueError):
        raise EnergyError(
            f"{what}: needs a function of its arguments, got {given!r}; write one with `def`"
        ) from None
    if hasattr(given, "__wrapped__") and any(one.kind in SEVERAL for one in own.values()):
        positional = any(one.kind is Parameter.VAR_POSITIONAL for one in own.values())
        inner = _given_arguments(given.__wrapped__, what)
        return {name: by_name or not (positional or name in own) for name, by_name in inner.items()}
    return {n: one.kind is Parameter.KEYWORD_ONLY for n, one in own.items() if one.kind not in SEVERAL}


def _left_of(given: partial, inner: dict[str, bool]) -> dict[str, bool]:
    """The arguments that a partial function leaves: those behind one that it names are given by name."""
    left, names = [*inner.items()][len(given.args) :], [*inner]
    first = min((names.index(name) for name in given.keywords if name in names), default=len(names))
    return {n: by_name or names.index(n) > first for n, by_name in left if n not in given.keywords}


def _caller_name(given: Any) -> str:
    """A name for the function that calls another, for messages."""
    inner = inspect.unwrap(getattr(given, "func", given))
    name = getattr(inner, "__name__", type(inner).__name__)
    return name if name.isidentifier() and name != "given" else "function"
