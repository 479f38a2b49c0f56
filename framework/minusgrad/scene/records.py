"""What the tables of a scene are judged by: strict frozen records, and numbers that may carry a unit.

    class Gravity(Record):
        G: Annotated[float | str, Quantity("m^3 kg^-1 s^-2")] = "6.67430e-11 m^3 kg^-1 s^-2"
        softening: Annotated[float | str, Quantity("m", "nonnegative")] = 0.0

A record may use lists or tuples, nested records, unions and pydantic's bounds. It never sees its own `kind`.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from ..errors import UnitError
from .units import UnitSystem, parse_unit
from .validation_messages import shown

_SIGNS = {"positive": "needs a quantity above 0", "nonnegative": "needs a quantity of at least 0"}


class Record(BaseModel):
    """A frozen table: no conversion of types, no unknown keys, no infinity or nan."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class AnyBlock(Record, extra="allow"):
    """A table with a kind; whoever knows the kind judges the rest."""

    kind: str


@dataclass(frozen=True)
class Quantity:
    """Marks a field as a number in the run's units, or a text like "5 km" of the dimension of `unit`.

    Raises UnitError where `unit` itself is not one. The value stays as written; `quantities` converts it.
    """

    unit: str
    sign: Literal["any", "positive", "nonnegative"] = "any"

    def __post_init__(self) -> None:
        parse_unit(self.unit)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._judge)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number: dict[str, Any] = {"type": "number"}
        number |= {"positive": {"exclusiveMinimum": 0}, "nonnegative": {"minimum": 0}}.get(self.sign, {})
        return {
            "anyOf": [number, {"type": "string"}],
            "description": f"a number, or a quantity in {self.unit}",
        }

    def _judge(self, value: object, info: ValidationInfo) -> float | str:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError(f"needs a number or a quantity like '1 {self.unit}', not {shown(value)}")
        system = (info.context or {}).get("units", UnitSystem.si())
        try:
            number = system.convert(value, self.unit)
        except UnitError as error:
            raise ValueError(str(error)) from None
        if not math.isfinite(number):
            raise ValueError(f"needs a finite number, not {shown(value)}")
        if self.sign != "any" and (number < 0 or (number == 0 and self.sign == "positive")):
            raise ValueError(f"{_SIGNS[self.sign]}, not {shown(value)}")
        return value


def quantities(model: BaseModel, system: UnitSystem) -> dict[str, Any]:
    """The model's fields by name, each quantity (also in lists and nested records) a float in `system`.

    Raises UnitError where a text is no such quantity; a model that `Document.judge` accepted raises none.
    """
    fields = type(model).model_fields
    units = {name: _quantity((field.annotation, *field.metadata)) for name, field in fields.items()}
    return {name: _converted(getattr(model, name), quantity, system) for name, quantity in units.items()}


def _quantity(parts: tuple[Any, ...]) -> Quantity | None:
    """The Quantity inside an annotation, however deep."""
    for part in parts:
        if found := part if isinstance(part, Quantity) else _quantity(get_args(part)):
            return found
    return None


def _converted(value: Any, quantity: Quantity | None, system: UnitSystem) -> Any:
    if isinstance(value, BaseModel):
        return quantities(value, system)
    if isinstance(value, (list, tuple)):
        return type(value)(_converted(v, quantity, system) for v in value)
    if isinstance(value, dict):
        return {key: _converted(v, quantity, system) for key, v in value.items()}
    return value if quantity is None or value is None else system.convert(value, quantity.unit)
