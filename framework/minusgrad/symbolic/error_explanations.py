"""Python errors in an energy, explained: the name that is wrong, and what to write instead.

A message has the form `<object>: <what is wrong>, got <value>; <cure>`. A message without a cure is given
`CURE`.
"""

import linecache
import re
from types import FrameType
from typing import Any

from ..errors import suggestion
from .operations import OPERATIONS
from .scalar import UNREADABLE, Scalar

FUNCTIONS = ("abs", "float", "int", "len", "max", "min", "pow", "range", "sum", "zip", "enumerate")
"""Functions of Python that energies call."""
CURE = "write it with static loops, `if` and ti.select, or as staged kernels"
OPERATORS = {
    "~": "~: works on bits, got a value of the kernel; the opposite of a comparison is `not`",
    "^": "^: works on bits, got a value of the kernel; a power is **, and of two comparisons one is"
    " `(a and not b) or (b and not a)`",
    "<<": "<<: works on bits, got a value of the kernel; write a * 2**n",
    ">>": ">>: works on bits, got a value of the kernel; write a // 2**n",
}
"""Messages for operators that work on bits."""
INSTEAD = {
    "arctan": "ti.atan2(a, 1.0)",
    "array": "ti.Vector([a, b])",
    "clip": "ti.math.clamp(a, low, high)",
    "cosh": "0.5 * (ti.exp(a) + ti.exp(-a))",
    "expm1": "ti.exp(a) - 1.0",
    "hypot": "ti.sqrt(a * a + b * b)",
    "linalg.norm": "v.norm()",
    "log10": "ti.log(a) / ti.log(10.0)",
    "log1p": "ti.log(1.0 + a)",
    "maximum": "ti.max(a, b)",
    "minimum": "ti.min(a, b)",
    "power": "a ** b",
    "sign": "ti.math.sign(a)",
    "special.erf": "ti.erf(a)",
    "sinh": "0.5 * (ti.exp(a) - ti.exp(-a))",
    "square": "a * a",
    "sum": "v.sum()",
    "where": "ti.select(condition, a, b)",
} | {"atan": "ti.atan2(a, 1.0)", "fabs": "ti.abs(a)", "pow": "a ** b"}
"""Replacements for functions of NumPy, and of math, that have no namesake in `ti`."""
CALLED_BY_NUMPY = re.compile("unexpected keyword argument '(axis|out|dtype|keepdims)'")
USED_AS_ONE = re.compile("'(list|tuple|_NodesOfSet)'|non-int of type|operands: must have one shape")
"""Messages of errors that a list may cause which is used like one of its entries."""


def with_cure(message: str) -> str:
    """The message, with the general cure unless it has one of its own."""
    return message if "; " in message else f"{message}; {CURE}"


def explanation(error: Exception, frame: FrameType, line: int) -> str:
    """The message for an error that was raised at a line of an energy."""
    source = linecache.getline(frame.f_code.co_filename, line)
    found = (
        _of_name(error, frame)
        or _of_index(error, frame, source)
        or _of_list(error, frame, source)
        or _of_foreign_function(error, frame, source)
        or _of_operator(error)
        or _of_recursion(error)
    )
    return with_cure(found or str(error))


def _of_name(error: Exception, frame: FrameType) -> str | None:
    if isinstance(error, UnboundLocalError):
        name = re.findall(r"'(\w+)'", str(error))[0]
        return f"'{name}': has no value on this path through the energy; give it one before the `if`"
    if isinstance(error, NameError):
        known = {*frame.f_locals, *frame.f_globals, *FUNCTIONS}
        near = suggestion(error.name or "", sorted(n for n in known if not n.startswith("__")))
        return f"'{error.name}': is not defined{near or '; define it, or make it an argument of the energy'}"
    return None


def _of_index(error: Exception, frame: FrameType, source: str) -> str | None:
    """An index of a number, or one beyond the end of a list."""
    named = [name for name in re.findall(r"\b([a-zA-Z_]\w*)\[", source) if name in frame.f_locals]
    if isinstance(error, IndexError) and "index out of range" in str(error):
        for name in named:
            if isinstance(values := frame.f_locals[name], (list, tuple)):
                what = "nodes" if name in _argument_names(frame) else "entries"
                last = f"{name}[0] to {name}[{len(values) - 1}]"
                return f"{name}: has {len(values)} {what}, got an index beyond them; they are {last}"
    elif "is not subscriptable" in str(error):
        for name in named:
            if isinstance(frame.f_locals[name], (Scalar, int, float)):
                return f"{name}: is one number, got an index; write {name}"
    return None


def _argument_names(frame: FrameType) -> tuple[str, ...]:
    return frame.f_code.co_varnames[: frame.f_code.co_argcount]


def _of_list(error: Exception, frame: FrameType, source: str) -> str | None:
    """A list of nodes that is used like one of them."""
    lists = {name: value for name, value in frame.f_locals.items() if _valid_indices(value)}
    if isinstance(error, AttributeError):
        named = [name for name, value in lists.items() if value is error.obj]
    elif isinstance(error, TypeError) and USED_AS_ONE.search(str(error)):
        named = [name for name in re.findall(r"\b([a-zA-Z_]\w*)\b(?!\s*[\[(.])", source) if name in lists]
    else:
        return None
    if not named:
        return None
    name = named[0]
    kind = "the list of the element's nodes" if name in _argument_names(frame) else "a list"
    return (
        f"{name}: is {kind}, got no index; write "
        f"{', '.join(f'{name}[{k}]' for k in _valid_indices(lists[name])[:2])}"
    )


def _valid_indices(value: Any) -> list[int]:
    """The indices of a list; those of an element's nodes that a field over one of several sets has."""
    return getattr(value, "own_slots", [*range(len(value))] if isinstance(value, (list, tuple)) else [])


def _of_foreign_function(error: Exception, frame: FrameType, source: str) -> str | None:
    """A function of math or NumPy that is called with a value of the kernel."""
    text = str(error)
    if UNREADABLE not in text and "__array_ufunc__" not in text and not CALLED_BY_NUMPY.search(text):
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
            named += [f"write {text}" for name, text in INSTEAD.items() if called.endswith(name)]
            cure = (*named, "use the functions of ti")[0]
            return f"{called}: cannot take a value of the kernel; {cure}{_engine_import(frame)}"
    return None


def _engine_import(frame: FrameType) -> str:
    """The line that a file without the name `ti` needs, in brackets."""
    lines = linecache.getlines(frame.f_code.co_filename)
    known = any(re.match(r"\s*(import|from)\b.*\bti\b", line) for line in lines)
    return "" if known else " (from minusgrad import ti)"


def _of_recursion(error: Exception) -> str | None:
    if isinstance(error, RecursionError):
        return "recursion: has no end, or is deeper than Python's stack; write a static loop"
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
