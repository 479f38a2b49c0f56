"""The profile of a laser machine: its limits, in SI units, from a TOML file (`profile_table`).

Decisions 0180.
"""

from dataclasses import dataclass
from math import ceil, inf, log10, pi
from pathlib import Path
from typing import Any

from . import dialects

SHIPPED = Path(__file__).with_name("profiles")
"""The folder of the profiles that come with the plugin."""
SMALL = 5e-5
"""Spots below this [m] need places of less than 1 um."""


@dataclass(frozen=True)
class Profile:
    """A machine, as its TOML file describes it.

    The speed of an axis is limited by `speed`, its acceleration by `acceleration`; the speed at a corner by
    `junction_deviation` (GRBL), or by `jerk`, the largest change of an axis' speed at once (Marlin).
    """

    name: str
    dialect: dialects.Name = "grbl"
    dynamic_power: bool = True
    """Power follows speed (GRBL's M4); false: constant power (M3)."""
    field: tuple[float, float] = (inf, inf)
    """Size along x and y [m]."""
    pixel: float = 2e-5
    """Side of a cell [m]."""
    spot: tuple[float, float] = (1e-4, 1e-4)
    """Diameters of the spot at 1/e^2 of its peak, along x and y [m]."""
    decimals: int | None = None
    """Of places in job files, in mm; None: as the spot needs."""
    speed: tuple[float, float] = (0.1, 0.1)
    """Largest speed of each axis [m/s]."""
    acceleration: tuple[float, float] = (1.5, 1.5)
    """Of each axis [m/s^2]."""
    junction_deviation: float | None = 1e-5
    """GRBL's $11 [m]."""
    jerk: tuple[float, float] | None = None
    """Marlin's classic jerk of each axis [m/s]."""
    power: tuple[float, float] = (0.0, 5.0)
    """Least power of the laser when it is on, and most [W]."""
    power_slew: float = inf
    """Largest rate of the power [W/s]."""
    bits: int = 8
    """Of the power's digital value."""
    power_scale: float | None = None
    """S at full power, such as GRBL's $30; None: as the firmware has it."""
    startup_power: float | None = None
    """Part of full power that the firmware takes without any S; None: its default."""
    fan_pin: bool = False
    """Marlin: the laser hangs on the pin of the fan, and M106 and M107 switch it; false: M3 I."""
    minimum_dwell: float = 0.0
    """Least time of a lit move [s]."""
    blanking: bool = True
    """The laser can be off during a travel."""
    latency: float = 0.0
    """By which power follows motion [s]."""
    backlash: tuple[float, float] = (0.0, 0.0)
    """Of each axis [m]."""
    planner_blocks: int = 16
    """Moves that the planner holds, the present one included."""
    lines_per_second: float = inf
    """Of the job file, over the port."""
    focus_axis: bool = False
    """Z of a job file moves the focus."""
    threshold: float | None = None
    """Fluence that marks the material, at the intensity `reference` [J/m^2]; None: not known."""
    exponent: float = 1.0
    """Of the intensity, in the dose."""
    reference: float | None = None
    """[W/m^2]; None: the largest intensity of full power."""
    kerf: tuple[float, float] | None = None
    """Width of a cut along x and y [m]; None: not known."""

    @property
    def rules(self) -> dialects.Dialect:
        """What the firmware makes of the words of a job."""
        return dialects.DIALECTS[self.dialect]

    @property
    def full_scale(self) -> float:
        """S of full power."""
        return self.power_scale or self.rules.full_scale or 1.0

    @property
    def startup(self) -> float:
        """Part of full power that the firmware takes without any S."""
        return self.rules.startup if self.startup_power is None else self.startup_power

    @property
    def waists(self) -> tuple[float, float]:
        """Radii of the spot at 1/e^2 of its peak, along x and y [m]."""
        return 0.5 * self.spot[0], 0.5 * self.spot[1]

    @property
    def peak_intensity(self) -> float:
        """The largest intensity of full power [W/m^2]."""
        return 2.0 * self.power[1] / (pi * self.waists[0] * self.waists[1])

    @property
    def spot_text(self) -> str:
        """The diameters of the spot in micrometres: one number of a round spot."""
        return " x ".join(f"{1e6 * one:g}" for one in dict.fromkeys(self.spot))

    @property
    def digits(self) -> int:
        """Decimals of places in job files, in mm: 3, or those of a hundredth of a spot below `SMALL`."""
        if self.decimals is not None:
            return self.decimals
        spot = min(self.spot)
        return 3 if spot >= SMALL else ceil(2.0 - log10(1e3 * spot))

    @property
    def place(self) -> float:
        """Resolution of places in job files [m]."""
        return 10.0 ** -(self.digits + 3)

    @property
    def line_time(self) -> float:
        """Least time of a move, by the rate of lines [s]; 0 without a limit."""
        return 1.0 / self.lines_per_second

    @property
    def corner_jerk(self) -> tuple[float, float] | None:
        """The jerk that limits corners [m/s]; None if the junction deviation does."""
        return self.jerk if self.dialect == "marlin" else None

    @classmethod
    def load(cls, name: str | Path) -> "Profile":
        """The profile in a TOML file, or a shipped one by its name, such as "grbl_diode".

        Raises `UserError` for a name that is neither, and with file, line, column and cure for each mistake.
        """
        from minusgrad.plugin import UnitSystem, UserError, quantities, read_toml

        from .profile_table import ProfileTable

        path, known = Path(name), shipped()
        if str(name) in known:
            path = SHIPPED / f"{name}.toml"
        elif not path.suffix and not path.exists():
            raise UserError(
                f"machine: no shipped profile has this name, got '{name}'; take one of"
                f" {', '.join(known)}, or give the path of a TOML file"
            )
        table = read_toml(path, ProfileTable)
        return cls(**_complete_keys(quantities(table, UnitSystem.si())))


def shipped() -> list[str]:
    """The names of the profiles that come with the plugin."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def _complete_keys(found: dict[str, Any]) -> dict[str, Any]:
    """The keys of a profile: two values for two axes, infinity where there is no limit."""
    for key in ("spot", "speed", "acceleration", "jerk", "backlash", "kerf"):
        if isinstance(found[key], float):
            found[key] = (found[key], found[key])
    for key, unlimited in (("field", (inf, inf)), ("power_slew", inf), ("lines_per_second", inf)):
        found[key] = unlimited if found[key] is None else found[key]
    return found
