"""Python errors in an energy, explained: the name that is wrong, and what to write instead.

A message has the form `<object>: <what is wrong>, got <value>; <cure>`. A message without a cure is given
`CURE`.
"""

import builtins
import linecache
import re
from types import FrameType
from typing import Any

from ..errors import suggestion
from .operations import OPERATIONS
from .scalar import UNREADABLE

CURE = "write it with static loops, `if` and ti.select, or as staged kernels"
OPERATORS = {
    "~": "~: works on bits, got a value of the kernel; the opposite of a comparison is `not`",
    "^": "^: works on bits, got a value of the kernel; a power is **, and of two comparisons one is"
    " `(a and not b) or (b and not a)`",
    "<<": "<<: works on bits, got a value of the kernel; write a * 2**n",
    ">>": ">>: works on bits, got a value of the kernel; write a // 2**n",
}
"""Messages for operators that work on bits."""


def with_cure(message: str) -> str:
    """The message, with the general cure unless it has one of its own."""
    return message if "; " in message else f"{message}; {CURE}"


def explanation(error: Exception, frame: FrameType, line: int) -> str:
    """The message for an error that was raised at a line of an energy."""
    source = linecache.getline(frame.f_code.co_filename, line)
    found = (
        _of_name(error, frame)
        or _of_list(error, frame, source)
        or _of_foreign_function(error, frame, source)
        or _of_operator(error)
    )
    return with_cure(found or str(error))


def _of_name(error: Exception, frame: FrameType) -> str | None:
    if isinstance(error, UnboundLocalError):
        name = re.findall(r"'(\w+)'", str(error))[0]
        return f"'{name}': has no value on this path through the energy; give it one before the `if`"
    if isinstance(error, NameError):
        known = {*frame.f_locals, *frame.f_globals, *dir(builtins)}
        near = suggestion(error.name or "", sorted(n for n in known if not n.startswith("__")))
        return f"'{error.name}': is not defined{near or '; define it, or make it an argument of the energy'}"
    return None


def _of_list(error: Exception, frame: FrameType, source: str) -> str | None:
    """A list of nodes that is used like one of them."""
    lists = {name: value for name, value in frame.f_locals.items() if isinstance(value, (list, tuple))}
    if isinstance(error, AttributeError):
        named = [name for name, value in lists.items() if value is error.obj]
    elif isinstance(error, TypeError) and re.search("'(list|tuple)'|non-int of type", str(error)):
        named = [name for name in re.findall(r"\b([a-zA-Z_]\w*)\b(?!\s*[\[(.])", source) if name in lists]
    else:
        return None
    if not named:
        return None
    name, several = named[0], len(lists[named[0]]) > 1
    arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    kind = "the list of the element's nodes" if name in arguments else "a list"
    return f"{name}: is {kind}, got no index; write {name}[0]{f', {name}[1]' * several}"


def _of_foreign_function(error: Exception, frame: FrameType, source: str) -> str | None:
    """A function of math or NumPy that is called with a value of the kernel."""
    if UNREADABLE not in str(error) and "__array_ufunc__" not in str(error):
        return None
    for called in re.findall(r"([a-zA-Z_][\w.]*)\(", source):
        first, *rest = called.split(".")
        value: Any = frame.f_globals.get(first)
        for part in rest:
            value = getattr(value, part, None)
        home = getattr(value, "__module__", None) or type(value).__module__
        if home.split(".")[0] in ("math", "numpy"):
            names = [row.name for row in OPERATIONS.values() if value in (row.numpy, row.python)]
            named = [f"write ti.{name}" for name in names if OPERATIONS[name].function]
            return f"{called}: cannot take a value of the kernel; {(*named, 'use the functions of ti')[0]}"
    return None


def _of_operator(error: Exception) -> str | None:
    symbol = re.search(r"(?:operand type\(s\) for|operand type for unary) ([^:]+): ", str(error))
    if symbol and symbol[1] in OPERATORS:
        return OPERATORS[symbol[1]]
    if "'complex'" in str(error):
        return "**: a negative number to a broken power is complex; keep the base positive"
    if "__round__" in str(error):
        return "round: Python's cannot be compiled; write ti.round"
    return None
