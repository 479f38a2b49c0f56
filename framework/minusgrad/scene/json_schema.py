"""The JSON schema of scene files, for editors: the sections of the core and all installed kinds.

What is repeated is one definition: a key has its own name, `body`; values are named by unit and form,
`Pa.nonnegative_parameter`. Editors show no description beside a `$ref`, so one with values of its own stands
beside `anyOf`.

Decisions 0108, 0223.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, Field, create_model
from pydantic.json_schema import GenerateJsonSchema

from .document import LOSS, MANY, PROGRAM, Skeleton
from .fit_table import FitTable
from .records import UNIT, unit_in_names

REPEATED = 80
"""Characters of a part from which on it becomes a definition where it stands twice."""
DRAWN = "drawn"
"""The last word of the name of a table of values that are drawn for each element."""
LONGEST = 40
"""Characters of a name that says the forms of values."""
STEPS_OR_TIME = Annotated[int, Field(ge=1)] | str
"""`every` of an observer: a number of steps, or a text like "10 day"."""


def schema_of(models: dict[str, dict[str, type[BaseModel]]]) -> dict[str, Any]:
    """The schema of scenes whose sections are unions over `kind`, with one definition for what is repeated.

    models: by section and kind, {"energy": {"gravity": Gravity, ...}, "state": ...}; "loss" are the kinds of
    `[[fit.loss]]`. A section without models accepts any table with a kind.
    """
    return share_definitions(schema_written_out(models))


def schema_written_out(models: dict[str, dict[str, type[BaseModel]]]) -> dict[str, Any]:
    """As `schema_of`, with every key of every table written out."""
    sections: dict[str, Any] = {}
    for section, kinds in models.items():
        if kinds:
            arms: Any = Union[tuple(with_kind(section, kind, model) for kind, model in kinds.items())]  # noqa: UP007
            many = {s: Field(min_length=1) if s in ("energy", LOSS) else Field(()) for s in (*MANY, LOSS)}
            sections[section] = (list[arms], many[section]) if section in many else (arms, ...)
    if LOSS in sections:
        fit = create_model("fit", __base__=FitTable, __doc__=FitTable.__doc__, loss=sections.pop(LOSS))
        sections["fit"] = (fit | None, None)
    model: type[BaseModel] = create_model("scene", __base__=Skeleton, **sections)
    whole = model.model_json_schema(schema_generator=Generator)
    whole["required"] = [key for key in whole["required"] if key != "energy"]
    program = {"allOf": [{"properties": {"stepper": {"properties": {"kind": {"const": PROGRAM}}}}}]}
    blocks = ("energy", "lagrangian", "magnetic", "compound", "constraint")
    either = [*({"required": [key]} for key in blocks), program]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | whole | {"anyOf": either}


def with_kind(section: str, kind: str, model: type[BaseModel]) -> Any:
    """The model of a block as a scene writes it: with its `kind`, and times for steps of observers."""
    fields: dict[str, Any] = {"kind": (Literal[kind], ...)}
    if section == "observe" and "every" in model.model_fields:
        fields["every"] = (STEPS_OR_TIME, ...)
    return create_model(f"{section}_{kind}", __base__=model, __doc__=model.__doc__, **fields)


class Generator(GenerateJsonSchema):
    """Keys have no titles, which would repeat their names; names of definitions may have dots."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def normalize_name(self, name: str) -> str:
        return re.sub(r"[^\w.\-]", "_", name)


def share_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that accepts the same documents, in which what was repeated is a definition."""
    known = {name: _without_title(table) for name, table in schema["$defs"].items()}
    times, seen = Counter[str](), dict[str, tuple[dict[str, Any], str, str]]()

    def count(part: dict[str, Any], key: str, owner: str) -> dict[str, Any]:
        text = _schema_text(part)
        times[text] += 1
        if times[text] == 1:
            seen[text] = part, key, owner
            _map_schemas(part, count, owner)
        return part

    def share(part: dict[str, Any], key: str, owner: str) -> dict[str, Any]:
        name = names.get(_schema_text(part))
        return {"$ref": f"#/$defs/{name}"} if name else _map_schemas(part, share, owner)

    for name, table in {"scene": schema, **known}.items():
        _map_schemas(table, count, name)
    names: dict[str, str] = {}
    for text, often in times.most_common():
        if often > 1 and len(text) >= REPEATED:
            free = (name for name in _definition_names(*seen[text]) if name not in {*known, *names.values()})
            if (name := next(free, None)) is not None:
                names[text] = name
    definitions = {name: seen[text][0] for text, name in names.items()} | known
    made = {name: _map_schemas(part, share, name) for name, part in definitions.items()}
    return _map_schemas(schema, share, "scene") | {"$defs": made}


Change = Callable[[dict[str, Any], str, str], dict[str, Any]]
"""Takes a schema, the name of the key that it is of, or "", and where it stands, "energy_gravity.G"."""


def _map_schemas(part: dict[str, Any], change: Change, owner: str) -> dict[str, Any]:
    """A schema with a change of each schema inside it."""

    def changed(word: str, inner: Any) -> Any:
        if word == "properties":
            return {key: change(one, key, f"{owner}.{key}") for key, one in inner.items()}
        if word == "anyOf" and len(part) > 1:  # of which a description and a default are no part
            made = change({"anyOf": inner}, "", owner)
            return made.get("anyOf", [made])
        if word in ("anyOf", "oneOf", "allOf", "prefixItems"):
            return [change(one, "", owner) for one in inner]
        if word in ("items", "additionalProperties") and isinstance(inner, dict):
            return change(inner, "", owner)
        return inner

    return {word: changed(word, inner) for word, inner in part.items()}


def _definition_names(part: dict[str, Any], key: str, owner: str) -> Iterator[str]:
    """Names for a definition, the best first: of a key, or of values."""
    units = {*re.findall(rf'"{UNIT}": "([^"]*)"', _schema_text(part))}
    unit = f"{unit_in_names(*units)}_" if len(units) == 1 else ""
    if key:
        yield from (key, f"{unit}{key}", owner)
    else:
        form = _form_words(part) if len(_form_words(part)) <= LONGEST else "values"
        yield from (*[f"{unit}{form}"] * (form != "values"), f"{owner}.{form}")


def _without_title(table: dict[str, Any]) -> dict[str, Any]:
    """A definition without a title, which would repeat its name."""
    return {word: inner for word, inner in table.items() if word != "title"}


def _schema_text(part: dict[str, Any]) -> str:
    return json.dumps(part, sort_keys=True)


def _form_words(part: dict[str, Any]) -> str:
    """The form of values in words: "nonnegative_list", "parameter_or_none"."""
    if UNIT in part:
        signs = {"minimum": "nonnegative", "exclusiveMinimum": "positive"}
        return next((signs[word] for word in part["anyOf"][0] if word in signs), "quantity")
    if "$ref" in part:
        name = str(part["$ref"]).rpartition("/")[2]
        return DRAWN if name.endswith(f"_{DRAWN}") else name
    if "anyOf" in part:
        forms = [_form_words(one) for one in part["anyOf"]]
        if DRAWN in forms:
            forms = [f"{forms[0]}_parameter".removeprefix("quantity_"), *forms[forms.index(DRAWN) + 1 :]]
        return "_or_".join(forms)
    for word, name in (("items", "{}_list"), ("additionalProperties", "{}_by_name")):
        if isinstance(part.get(word), dict):
            return name.format(_form_words(part[word]))
    words = part.get("enum") or [part.get("const", part.get("type", "any"))]
    return "_or_".join("none" if one == "null" else str(one) for one in words)
