"""`kinds`: everything that a block of a scene can be, and the keys of one kind with types and defaults."""

from __future__ import annotations

import argparse

from ...errors import UserError, unknown
from .shared_options import common_options, print_json, warn_of_broken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_TYPES = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false"}


def kinds_options(parser: argparse.ArgumentParser) -> None:
    text = "a kind, such as network or leapfrog (default: list all)"
    parser.add_argument("kind", nargs="?", metavar="NAME", help=text)
    common_options(parser)


def kinds(a: argparse.Namespace) -> int:
    from ...assembly.registry import Registry
    from ..tables import print_table

    registry = Registry.load(None, a.plugin)
    entries = [(s, k, e) for s, table in registry.tables.items() for k, e in table.items()]
    chosen = [one for one in entries if a.kind in (None, one[1])]
    if not chosen:
        raise UserError(f"{unknown('kind', a.kind, dict.fromkeys(k for _, k, _ in entries), 'installed')}")
    found: list[dict[str, Any]] = [
        {"section": s, "kind": k, "plugin": e.owner.name, "description": _first_line(e.model), "keys": keys}
        for s, k, e in chosen
        for keys in [[*_keys(e.model)] if a.kind else []]
    ]
    if a.json:
        print_json(found if a.kind else [{n: v for n, v in one.items() if n != "keys"} for one in found])
    elif a.kind is None:
        head = ("section", "kind", "plugin", "description")
        print_table(head, [tuple(str(one[name]) for name in head) for one in found])
    else:
        for one in found:
            print(f"{one['section']} '{one['kind']}' of plugin '{one['plugin']}': {one['description']}")
            print_table(("key", "value", "default"), [tuple(key.values()) for key in one["keys"]])
    return warn_of_broken(registry)


def _first_line(model: Any) -> str:
    return next(iter((model.__doc__ or "").strip().splitlines()), "")


def _keys(model: Any) -> Iterator[dict[str, str]]:
    """Name, type and default of each key, as texts."""
    import json

    whole = model.model_json_schema()
    for name, key in whole.get("properties", {}).items():
        default = "required" if name in whole.get("required", ()) else json.dumps(key.get("default"))
        yield {"name": name, "value": _value(key), "default": default.replace("null", "")}


def _value(key: dict[str, Any]) -> str:
    """The values that a key may have, from its schema."""
    if key.get("description", "").startswith("a number, or a quantity"):
        return key["description"]
    if some := key.get("anyOf") or key.get("oneOf"):
        return ", or ".join(dict.fromkeys(_value(one) for one in some if one.get("type") != "null"))
    if "enum" in key or "const" in key:
        return " or ".join(f'"{value}"' for value in key.get("enum", [key.get("const")]))
    if key.get("type") == "array":
        return f"a list of: {_value(key['items'])}" if key.get("items") else "a list"
    if isinstance(key.get("additionalProperties"), dict):
        return f"a table of: {_value(key['additionalProperties'])}"
    return _TYPES.get(key.get("type", ""), "a table")
