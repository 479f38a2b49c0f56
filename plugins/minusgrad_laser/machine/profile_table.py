"""The TOML file of a machine's profile: its keys, their units, and what is refused."""

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from minusgrad.plugin import ByForm, Quantity, Record, UnitSystem, one_or_each

from . import dialects

Length = Annotated[float | str, Quantity("m", "positive")]
Time = Annotated[float | str, Quantity("s", "nonnegative")]
Speed = Annotated[float | str, Quantity("m s^-1", "positive")]
Acceleration = Annotated[float | str, Quantity("m s^-2", "positive")]
Forms = ByForm(one_or_each, ("one", "each"))
WRITTEN = {
    "field": '["300 mm", "200 mm"]',
    "pixel": '"20 um"',
    "spot": '"100 um"',
    "speed": '"100 mm/s"',
    "acceleration": '"1500 mm/s^2"',
    "junction_deviation": '"0.01 mm"',
    "jerk": '"10 mm/s"',
    "power": '["0 W", "5 W"]',
    "power_slew": '"5 kW/s"',
    "minimum_dwell": '"0.1 ms"',
    "latency": '"0.2 ms"',
    "backlash": '"0.05 mm"',
    "threshold": '"10 J/cm^2"',
    "reference": '"1e9 W/m^2"',
    "kerf": '"120 um"',
}
"""An example of each quantity, which has a unit: 100 might be mm/s, mm/min or m/s."""


