"""The JSON schema of scene files, for editors: the sections of the core and all installed kinds.

Decisions 0223.
"""

from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, Field, create_model

from .document import LOSS, MANY, PROGRAM, Skeleton
from .fit_table import FitTable

STEPS_OR_TIME = Annotated[int, Field(ge=1)] | str
"""`every` of an observer: a number of steps, or a text like "10 day"."""


def schema_of(models: dict[str, dict[str, type[BaseModel]]]) -> dict[str, Any]:
    """The schema of scenes whose sections are unions over `kind`.

    models: by section and kind, {"energy": {"gravity": Gravity, ...}, "state": ...}; "loss" are the kinds of
    `[[fit.loss]]`. A section without models accepts any table with a kind.
    """
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
    whole = model.model_json_schema()
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
