"""The kinds of facts in JSON that a stranger may have written: those that our own code relies upon.

A journal and the `meta` of a checkpoint hold what minusgrad wrote, or what anybody did. A fact of another
kind is refused where it is read, by its name, and is no error of the code that uses it.

Decisions 0091.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...errors import printable

LARGEST = 1 << 62


class Kind(NamedTuple):
    """words: what a fact must be."""

    words: str
    holds: Callable[[Any], bool]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _list_kind(kind: Kind) -> Kind:
    return Kind(f"a list of {kind.words}", lambda v: isinstance(v, list) and all(map(kind.holds, v)))


def _table_kind(kind: Kind) -> Kind:
    return Kind(f"a table of {kind.words}", lambda v: _is_table(v) and all(map(kind.holds, v.values())))


WHOLE = Kind("a whole number", _is_whole)
TABLE = Kind("a table", _is_table)
TEXTS = _list_kind(Kind("texts", _is_text))
NAMED_TEXTS, NAMED_TABLES = _table_kind(Kind("texts", _is_text)), _table_kind(Kind("tables", _is_table))


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(map(_is_whole, value))
        and 0 <= value[0] <= value[1]
    )


RANGE = Kind("ranges [first, last + 1]", _is_range)
RANGES = _table_kind(_list_kind(RANGE))
OF_EVENTS = {"step": WHOLE}
OF_CHECKPOINTS = {
    "sealed": WHOLE,
    "interim": Kind("a list", lambda value: isinstance(value, list)),
    "title": Kind("a text", _is_text),
    "names": TEXTS,
    "atoms": TABLE,
    "bodies": RANGES,
    "sides": NAMED_TEXTS,
    "labels": NAMED_TEXTS,
    "moving": TEXTS,
    "files": NAMED_TEXTS,
    "versions": TABLE,
    "plugins": NAMED_TABLES,
    "ensemble": TABLE,
    **{f"ensemble.{name}": WHOLE for name in ("member", "members", "nodes")},
    "ensemble.numbers": _list_kind(RANGE),
    "ensemble.names": TEXTS,
    "ensemble.bodies": RANGES,
    "surroundings": TABLE,
    "initial": TABLE,
    "fitted": _list_kind(Kind("tables", _is_table)),
    "scene": TABLE,
    **{f"scene.{name}": TABLE for name in ("units", "run", "fit", "checkpoint", "ensemble", "runtime")},
    "scene.checkpoint.keep": WHOLE,
}
"""By name; a dot leads into a table. A fact that is missing is another matter."""


def wrong(facts: Mapping[str, Any], kinds: Mapping[str, Kind]) -> str:
    """What is wrong with the first fact of another kind; empty if none is."""
    for name, kind in kinds.items():
        *way, last = name.split(".")
        table: Any = facts
        for one in way:
            table = table.get(one, {})
        if last in table and not kind.holds(table[last]):
            shown = printable(json.dumps(table[last])[:60], 60)
            return f"'{name}' must be {kind.words}, got {shown}"
    return ""
