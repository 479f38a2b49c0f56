"""Published values of mechanics: Foucault's pendulum, the drift of charges in crossed fields."""

from typing import Any

import numpy as np

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

DAY = 86164.0905
"""Of the stars [s]."""
LATITUDE = np.deg2rad(48.8462)


@published_value(
    "Foucault's pendulum",
    area="mechanics",
    value=-360.0 / 24.0 * 86400.0 / DAY * np.sin(LATITUDE),
    tolerance=1.2e-5,
    why="1e-6 of it: the swing of 3 m on 67 m, and fourth-order steps of 1/40 of a period",
    source="Foucault 1851, C. R. Acad. Sci. 32, 135: the sine of the latitude times the turning of the Earth",
    unit="degrees an hour",
    quick=True,
)
def turning_of_the_plane(place: Workplace) -> float:
    """Turning of the plane of swing in Paris, by a variational integrator with a constraint."""
    one: Any = minusgrad.build(place.scene("foucault"))
    one.step(one.last)
    east, north, _ = one.fields["x"].values[1]
    return float(np.rad2deg(np.arctan2(north, east)) / one.stepper.time * 3600.0)


@published_value(
    "drift in crossed fields",
    area="mechanics",
    value=[-10.0, -10.0],
    tolerance=1e-8,
    why="rounding of positions over 5,600 turns; the rotation about a uniform field is exact",
    source="E x B / B^2 for 10 kV/m and 1 T, of any charge and mass",
    unit="km/s",
    quick=True,
)
def drift_of_guiding_centres(place: Workplace) -> list[float]:
    """Velocities of the guiding centres of an electron and a proton along y, in steps of 3.6 a turn."""
    one: Any = minusgrad.build(place.scene("crossed_fields"))
    units, fields = one.units, one.fields
    field = units.convert("1 T", "T")
    charge = np.array([-1.0, 1.0]) * units.convert("1.602176634e-19 C", "C")
    lever = fields["m"].values / (charge * field)

    def centres() -> np.ndarray:
        """Their y: that of x + m v x B / (q B^2)."""
        return fields["x"].values[:, 1] - lever * fields["v"].values[:, 0]

    start = centres()
    one.step(one.last)
    velocity = (centres() - start) / one.stepper.time
    return [float(v) for v in velocity / units.convert("1 km/s", "m s^-1")]


ROWS: list[PublishedValue] = [turning_of_the_plane, drift_of_guiding_centres]
