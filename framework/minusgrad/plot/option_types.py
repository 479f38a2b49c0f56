"""Options of pictures, films and pages, as Python gives them: of what type each must be.

The command line has read them already; what a value means is judged where it is used.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

from ..errors import UserError


class _Type(NamedTuple):
    words: str
    example: str
    holds: Callable[[Any], bool]


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Any) -> bool:
    return not isinstance(value, str) and hasattr(value, "__iter__") and all(map(_is_text, value))


def _whole(example: str) -> _Type:
    return _Type("a whole number", example, _is_whole)


def _text(example: str) -> _Type:
    return _Type("a text", example, _is_text)


OPTIONS = {
    "step": _whole("200"),
    "most": _whole("10"),
    "every": _whole("2"),
    "dpi": _whole("300"),
    "port": _whole("8080"),
    "fps": _Type("a number", "25", _is_number),
    "max_mb": _Type("a number", "50", _is_number),
    "field": _text("'speed'"),
    "view": _text("'xy'"),
    "form": _text("'pdf'"),
    "width": _text("'8.5 cm'"),
    "font": _text("'serif'"),
    "host": _text("'127.0.0.1'"),
    "behind": _text("'https://hub.example.org/proxy'"),
    "bodies": _Type("a list of names", "['sun']", _is_list_of_texts),
    "dark": _Type("True or False", "True", lambda value: isinstance(value, bool)),
}
"""By name; None is the default of those that have none."""


def check_types(of: str, **options: Any) -> None:
    """Raise `UserError` for the first option of another type, with what to write; `of` is "plot", say."""
    for name, value in options.items():
        wanted = OPTIONS[name]
        if value is not None and not wanted.holds(value):
            raise UserError(
                f"{of}: {name}: needs {wanted.words}, got {value!r}; write {name}={wanted.example}"
            )
