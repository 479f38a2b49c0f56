"""Unions of records or types whose member is chosen by the value: by its key `kind`, or by its form.

    AnyShape = Annotated[Disc | FromImage, ByKind()]                           by the key `kind` of a table
    Masses = Annotated[Mass | tuple[Mass, ...], ByForm(one_or_each, ("one", "each"))]           by its form

A mistake is reported for the chosen member, at its own key. Pydantic's plain unions report one
mistake for every member; its union by a key names the kind among the keys, and if a kind has the name of a
key ("file"), it reports the mistake at the wrong place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from .records import Record

UNKNOWN = "of no kind"


class Anything(Record):
    """The tag of a table without a known kind."""

    model_config = ConfigDict(extra="allow")


class ByKind:
    """Marks a union of records, each of which has a literal `kind` with a default.

        AnyShape = Annotated[Disc | FromImage, ByKind()]

    The record with the kind that the table names validates it; a table without a known kind gets one message
    that lists the kinds.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        models = {model.model_fields["kind"].default: model for model in get_args(source)}
        known: Any = Literal[tuple(models)]
        unknown = create_model("Unknown", __base__=Anything, kind=(known, ...))
        members = {f"of kind {kind}": model for kind, model in models.items()} | {UNKNOWN: unknown}

        def tag(table: Any) -> str:
            kind = table.get("kind") if isinstance(table, Mapping) else getattr(table, "kind", None)
            return f"of kind {kind}" if isinstance(kind, str) and kind in models else UNKNOWN

        return _tagged_union(members, tag, handler)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        arms = {t: arm for t, arm in schema["choices"].items() if t != UNKNOWN}
        return handler(core_schema.tagged_union_schema(arms, schema["discriminator"]))


@dataclass(frozen=True)
class ByForm:
    """Marks a union of types whose members differ in form, such as one number and a list of numbers.

        Masses = Annotated[Mass | tuple[Mass, ...], ByForm(one_or_each, ("one", "each"))]

    form: gives the name of a value's form, from the value as it is written. names: those of the members, in
    their order.
    """

    form: Callable[[Any], str]
    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return _tagged_union(dict(zip(self.names, get_args(source), strict=True)), self.form, handler)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Any of the types: a text such as "none" is both a word and, to a schema, a quantity."""
        made = dict(handler(schema))
        return {"anyOf": made.pop("oneOf"), **made} if "oneOf" in made else made


def one_or_each(value: Any) -> str:
    """The form of a value for `ByForm`: "each" if it is a list or a tuple, else "one".

    value: as it is written in the scene.
    """
    return "each" if isinstance(value, (list, tuple)) else "one"


def one_or_table(value: Any) -> str:
    """The form of a value for `ByForm`: "table" if it is a table, else "one".

    value: as it is written in the scene, or the record that was made of it.
    """
    return "table" if isinstance(value, Mapping | Record) else "one"


def _tagged_union(
    members: Mapping[str, Any], tag: Callable[[Any], str], handler: GetCoreSchemaHandler
) -> CoreSchema:
    choices: dict[Any, CoreSchema] = {name: handler.generate_schema(one) for name, one in members.items()}
    return core_schema.tagged_union_schema(choices, tag)
