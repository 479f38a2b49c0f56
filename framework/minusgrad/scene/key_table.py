"""Tables of the keys of a record: values, unit, default and meaning of each, those of nested tables included.

    rows(Disc)  ->  [Key("radius", "quantity", "m", "required", "Radius of the disc."), ...]

Values are written as in TOML: `[quantity, ...]` is a list, `{ NAME = text }` a table with names of the
scene's own. A quantity is a number in the units of the scene, or a text with a unit, "5 km".

A key of a nested table has a name with a dot, `rotation.centre`; of one that a scene gives a name,
`parameters.NAME.scale`; of a table of some kind, `mesh(disc).radius`. The default of a key that may be left
out stands in its description, in parentheses: "Axes that are held (default: all)."
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .document import Skeleton
from .json_schema import DRAWN, with_kind
from .key_descriptions import descriptions
from .records import UNIT, AnyBlock, quantity_of
from .state_tables.sides_table import SideTable

REQUIRED, QUANTITY = "required", "quantity"
_TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true | false"}
SIDES = "sides"
"""The key of every state whose tables stand as one of their own, `state.sides`."""
_DEFAULT = re.compile(r" \(default: (.*?)\)(?=[.;]|$)")


class Key(NamedTuple):
    """One key of a table of a scene."""

    name: str
    values: str
    """The values that it may have, in words."""
    unit: str
    """The SI unit whose dimension a quantity needs; 1 for a plain number, empty for all else."""
    default: str
    """In TOML or in words; "required" where there is none."""
    meaning: str


def rows(model: type[BaseModel], above: str = "") -> list[Key]:
    """The keys of a model, required ones first, inherited ones last, each followed by those of its tables.

    The key `kind` is left out. above: what stands before each name.
    """
    return [*_key_rows(model, above, ())]


def rows_of_kind(section: str, kind: str, model: type[BaseModel]) -> list[Key]:
    """The keys of a kind of a section; `every` of an observer may be a time."""
    return rows(with_kind(section, kind, model) if section == "observe" else model)


def tables() -> dict[str, type[BaseModel]]:
    """The models of the tables of a scene that have no kind, by name: `units`, `hold`, `run`, ..."""
    inner = {name: [*_nested_records(field.annotation)] for name, field in Skeleton.model_fields.items()}
    inner[f"state.{SIDES}"] = [("", SideTable)]
    return {name: model for name, found in inner.items() for _, model in found if model is not AnyBlock}


def _key_rows(model: type[BaseModel], above: str, around: tuple[type, ...]) -> Iterator[Key]:
    whole, texts = model.model_json_schema(), descriptions(model)
    required = whole.get("required", ())
    fields = [(name, field, field.alias or name) for name, field in model.model_fields.items()]
    for name, field, key in sorted(
        fields, key=lambda one: (one[2] not in required, _declared_depth(model, one[0]))
    ):
        if key == "kind":
            continue
        schema, text = whole["properties"][key], texts.get(name, "")
        said = _DEFAULT.search(text)
        default = REQUIRED if key in required else said[1] if said else _default_as_written(schema, field)
        values = _value_notation(schema, whole.get("$defs", {}))
        yield Key(above + key, values, _unit_words(field, values), default, _DEFAULT.sub("", text))
        for mark, inner in _nested_records(field.annotation):
            if inner not in around and not (key == SIDES and inner is SideTable):  # a table of its own
                yield from _key_rows(inner, f"{above}{key}{mark}.", (*around, model))


def _declared_depth(model: type[BaseModel], name: str) -> int:
    """How far above a model a key is declared: 0 for its own."""
    declared = (name in vars(base).get("__annotations__", ()) for base in model.__mro__)
    return next((depth for depth, here in enumerate(declared) if here), len(model.__mro__))


def _unit_words(field: FieldInfo, values: str) -> str:
    if (quantity := quantity_of(field)) is not None:
        return quantity.unit
    return "1" if re.search(r"(?<!whole )number", values) else ""


def _default_as_written(schema: dict[str, Any], field: FieldInfo) -> str:
    """A default as it stands in TOML; that of a table is what its keys say."""
    default = schema.get(
        "default", None if field.default_factory is None else field.get_default(call_default_factory=True)
    )
    if default is None or (isinstance(default, dict) and default):
        return ""
    return json.dumps(default, ensure_ascii=False)


def _nested_records(annotation: Any, mark: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """The records inside an annotation, with what stands between the key and theirs."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation is not AnyBlock and not annotation.__name__.endswith(f"_{DRAWN}"):
            kind = annotation.model_fields.get("kind")
            yield mark + (f"({kind.default})" if kind is not None else ""), annotation
        return
    named = ".NAME" if _is_mapping(annotation) else ""
    for part in get_args(annotation):
        yield from _nested_records(part, mark + named)


def _is_mapping(annotation: Any) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and hasattr(origin, "keys")


def _value_notation(key: dict[str, Any], known: dict[str, Any]) -> str:
    """The values that a key may have, from its schema, in a notation like that of TOML."""
    if UNIT in key:
        return QUANTITY
    if "$ref" in key:
        return _value_notation(known[key["$ref"].rpartition("/")[2]], known)
    if some := key.get("anyOf") or key.get("oneOf"):
        types = [one.get("type") for one in some]
        if "string" in types[1:] and "number" in types[: types.index("string")]:  # `float | str`
            some = [one for one in some if one.get("type") not in ("number", "string")]
            return " | ".join([QUANTITY, *_union_arms(some, known)])
        return " | ".join(_union_arms(some, known))
    if "enum" in key or "const" in key:
        return " | ".join(json.dumps(value) for value in key.get("enum", [key.get("const")]))
    if key.get("type") == "array":
        return f"[{_value_notation(_item_schema(key), known)}, ...]" if _item_schema(key) else "[...]"
    if isinstance(key.get("additionalProperties"), dict):
        return f"{{ NAME = {_value_notation(key['additionalProperties'], known)} }}"
    if str(key.get("title")).endswith(f"_{DRAWN}"):
        return "drawn"
    return _TYPES.get(key.get("type", ""), "table" if "type" in key else "any")


def _union_arms(some: list[dict[str, Any]], known: dict[str, Any]) -> list[str]:
    return [*dict.fromkeys(_value_notation(one, known) for one in some if one.get("type") != "null")]


def _item_schema(key: dict[str, Any]) -> dict[str, Any]:
    return key.get("items") or next(iter(key.get("prefixItems", ())), {})