class ProfileTable(Record):
    """A laser machine: what it can do, and how its controller plans motion."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the machine in reports and job files."""
    dialect: dialects.Name = "grbl"
    """Firmware: its words in job files, and its rule for corners."""
    dynamic_power: bool = True
    """Power follows the attained speed (GRBL's M4); false: constant power (M3)."""
    field: tuple[Length, Length] | None = None
    """Size of the field along x and y (default: no limit)."""
    pixel: Length = "20 um"
    """Side of a cell of the canvas in which dose is computed."""
    spot: Annotated[Length | tuple[Length, Length], Forms] = "100 um"
    """Diameter of the spot at 1/e^2 of its peak: of a round one, or [x, y] of an ellipse along the axes."""
    decimals: Annotated[int, Field(ge=2, le=9)] | None = None
    """Decimals of places in job files, in mm (default: 3, and more for spots below 50 um)."""
    speed: Annotated[Speed | tuple[Speed, Speed], Forms]
    """Largest speed of the axes: of both, or [x, y]."""
    acceleration: Annotated[Acceleration | tuple[Acceleration, Acceleration], Forms]
    """Largest acceleration of the axes: of both, or [x, y]."""
    junction_deviation: Length | None = None
    """GRBL's junction deviation ($11), which limits the speed at corners; either this or `jerk`."""
    jerk: Annotated[Speed | tuple[Speed, Speed], Forms] | None = None
    """Marlin's classic jerk: the largest change of an axis' speed at once; of both axes, or [x, y]."""
    power: tuple[Annotated[float | str, Quantity("W", "nonnegative")], Annotated[float | str, Quantity("W")]]
    """Least power with which the laser is on, and most: [least, most]."""
    power_slew: Annotated[float | str, Quantity("W s^-1", "positive")] | None = None
    """Largest rate at which the power of a lit laser changes (default: no limit)."""
    bits: Annotated[int, Field(ge=1, le=24)] = 8
    """Bits of the digital power: 8 has 256 levels from 0 to the most."""
    power_scale: Annotated[float, Field(gt=0)] | None = None
    """S of full power: GRBL's $30 (default: 1000; FluidNC and Marlin 255; Smoothieware 1; LinuxCNC: none)."""
    startup_power: Annotated[float, Field(ge=0, le=1)] | None = None
    """Part of full power without any S: Marlin's SPEED_POWER_STARTUP, Smoothieware's default power (0.8)."""
    fan_pin: bool = False
    """Marlin: the laser hangs on the pin of the fan, switched by M106 and M107."""
    minimum_dwell: Time = "0 s"
    """Least time of a lit move."""
    blanking: bool = True
    """The laser can be off during travels; false: it cannot, so a job has none."""
    latency: Annotated[float | str, Quantity("s")] = "0 s"
    """Time by which the power follows the motion; below 0 it leads."""
    backlash: Annotated[
        Annotated[float | str, Quantity("m", "nonnegative")]
        | tuple[
            Annotated[float | str, Quantity("m", "nonnegative")],
            Annotated[float | str, Quantity("m", "nonnegative")],
        ],
        Forms,
    ] = "0 m"
    """Play of the axes when they reverse: of both, or [x, y]."""
    planner_blocks: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Moves that the controller's planner holds, the present one included: GRBL 16."""
    lines_per_second: Annotated[float, Field(gt=0)] | None = None
    """Lines of a job file that arrive in a second (default: no limit)."""
    focus_axis: bool = False
    """Z of a job file moves the focus: a grid may have steps of it."""
    threshold: Annotated[float | str, Quantity("J m^-2", "positive")] | None = None
    """Fluence above which the material is marked, as `--fit` finds it (default: not known)."""
    exponent: Annotated[float, Field(gt=0)] = 1.0
    """Exponent of the intensity in the dose of the material, as `--fit` finds it."""
    reference: Annotated[float | str, Quantity("W m^-2", "positive")] | None = None
    """Intensity at which `threshold` is a fluence, whatever the exponent (default: that of full power)."""
    kerf: Annotated[Length | tuple[Length, Length], Forms] | None = None
    """Width of a cut, as `--fit` finds it: of both axes, or [x, y] (default: not known)."""

    @field_validator(*WRITTEN, mode="before")
    @classmethod
    def _has_a_unit(cls, value: Any, info: ValidationInfo) -> Any:
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, (int, float)) and not isinstance(one, bool):
                raise ValueError(f"needs a unit, got {one:g}; write it as {WRITTEN[str(info.field_name)]}")
        return tuple(value) if isinstance(value, list) else value  # strict records take no list here

    @field_validator("power")
    @classmethod
    def _has_a_range(cls, value: Any) -> Any:
        least, most = (UnitSystem.si().convert(one, "W") for one in value)
        if not least < most:
            raise ValueError(f"the most must exceed the least, got {least:g} W and {most:g} W; swap them")
        return value

    @field_validator("jerk", "fan_pin")
    @classmethod
    def _fits_the_firmware(cls, value: Any, info: ValidationInfo) -> Any:
        dialect = info.data.get("dialect", "marlin")
        if value and dialect != "marlin":
            what = "a pin of Marlin" if info.field_name == "fan_pin" else "a limit of Marlin"
            raise ValueError(
                f"is {what}, got dialect '{dialect}'; leave it out, or write dialect = \"marlin\""
            )
        if info.field_name == "jerk" and value and info.data.get("junction_deviation") is not None:
            raise ValueError("limits corners, got junction_deviation, too; leave one of them out")
        return value

    @model_validator(mode="after")
    def _has_a_scale(self) -> "ProfileTable":
        rules = dialects.DIALECTS[self.dialect]
        if self.power_scale is None and rules.full_scale is None:
            raise ValueError(
                f"power_scale: {rules.firmware} has no scale of its own, got none; give the S of full power"
            )
        if self.startup_power is not None and not rules.startup:
            raise ValueError(
                f"startup_power: {rules.firmware} is dark without S, got {self.startup_power:g}; leave it out"
            )
        return self

    @model_validator(mode="after")
    def _has_a_rule_for_corners(self) -> "ProfileTable":
        if self.junction_deviation is None and self.jerk is None:
            raise ValueError("corners need a limit, got none; give junction_deviation, or jerk of Marlin")
        return self
