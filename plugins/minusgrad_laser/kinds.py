"""Tables inside a block that say by `kind` which of several records they are.

    Shape = Annotated[Disc | FromImage, ByKind()]     # each with kind: Literal["disc"] = "disc", ...

A mistake is told for the record that was meant, at its own key; pydantic's own union by a key would name the
kind among the keys, and where a kind is called like a key ("file") put the mistake in the wrong place.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from minusgrad.scene.records import Record

UNKNOWN = "of no kind"


class Anything(Record):
    """A table that names no kind there is, whatever else it says."""

    model_config = ConfigDict(extra="allow")


class ByKind:
    """Marks a union of records, each of which has a literal `kind`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        models = {model.model_fields["kind"].default: model for model in get_args(source)}
        known: Any = Literal[tuple(models)]
        unknown = create_model("Unknown", __base__=Anything, kind=(known, ...))
        tags = {f"of kind {kind}": model for kind, model in models.items()} | {UNKNOWN: unknown}

        def tag(table: Any) -> str:
            kind = table.get("kind") if isinstance(table, Mapping) else getattr(table, "kind", None)
            return f"of kind {kind}" if kind in models else UNKNOWN

        choices: dict[Any, CoreSchema] = {t: handler.generate_schema(model) for t, model in tags.items()}
        return core_schema.tagged_union_schema(choices, tag)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        arms = {t: arm for t, arm in schema["choices"].items() if t != UNKNOWN}
        return handler(core_schema.tagged_union_schema(arms, schema["discriminator"]))
