"""Scenes written from tables of Python."""

import json
from collections.abc import Mapping
from typing import Any


def toml_text(scene: Mapping[str, Any]) -> str:
    """A scene as TOML: numbers and texts first, then tables, and lists of tables as [[blocks]]."""
    plain = {key: value for key, value in scene.items() if not _is_table(value)}
    lines = [f"{key} = {_as_value(value)}" for key, value in plain.items()]
    for key, value in scene.items():
        if key in plain:
            continue
        for table in value if isinstance(value, list) else [value]:
            lines.append(f"[[{key}]]" if isinstance(value, list) else f"[{key}]")
            lines += [f"{name} = {_as_value(one)}" for name, one in table.items()]
    return "\n".join([*lines, ""])


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and any(isinstance(v, Mapping) for v in value)
    )


def _as_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_as_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_value, value))}]"
    return json.dumps(value)
