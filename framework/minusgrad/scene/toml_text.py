"""TOML text of plain tables: the inverse of `parsing.parse`, by which scenes come from dictionaries.

    text({"stepper": {"kind": "leapfrog", "dt": 0.01}, "energy": [{"kind": "gravity", "G": 1.0}]})

Numbers are written so that reading them gives the same bits. Lists of tables keep their order; neighbours in
`order` may be mixed, as maps and slopes are.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError

_BARE = re.compile("[A-Za-z0-9_-]+")


def text(data: Mapping[str, Any], order: Sequence[str] = ()) -> str:
    """The text of a scene: numbers and texts first, then a table or a list of tables for each section.

    order: the names of sections whose lists are written as one list of (section, table), which `data` has
    under the first of them. Entries that are None are left out. Raises `UserError` for values that TOML does
    not have.
    """
    plain = {k: v for k, v in data.items() if v is not None}
    tables = {k: v for k, v in plain.items() if isinstance(v, Mapping) or _is_list_of_tables(v)}
    lines = [f"{key(k)} = {value(k, v)}" for k, v in plain.items() if k not in tables]
    for name, table in tables.items():
        for one, header in _table_parts(name, table, order):
            lines += ["", header, *_table_entries(name, one)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_list_of_tables(found: Any) -> bool:
    """True for a list of tables, which has an entry of its own for each."""
    return isinstance(found, (list, tuple)) and bool(found) and all(_is_part(one) for one in found)


def _is_part(one: Any) -> bool:
    return isinstance(one, Mapping) or (
        isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Mapping) and isinstance(one[0], str)
    )


def _table_parts(name: str, table: Any, order: Sequence[str]) -> Iterator[tuple[Mapping[str, Any], str]]:
    if isinstance(table, Mapping):
        yield table, f"[{key(name)}]"
        return
    for one in table:
        section, found = one if isinstance(one, tuple) else (name, one)
        assert section == name or section in order, section
        yield found, f"[[{key(section)}]]"


def _table_entries(name: str, table: Mapping[str, Any]) -> list[str]:
    return [f"{key(k)} = {value(f'{name}.{k}', v)}" for k, v in table.items() if v is not None]


def key(name: Any) -> str:
    """A key, in quotes where it needs them."""
    return str(name) if _BARE.fullmatch(str(name)) else json.dumps(str(name))


def value(name: str, given: Any) -> str:
    """A value as TOML writes it; NumPy's numbers and arrays as numbers and lists.

    name: what a message calls it. Raises `UserError` for values that TOML does not have.
    """
    given = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(given, Mapping):
        inside = (f"{key(k)} = {value(name, v)}" for k, v in given.items() if v is not None)
        return "{ " + ", ".join(inside) + " }" if given else "{}"
    if isinstance(given, (list, tuple)):
        return "[" + ", ".join(value(name, v) for v in given) + "]"
    if isinstance(given, (str, Path)):
        return json.dumps(str(given), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(given, bool):
        return repr(given).lower()
    if isinstance(given, (int, float)):
        return repr(given)
    raise UserError(f"{name}: a scene has no value of type {type(given).__name__}; give a number or a text")
