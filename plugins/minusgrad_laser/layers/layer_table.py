"""The TOML file of layers: which part of a drawing each takes, what is done with it, and with which settings.

    [[layer]]
    stroke = "#ff0000"
    mode = "cut"
    speed = "8 mm/s"

A table belongs to a material and to a convention of colours, so that one file serves many drawings.

Decisions 0186.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from minusgrad.plugin import Quantity, Record, UnitError, UnitSystem

from ..drawings.drawing import Mode

NAMED_COLOURS = {
    "black": "#000000", "silver": "#c0c0c0", "gray": "#808080", "grey": "#808080", "white": "#ffffff",
    "maroon": "#800000", "red": "#ff0000", "purple": "#800080", "magenta": "#ff00ff", "fuchsia": "#ff00ff",
    "green": "#008000", "lime": "#00ff00", "olive": "#808000", "yellow": "#ffff00", "navy": "#000080",
    "blue": "#0000ff", "teal": "#008080", "cyan": "#00ffff", "aqua": "#00ffff", "orange": "#ffa500",
}  # fmt: skip
"""The names of colours that HTML has had from the start, and orange."""
Speed = Annotated[float | str, Quantity("m s^-1", "positive")]
Length = Annotated[float | str, Quantity("m", "positive")]
Fluence = Annotated[float | str, Quantity("J m^-2", "positive")]
OF_AREAS = ("interval", "angle", "search")
"""Keys of areas, which only `mode = "engrave"` has."""

OF_CUTS = ("kerf", "tabs", "tab_width", "lead")
"""Keys of cuts."""
FOUND = ("speed", "dose", "passes", "interval", "angle", "overscan")
"""Keys whose values a search finds, or of which it knows nothing."""


class LayerTable(Record):
    """A layer: a part of a drawing, by colour or by a layer of its file, and what is done with it."""

    name: Annotated[str, Field(min_length=1)] | None = None
    """Name in messages and reports (default: what it takes)."""
    layer: str | None = None
    """Name of a layer in the drawing's file; "" is the one without a name."""
    colour: str | None = None
    """Colour of a stroke or of a fill, like "#ff0000" or "red"."""
    stroke: str | None = None
    """Colour of a stroke."""
    fill: str | None = None
    """Colour of a fill."""
    mode: Mode | None = None
    """Engrave areas, score along lines, or cut parts out (default: as the drawing's file says)."""
    output: bool = True
    """False: leave it out of the job."""
    power: float | str | None = None
    """Power of the laser, like "4 W" or "80 %" of the machine's (default: the file's, or all)."""
    speed: Speed | None = None
    """Speed of the head; either this or `dose`."""
    dose: Fluence | None = None
    """Fluence of an engraved area, or in the middle of a line: `speed` or `power` follows from it."""
    passes: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Number of times (default: the file's, or 1)."""
    order: float | None = None
    """Place in the job: layers of lower numbers are first (default: engrave 1, score 2, cut 3)."""
    air: Literal["M7", "M8"] | None = None
    """Word that switches air assist on; M9 switches it off again (default: none)."""
    interval: Length | None = None
    """Distance of the lines of an engraved area (default: half of the spot)."""
    angle: Literal[0, 90] = 0
    """Direction of the lines of an engraved area: 0 along x, 90 along y."""
    overscan: Annotated[float | str, Quantity("m", "nonnegative")] | None = None
    """Dark way before and after each straight or open line (default: what constant power needs)."""
    kerf: Length | None = None
    """Width of a cut line, measured at this power and speed (default: by --full and --threshold)."""
    tabs: Annotated[int, Field(ge=0, le=100)] = 0
    """Number of bridges that hold each part that is cut."""
    tab_width: Length = "0.5 mm"
    """Width of a bridge."""
    lead: Length | None = None
    """Length of the ways into a cut without tabs, and out of it, beside the part (default: none)."""
    search: bool = False
    """Seek the path of an engraved area, as `minusgrad laser` does for an image; false: lines."""

    @field_validator("colour", "stroke", "fill")
    @classmethod
    def _is_a_colour(cls, value: str | None) -> str | None:
        return None if value is None else hex_colour(value)

    @field_validator("power")
    @classmethod
    def _is_a_power(cls, value: Any) -> Any:
        if value is not None:
            watts_of(value, 1.0)
        return value

    @field_validator("speed", "dose", "interval", "overscan", "kerf", "tab_width", "lead", mode="before")
    @classmethod
    def _has_a_unit(cls, value: Any, info: ValidationInfo) -> Any:
        examples = {"speed": "10 mm/s", "dose": "20 J/cm^2", "interval": "0.05 mm", "overscan": "2 mm"}
        examples |= {"kerf": "0.15 mm", "tab_width": "0.5 mm", "lead": "1 mm"}
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            raise ValueError(f'needs a unit, got {value:g}; write it as "{examples[str(info.field_name)]}"')
        return value

    @model_validator(mode="after")
    def _takes_something(self) -> "LayerTable":
        if self.colour is None and self.stroke is None and self.fill is None and self.layer is None:
            raise ValueError(
                "a layer says what it takes, got nothing; give colour, stroke, fill or layer (a name)"
            )
        if self.colour is not None and (self.stroke is not None or self.fill is not None):
            raise ValueError("colour is that of a stroke or a fill, got one of these, too; leave one out")
        if self.speed is not None and self.dose is not None:
            raise ValueError("speed follows from the dose, got both; leave one out")
        if self.search and (wrong := [key for key in FOUND if getattr(self, key) not in (None, 0)]):
            raise ValueError(f"a search finds the path and its speed, got {wrong[0]}, too; leave it out")
        if self.mode in ("cut", "score") and (wrong := self._changed_keys(OF_AREAS)):
            raise ValueError(
                f'{wrong[0]} is of areas, got mode "{self.mode}"; leave it out, or write mode = "engrave"'
            )
        if self.mode not in ("cut", None) and (wrong := self._changed_keys(OF_CUTS)):
            raise ValueError(f'{wrong[0]} is of cuts, got mode "{self.mode}"; leave it out')
        return self

    def _changed_keys(self, keys: tuple[str, ...]) -> list[str]:
        """Those of some keys that have not their default."""
        return [key for key in keys if getattr(self, key) != type(self).model_fields[key].default]

    @property
    def title(self) -> str:
        """The name of the layer, or what it takes."""
        if self.name:
            return self.name
        parts = [] if self.layer is None else [f"layer '{self.layer}'"]
        keys = ("colour", "stroke", "fill")
        return " ".join([f"{key} {given}" for key in keys if (given := getattr(self, key))] + parts)


class LayersTable(Record):
    """The layers of a drawing, in an order of which only layers of one mode make use."""

    layer: Annotated[tuple[LayerTable, ...], Field(min_length=1)]
    """Each layer."""

    @model_validator(mode="after")
    def _has_names_of_its_own(self) -> "LayersTable":
        titles = [layer.title for layer in self.layer]
        if twice := [one for one in titles if titles.count(one) > 1]:
            raise ValueError(f"two layers have one name, got '{twice[0]}' twice; join them, or give a name")
        return self


def hex_colour(text: str) -> str:
    """A colour as "#rrggbb". Raises `ValueError` for a text that is none."""
    given = text.strip().lower()
    if re.fullmatch(r"#[0-9a-f]{6}", given):
        return given
    if re.fullmatch(r"#[0-9a-f]{3}", given):
        return "#" + "".join(2 * one for one in given[1:])
    if given in NAMED_COLOURS:
        return NAMED_COLOURS[given]
    raise ValueError(
        f"is no colour, got '{text[:40]}'; write it as \"#ff0000\", or as one of"
        f" {', '.join(sorted({*NAMED_COLOURS} - {'grey', 'fuchsia', 'aqua'}))}"
    )


def watts_of(power: float | str, most: float) -> float:
    """A power [W] from a text with its unit, of which "%" are parts of the most. Raises `ValueError`."""
    if isinstance(power, bool) or not isinstance(power, str):
        raise ValueError(f'needs a unit, got {power:g}; write it as "4 W", or as "80 %" of full power')
    try:
        found = UnitSystem.si().convert(power, "1") * most if "%" in power else None
        found = UnitSystem.si().convert(power, "W") if found is None else found
    except UnitError as error:
        raise ValueError(str(error)) from None
    if not 0.0 < found < float("inf"):
        raise ValueError(f"needs a power above 0, got '{power}'")
    return found
