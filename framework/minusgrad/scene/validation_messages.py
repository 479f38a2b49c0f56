"""Validation errors of pydantic as sentences, each with its key path.

    int_type at ("run", "steps") for 'abc'   ->   needs a whole number of at least 0, not 'abc'

The findings of a union at one key become one sentence ("needs a whole number or text in quotes, not 1.5").
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import choices, printable, suggestion
from .toml_positions import KeyPath

_NEEDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}
_BOUNDS = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}
_BOUND_TYPES = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


@dataclass(frozen=True)
class Mistake:
    """One mistake; `at_key` if the key itself is wrong rather than its value."""

    path: KeyPath
    message: str
    at_key: bool = False


def mistakes(model: type[BaseModel], data: Any, error: ValidationError) -> list[Mistake]:
    """All mistakes that `model` finds in `data` (plain TOML data), one for each place."""
    found: dict[KeyPath, list[Any]] = {}
    for finding in error.errors(include_url=False):
        if _echoes_other_finding(finding):
            continue
        found.setdefault(_key_path(data, finding), []).append(finding)
    listed = [_mistake_of_findings(path, findings, model) for path, findings in found.items()]
    missing = [path for path, (first, *_) in found.items() if first["type"] == "missing"]
    meant = {path: list(_likely_misspellings(path, model, data)) for path in missing}
    listed = [mistake for mistake in listed if not meant.get(mistake.path)]  # told at the misspelt key alone
    return listed + [m for of in meant.values() for m in of if m.path not in found]


def _echoes_other_finding(finding: Any) -> bool:
    """True if a list counts as too short only because its wrong elements, which have findings, do not."""
    return finding["type"] == "too_short" and len(finding["input"]) >= finding["ctx"]["min_length"]


def value_in_messages(value: object) -> str:
    """A value for messages: 'abc', 1.5, true, a list, a table."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a table"
    return printable(f"'{value}'" if isinstance(value, str) else str(value), 60)


def _key_path(data: Any, finding: Any) -> KeyPath:
    """The key path of a finding, without the names of union arms that pydantic adds."""
    path: KeyPath = ()
    for part in finding["loc"]:
        inside = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        if part in inside:
            path, data = (*path, part), data[part]
    return (*path, finding["loc"][-1]) if finding["type"] == "missing" else path


def _likely_misspellings(path: KeyPath, model: type[BaseModel], data: Any) -> Iterator[Mistake]:
    """Keys that may be misspellings of the missing one: a table without its `kind` may have any other key."""
    *above, missing = path
    for part in above:
        data = data[part]
    for key in data if isinstance(data, dict) else ():
        if key not in keys_at(model, path[:-1]) and suggestion(key, [str(missing)]):
            yield Mistake((*above, key), no_key(key, [str(missing)]), at_key=True)


def _mistake_of_findings(path: KeyPath, findings: list[Any], model: type[BaseModel]) -> Mistake:
    fields = keys_at(model, path[:-1])
    if all(f["type"] == "extra_forbidden" for f in findings):
        return Mistake(path, no_key(str(path[-1]), sorted(fields, key=str.lower)), at_key=True)
    field = fields.get(str(path[-1])) if path else None
    needs = [need for f in findings if (need := _needed_kind(f, field))]
    others = [
        _finding_text(f) for f in findings if not _needed_kind(f, field) and f["type"] != "extra_forbidden"
    ]
    if not needs:
        return Mistake(path, "; ".join(dict.fromkeys(others)))
    value, needed = findings[0]["input"], " or ".join(dict.fromkeys(needs))
    hint = _hint(value, needed)
    return Mistake(
        path, "; ".join([f"needs {needed}, not {value_in_messages(value)}{hint}", *dict.fromkeys(others)])
    )


def _hint(value: Any, needed: str) -> str:
    """What is probably meant by a value of the wrong kind, for the end of a message."""
    if isinstance(value, str):
        return suggestion(value, re.findall("'(.*?)'", needed))
    if isinstance(value, float) and value >= 0.0 and value.is_integer() and "a whole number" in needed:
        return f"; write {int(value)}"
    return ""


def no_key(key: str, known: list[str]) -> str:
    """`no key 'softning'; did you mean 'softening'? (keys: G, softening)`."""
    return f"no key '{printable(key)}'{choices(key, known, 'keys')}"


def _needed_kind(finding: Any, field: FieldInfo | None) -> str:
    """The required kind of value, as in `needs ...`; empty for findings of another kind."""
    kind, facts = finding["type"], finding.get("ctx", {})
    if kind in ("literal_error", "enum"):
        return str(facts["expected"])
    if kind in ("int_type", "float_type", *_BOUND_TYPES):
        whole = kind == "int_type" or (field is not None and field.annotation is int)
        bounds = " and ".join(f"{word} {bound:g}" for word, bound in _bounds_text(field, facts))
        return " ".join(filter(None, ("a whole number" if whole else "a number", bounds)))
    return _NEEDS.get(kind, "")


def _bounds_text(field: FieldInfo | None, facts: dict[str, Any]) -> Iterator[tuple[str, float]]:
    declared = {
        name: getattr(m, name)
        for m in (field.metadata if field else [])
        for name in _BOUNDS
        if hasattr(m, name)
    }
    for name, bound in (declared or facts).items():
        if name in _BOUNDS:
            yield _BOUNDS[name], bound


def _finding_text(finding: Any) -> str:
    """The message of a finding that is not about the kind of value."""
    kind, facts = finding["type"], finding.get("ctx", {})
    if kind == "missing":
        return "required, but missing"
    if kind in ("too_short", "too_long"):
        bound = "at least" if kind == "too_short" else "at most"
        number = facts["min_length" if kind == "too_short" else "max_length"]
        return f"needs {bound} {number} element{'s' * (number != 1)}, not {facts['actual_length']}"
    if kind in ("value_error", "assertion_error"):
        return str(facts["error"])
    return str(finding["msg"])


def keys_at(model: type[BaseModel], path: KeyPath) -> dict[str, FieldInfo]:
    """The keys that the table at `path` may have, over all arms of a union."""
    models = [model]
    for part in path:
        inner = [
            m
            for one in models
            if part in (keys := _keys_by_name(one))
            for m in _models_within(keys[str(part)].annotation)
        ]
        models = inner or models
    return {key: field for one in models for key, field in _keys_by_name(one).items()}


def _keys_by_name(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models_within(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_within(part)]
