"""The exposure that a machine reaches: lines a pitch apart, at its full power and slowest useful speed.

H = P / (v d),  P [W] full power, v [m/s] slowest useful speed, d [m] distance of the lines: by the smaller
diameter of the spot.
"""

from minusgrad.plugin import UserError

from ..search.recipe import PITCH
from .request import Request

SLOWEST = 1.0 / 200.0
"""The slowest useful speed, in parts of the machine's: 0.5 mm/s of 100 mm/s."""


def refuse_out_of_reach(request: Request) -> None:
    """Raise `UserError` if no speed of the machine exposes the material up to its threshold."""
    m, material = request.machine, request.material
    pitch, slowest = PITCH * min(m.spot), SLOWEST * min(m.speed)
    reached, needed = request.power / (slowest * pitch), material.threshold * material.full
    if reached < needed:
        raise UserError(
            f"{m.name}: reaches {reached:.3g} J/m^2 with lines {pitch * 1e6:.3g} um apart, at"
            f" {slowest * 1e3:g} mm/s and {request.power:g} W, but the material needs {needed:.3g} J/m^2;"
            " give another --full or --threshold, or a stronger laser"
        )
