"""JSON of files that a stranger may have written: as deep as such a file may be, and no deeper.

Decisions 0091.
"""

import json
from typing import Any

DEEPEST = 100
"""Lists and objects in one another; those of our own files have about ten."""
_TOO_DEEP = f"nested deeper than {DEEPEST} lists and objects"


class TooDeepError(ValueError):
    """A text nested deeper than `DEEPEST`."""


def parse_json(data: bytes | str) -> Any:
    """The value of a JSON text. Raises ValueError where it is none, TooDeepError where it is too deep."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise TooDeepError(_TOO_DEEP) from None
    marks = (b"[", b"{") if isinstance(data, bytes) else ("[", "{")
    if sum(map(data.count, marks)) > DEEPEST and _nesting_depth(value) > DEEPEST:  # type: ignore[arg-type]
        raise TooDeepError(_TOO_DEEP)
    return value


def _nesting_depth(value: Any) -> int:
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, list | dict)]:
        depth += 1
        level = [part for one in level for part in (one.values() if isinstance(one, dict) else one)]
    return depth
