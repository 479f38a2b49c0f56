"""The Solar System at an epoch: Sun, planets, the Moon, Pluto and four asteroids, by JPL's ephemeris DE430.

    m = GM / G,   sum m x = sum m v = 0 over the bodies taken

x, v on 28 June 1969, 0h TDB (JD 2440400.5), GM: `solar_system.csv`, with its source. Masses are GM over the
scene's G, so that the products are those of the ephemeris.

    x_ecliptic = R x_icrf,  R a rotation about x by the obliquity of the ecliptic of J2000, 84381.448 arcsec

(Lieske 1979, A&A 73, 282; the ecliptic of JPL's Horizons).
"""

from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import CsvTable, Record, State, StateContext, UserError

from ..constants import NEWTONS_CONSTANT, gravity_quantities
from ..states import GravitationalConstant, point_masses

TABLE = Path(__file__).with_name("solar_system.csv")
OBLIQUITY = np.deg2rad(84381.448 / 3600.0)
Name = Literal[
    "sun", "mercury", "venus", "earth", "moon", "earth_moon", "mars", "jupiter", "saturn", "uranus",
    "neptune", "pluto", "ceres", "pallas", "vesta", "hygiea",
]  # fmt: skip
PLANETS: tuple[Name, ...] = (
    "sun", "mercury", "venus", "earth", "moon", "mars", "jupiter", "saturn", "uranus", "neptune", "pluto",
)  # fmt: skip


Body = tuple[float, np.ndarray, np.ndarray]
"""GM [AU^3 day^-2], place (3,) [AU] and velocity (3,) [AU/day]."""


class SolarSystem(Record):
    """Bodies of the Solar System by name, at rest as a whole at the origin, on 28 June 1969, 0h TDB.

    `earth_moon` is the barycentre of Earth and Moon with the mass of both: without the Moon the Earth would
    keep the velocity that the Moon gives it at the epoch, 13 m/s. `frame`: the axes, "ecliptic" (of J2000) or
    "icrf" (of the equator of J2000).
    """

    bodies: list[Name] = Field(default_factory=lambda: list(PLANETS))
    """Names of the bodies (default: Sun, Moon and planets with Pluto)."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""
    frame: Literal["ecliptic", "icrf"] = "ecliptic"
    """Axes: of the ecliptic, or of the equator (ICRF), of J2000."""

    def make(self, context: StateContext) -> State:
        """The fields x, v, m. Raises `UserError` for bodies that are missing or taken twice."""
        _refuse_names(self.bodies)
        G, units = gravity_quantities(self, context.units)["G"], context.units
        length, time = units.convert("1 AU", "m"), units.convert("1 day", "s")
        GM, x, v = (np.array(part) for part in zip(*(table()[name] for name in self.bodies), strict=True))
        x, v = (part - GM @ part / GM.sum() for part in (x, v))
        if self.frame == "ecliptic":
            x, v = x @ ecliptic().T, v @ ecliptic().T
        m = GM * (length**3 / time**2 / G)
        return point_masses(x * length, v * (length / time), m, tuple(self.bodies))


@cache
def table() -> dict[str, Body]:
    """By name, along the axes of the ICRF."""
    read = CsvTable(TABLE.name, TABLE.read_bytes())
    GM = read.numbers("GM")
    x, v = (
        np.stack([read.numbers(c) for c in columns], axis=1)
        for columns in (("x", "y", "z"), ("vx", "vy", "vz"))
    )
    rows = {name: (float(GM[k]), x[k], v[k]) for k, name in enumerate(read.texts("name"))}
    rows["earth_moon"] = barycentre(rows["earth"], rows["moon"])
    return rows


def ecliptic() -> np.ndarray:
    """The rotation (3, 3) from the axes of the ICRF to the ecliptic of J2000."""
    c, s = np.cos(OBLIQUITY), np.sin(OBLIQUITY)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]])


def barycentre(*bodies: Body) -> Body:
    """Several bodies as one."""
    GM = np.array([body[0] for body in bodies])
    x, v = (GM @ np.array([body[k] for body in bodies]) / GM.sum() for k in (1, 2))
    return float(GM.sum()), x, v


def _refuse_names(names: list[Name]) -> None:
    """Raise `UserError` for no body, a body taken twice, or one of Earth and Moon without the other."""
    if not names:
        raise UserError("solar_system: needs bodies, got none; name some, or leave `bodies` out")
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise UserError(f"solar_system: body '{twice[0]}' is named twice; leave one out")
    pair = [name for name in ("earth", "moon") if name in names]
    if pair and "earth_moon" in names:
        raise UserError(
            f"solar_system: 'earth_moon' contains '{pair[0]}', which is named, too; leave one out"
        )
    if len(pair) == 1:
        raise UserError(
            f"solar_system: Earth and Moon go together, got '{pair[0]}' alone; name both, or 'earth_moon',"
            " their barycentre"
        )
