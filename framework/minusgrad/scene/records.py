"""Records: models of a scene's tables, strict and frozen, with numbers that may have a unit.

    class Gravity(Record):
        G: Annotated[float | str, Quantity("m^3 kg^-1 s^-2")] = "6.67430e-11 m^3 kg^-1 s^-2"
        softening: Annotated[float | str, Quantity("m", "nonnegative")] = 0.0

A record may use lists or tuples, nested records, unions and pydantic's bounds. The key `kind` is removed
before.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from ..errors import UnitError
from .key_descriptions import descriptions
from .units import UnitSystem, parse_unit
from .validation_messages import value_in_messages

UNIT = "x-unit"
"""The keyword of the JSON schema with the unit of a quantity."""
_SIGNS = {"positive": "needs a quantity above 0", "nonnegative": "needs a quantity of at least 0"}


class Record(BaseModel):
    """Base class of the models of a scene's tables, a frozen pydantic model.

        class Disc(Record):
            radius: Annotated[float | str, Quantity("m", "positive")]
            \"\"\"Radius of the disc.\"\"\"

    The text below a key is its description, shown by `minusgrad kinds`, the schema and the reference. Values
    are not converted from one type to another; unknown keys, infinity and NaN are refused. Raises
    pydantic's `ValidationError`, which a scene reports with line and column.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema of the table, with the description of each key (`scene.key_descriptions`)."""
        made = handler(schema)
        keys = handler.resolve_ref_schema(made).get("properties", {})
        for name, text in descriptions(cls).items():
            key = keys.get(cls.model_fields[name].alias or name)
            if key is not None:
                unit = f" A number, or a quantity in {key[UNIT]}." if UNIT in key else ""
                key["description"] = text + unit
        return made


class AnyBlock(Record, extra="allow"):
    """A table with a `kind`, whose other keys the model of that kind validates."""

    kind: str
    """Which of the installed kinds the table is; the other keys are those of this kind."""


def unit_in_names(unit: str) -> str:
    """A unit as a part of a name: "m3_kg-1_s-2" for "m^3 kg^-1 s^-2", "plain" for "1"."""
    return "plain" if unit == "1" else unit.replace("^", "").replace("/", "_per_").replace(" ", "_")


@dataclass(frozen=True)
class Quantity:
    """Marks a field of a record as a physical quantity: a number in the run's units, or a text like "5 km".

        length: Annotated[float | str, Quantity("m", "positive")]

    unit: an SI unit; the quantity must have its dimension. absolute: it is a temperature, no difference of
    two, so that it may be in degC. sign: "any", "positive" (above 0) or
    "nonnegative". cure: what to give in place of a wrong sign. The value stays as written, and `quantities`
    converts it. Raises `UnitError` if `unit` is not a unit.
    """

    unit: str
    sign: Literal["any", "positive", "nonnegative"] = "any"
    cure: str = ""
    absolute: bool = False

    def __post_init__(self) -> None:
        parse_unit(self.unit)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number: dict[str, Any] = {"type": "number"}
        number |= {"positive": {"exclusiveMinimum": 0}, "nonnegative": {"minimum": 0}}.get(self.sign, {})
        return {
            "anyOf": [number, {"type": "string"}],
            "description": f"a number, or a quantity in {self.unit}{', degC or degF' * self.absolute}",
            UNIT: self.unit,
        }

    def in_system(self, value: float | str, system: UnitSystem) -> float:
        """A value in the units of a system."""
        return system.convert(value, self.unit, self.absolute)

    def _validate(self, value: object, info: ValidationInfo) -> float | str:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError(
                f"needs a number or a quantity like '1 {self.unit}', not {value_in_messages(value)}"
            )
        system = (info.context or {}).get("units", UnitSystem.si())
        try:
            number = self.in_system(value, system)
        except UnitError as error:
            raise ValueError(str(error)) from None
        if not math.isfinite(number):
            raise ValueError(f"needs a finite number, not {value_in_messages(value)}")
        if self.sign != "any" and (number < 0 or (number == 0 and self.sign == "positive")):
            cure = f"; {self.cure}" if self.cure else ""
            raise ValueError(f"{_SIGNS[self.sign]}, not {value_in_messages(value)}{cure}")
        return value


def quantities(model: BaseModel, system: UnitSystem) -> dict[str, Any]:
    """The fields of a record by name, with every quantity as a float in the units of `system`.

    Quantities in lists, tables and nested records are converted too; all other values are as written, and so
    are words that a field takes in the place of a quantity. Raises
    `UnitError` for a text that is not a quantity of the field's dimension, which validation has refused
    before.
    """
    kinds = _field_kinds(type(model))
    values = {name: getattr(model, name) for name in kinds}
    return {
        name: value if value in words else _convert_value(value, quantity, system)
        for (name, value), (words, quantity) in zip(values.items(), kinds.values(), strict=True)
    }


@lru_cache(maxsize=1024)
def _field_kinds(model: type[BaseModel]) -> dict[str, tuple[list[Any], Quantity | None]]:
    """For each field of a model the words that it takes, and its quantity."""
    parts = {name: (field.annotation, *field.metadata) for name, field in model.model_fields.items()}
    return {name: (_literal_words(one), _quantity_in(one)) for name, one in parts.items()}


def _literal_words(parts: tuple[Any, ...]) -> list[Any]:
    """The words of the literals inside an annotation, however deep."""
    inside = [get_args(part) for part in parts]
    found = [
        args if get_origin(part) is Literal else _literal_words(args)
        for part, args in zip(parts, inside, strict=True)
    ]
    return [word for words in found for word in words if isinstance(word, str)]


def quantity_of(field: FieldInfo) -> Quantity | None:
    """The quantity that a field of a record is, or contains."""
    return _quantity_in((field.annotation, *field.metadata))


def _quantity_in(parts: tuple[Any, ...]) -> Quantity | None:
    """The Quantity inside an annotation, however deep."""
    for part in parts:
        if found := part if isinstance(part, Quantity) else _quantity_in(get_args(part)):
            return found
    return None


def _convert_value(value: Any, quantity: Quantity | None, system: UnitSystem) -> Any:
    if isinstance(value, BaseModel):
        return quantities(value, system)
    if isinstance(value, (list, tuple)):
        return type(value)(_convert_value(v, quantity, system) for v in value)
    if isinstance(value, dict):
        return {key: _convert_value(v, quantity, system) for key, v in value.items()}
    return value if quantity is None or value is None else quantity.in_system(value, system)
